/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel - divides work on many items among threads, or does one step on two things at once.
 *
 *   static void visit(size_t from, size_t to, void *context) { ... items [from, to) ... }
 *
 *   gg_parallel_ranges(count, visit, &run);
 *   gg_parallel_pair(load, &before, &after);
 *
 * The ranges follow each other and cover [0, count).  If a thread cannot start, the caller's thread
 * does its part.  There are at most GG_PARALLEL_MAX ranges, and one for a small count.
 *
 * Threads   visit() runs in several threads at once, so what it writes must belong to its items.
 */
#pragma once

#include <stddef.h>

enum { GG_PARALLEL_MAX = 8 };

typedef void gg_range_visit(size_t from, size_t to, void *context);

/*
 * Runs one step on two things at the same time, the first one in a second thread, and returns when
 * both are done.  The step may write only to memory that belongs to its own thing.
 */
typedef void gg_pair_step(void *thing);
void gg_parallel_pair(gg_pair_step *step, void *first, void *second);

/* Returns when all ranges are done. */
void gg_parallel_ranges(size_t count, gg_range_visit *visit, void *context);

/* The number of ranges that use all processors: 1 to GG_PARALLEL_MAX. */
size_t gg_parallel_width(void);
