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
#include <stdint.h>

#include "malloc/block_class.h"
#include "stats/sampling/optimal.h"

/*
 * By the size class for which a plan's rate is looked up: that of the block class, and of a run or
 * huge block that of the request.
 */
void gg_malloc_count_classes(struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);

/* One class: used blocks, those that threads were handed among them, and free ones of its slabs. */
struct gg_malloc_block_counts {
	uint64_t handed, used, free, slabs;
};

struct gg_malloc_large_counts {
	uint64_t run_count, run_bytes; /* in use */
};

/* Visits all slabs of the arena, and takes no lock. */
void gg_malloc_count_blocks(struct gg_malloc_block_counts ret_classes[static GG_MALLOC_CLASS_COUNT],
                            struct gg_malloc_large_counts *ret_large);

/*
 * The bytes of blocks that are in use or were handed to a thread, and those of the slabs, runs and
 * huge blocks that they are in.  In large arenas an estimate, as above.  It takes the lock of the
 * table of huge blocks.
 */
void gg_malloc_count_bytes(uint64_t *ret_allocated_bytes, uint64_t *ret_active_bytes);

/*
 * The slab of a block; that of its home, if it is a sample.  *ret_count: blocks of the slab; 0: the
 * pointer is no block of a slab or a run.
 */
void gg_malloc_count_slab(const void *p, size_t *ret_free_count, size_t *ret_count,
                          size_t *ret_bytes, uint64_t *ret_address);

/* Counts a run or huge block by gg_size_class() of the request. */
void gg_malloc_count_large_allocated(unsigned size_class);
void gg_malloc_count_large_freed(unsigned size_class);
