/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_counts - how many blocks of each size were allocated, and how many are live.
 *
 * Slabs and thread heaps have these numbers anyway, so the optimal plan needs no learning from
 * samples (stats/sampling/optimal.h).  Runs and huge blocks are counted one by one.
 *
 * Exact    for the calling thread.  Blocks that another thread was handed and has not used count as
 *          allocated and live: at most a slab in each class.  Blocks that other threads
 *          freed count as live until the owner collects them.
 * Large    arenas: above 1 GiB, a count visits one slab in some, so that it takes less than a
 *          millisecond.
 * Threads  any; the numbers of other threads are read while they change.
 */
#pragma once

#include <stddef.h>

#include "stats/sampling/optimal.h"

/* By the size class of the blocks, not of the requests. */
void gg_malloc_count_classes(struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);

/* Counts a run or huge block by its usable size. */
void gg_malloc_count_large_allocated(size_t bytes);
void gg_malloc_count_large_freed(size_t bytes);
