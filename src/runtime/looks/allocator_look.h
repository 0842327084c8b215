/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_look - looks at the allocator's totals and at the slabs of live samples, on request and
 * now and then.
 *
 * The recorder requests a look by the region's control word.  Threads that take samples then make
 * the look, a part at a time, and write it into the region; a process that is killed keeps the last
 * complete one there.  A process that takes no samples cannot serve a request.  So while it does,
 * it also looks without a request: 0.1 s after its start, and then so rarely that these looks
 * take 0.2 % of the time at most.  An idle process has its last look, of a heap that has hardly
 * changed since.
 *
 * Time      A part takes at most some 0.2 ms, plus the totals in the first part.  If the totals
 *           take more than 1 ms of processor time twice in a row, the process never reads them
 *           again.  If the place is not safe, a look without a request waits 10 ms, because the
 *           proof takes some 5 us.
 * When      after the allocator's function has returned, or before a free, and only if the
 *           stack of the sample proves that the thread is neither inside the allocator nor in a
 *           signal handler: the walk reaches the start of the thread, and no frame is of the
 *           allocator or of a signal. Signals are blocked meanwhile, so no handler forks while
 *           the allocator holds a lock.
 * Never     in a sandbox (platform/seccomp.h), in an ending thread, on a stack that the thread was
 *           not started on or that has little room, or for a mapping: allocators map memory while
 *           they hold locks.
 * Fork      a child begins without a look.  If the fork interrupted a part, locks of the allocator
 *           may be held for ever in the child, and it never calls the allocator's functions.
 * Samples   If more samples are live than the region has room for, each has the same chance: the
 *           look takes one record of each `stride` successive ones, by random numbers.
 * Threads   any; one at a time makes a part, and no other thread waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "runtime/process.h"
#include "runtime/thread.h"

struct gg_allocator_look {
	uint32_t is_on;        /* the process may make looks */
	uint32_t served_count; /* the request that the last complete look served */
	uint64_t next_ns;      /* CLOCK_MONOTONIC: when a look is due without a request */
};

extern struct gg_allocator_look gg_allocator_look __attribute__((visibility("hidden")));

/* For a new region, at the start and in a forked child, before any thread takes a sample there. */
void gg_allocator_look_begin(void);

/* True if a look was requested and is not complete.  The process is current. */
static inline bool gg_allocator_look_is_requested(void)
{
	/* Relaxed: a thread that sees a request late serves it later. */
	return gg_load_relaxed(&gg_process.region.header->control.look_count) !=
	       gg_load_relaxed(&gg_allocator_look.served_count);
}

/* True if a look was requested, or is due without a request, and is not complete. */
static inline bool gg_allocator_look_is_due(uint64_t now_ns)
{
	return gg_load_relaxed(&gg_allocator_look.is_on) != 0 &&
	       (gg_allocator_look_is_requested() ||
	        now_ns >= gg_load_relaxed(&gg_allocator_look.next_ns));
}

/*
 * Makes a part of the look if that is safe here.  On the sample path, after a sample of malloc()
 * was recorded.
 */
GG_COLD void gg_allocator_look_continue(struct gg_thread *thread, struct gg_thread_block *block);
