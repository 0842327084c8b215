/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact - counts every allocation and free of a process, by stack and thread.
 *
 *   gg_exact_init(&exact, &region, most_count);
 *   gg_exact_allocated(&exact, thread, p, bytes, stack, now_ns);    after the real allocation
 *   if (gg_exact_take(&exact, p, &block))                           before the real free
 *           gg_exact_freed(&exact, thread, &block, false, now_ns);
 *
 * The counters are in the region's site totals (exact_total.h); the blocks are in private memory
 * (exact_live.h).  One word that all threads share has the bytes that are live now; it makes the
 * peak exact.
 *
 * Peak      When memory is freed at a new peak that exceeds the last noted one by 1/1024, the peak
 *           gets a number, and each thread saves each record before it changes it again.  So the
 *           state by stack of that moment can be read later.  Threads that are inside a count at
 *           that moment may belong to either side of it.
 * Thread    A block counts as freed in the thread that frees it.  So sums by stack are exact;
 *           what is live by thread is exact as far as threads free their own blocks.
 * Full      Live table: no block is tracked any more, and allocations still count.  Site totals:
 *           an allocation counts in the special stack (GG_STACK_OVERFLOW).
 * Fork      The child's counters begin at 0.  Frees of blocks that are older than the fork count
 *           apart (inherited_freed_...).
 * Threads   any, each with its own struct gg_region_thread, and not in a handler that interrupts
 *           another call.
 */
#pragma once

#include "region/exact_total.h"
#include "region/writer/exact_live.h"
#include "region/writer/region.h"

struct gg_exact {
	struct gg_exact_live live;
	struct gg_region *region;
	uint64_t forked_ns;   /* blocks up to this time are inherited; 0: no fork */
	uint32_t is_on;       /* the process counts */
	uint32_t is_stopped;  /* the live table is full */
	uint32_t shared_lock; /* guards records that threads share; 1: held */
	uint32_t padding;
	/* A cache line that all threads write. */
	uint64_t live_bytes __attribute__((aligned(64)));
	uint64_t peak_bytes;
	/* A cache line that threads write at peaks alone. */
	uint64_t noted_bytes __attribute__((aligned(64))); /* at the peak `peak_number` */
	uint32_t peak_number;
	uint32_t is_noting; /* a thread numbers a peak */
};

/*
 * Begins to count in a new region, which was made with the option `exact`.  most_count: most live
 * blocks, 0: any.  False: no memory.
 */
bool gg_exact_init(struct gg_exact *exact, struct gg_region *region, uint64_t most_count);
void gg_exact_done(struct gg_exact *exact);

/* Goes on in the new region of a forked child, which has one thread. */
void gg_exact_adopt(struct gg_exact *exact, uint64_t now_ns);

/* Counts a block.  If the address is live, its free was missed: that block counts as freed now. */
void gg_exact_allocated(struct gg_exact *exact, const struct gg_region_thread *thread,
                        const void *pointer, uint64_t bytes, uint32_t stack, uint64_t now_ns);

/* Takes a block out of the live ones.  False: it is not one of them. */
bool gg_exact_take(struct gg_exact *exact, const void *pointer, struct gg_exact_block *ret_block);

/* Puts it back: the real function failed, and it is still the program's. */
void gg_exact_put_back(struct gg_exact *exact, const struct gg_exact_block *block);

/* Counts a block that was taken.  is_temporary: its thread has allocated nothing since. */
void gg_exact_freed(struct gg_exact *exact, const struct gg_region_thread *thread,
                    const struct gg_exact_block *block, bool is_temporary, uint64_t now_ns);

/*
 * Takes all locks before a fork, in the forking thread; or none, if another thread has one of them,
 * and returns false.
 */
GG_MUST_CHECK bool gg_exact_before_fork(struct gg_exact *exact);
/* Gives them, after the fork in both processes. */
void gg_exact_after_fork(struct gg_exact *exact);
/* Waits until each lock was free once. */
void gg_exact_wait_for_locks(struct gg_exact *exact);

/* In a child of a fork that called neither. */
void gg_exact_open_locks(struct gg_exact *exact);
