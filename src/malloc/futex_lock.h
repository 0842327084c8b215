/* SPDX-License-Identifier: Apache-2.0 */
/*
 * futex_lock - a lock for a few instructions, which needs no set-up and allocates nothing.
 *
 *   struct gg_malloc_lock lock = { .part = GG_MALLOC_PART_ARENA };     it is unlocked
 *
 * pthread_mutex_lock() may be replaced by libraries that allocate.  A signal handler must not take
 * a lock that its thread holds, so gg_malloc_lock_is_mine() comes first.
 *
 * Order    There are two locks: of the table of huge blocks, and of the arena.  Only fork() takes
 *          both; all else takes one of them, and gives it without waiting for anything.  No lock
 *          is held during a call of the client.
 * fork()   may be called by a handler that has interrupted the holder of the arena's lock, which
 *          cannot be given then.  So fork() waits for a lock only while it holds none that it could
 *          give: it takes one, tries the other, and begins with the other one if that fails
 *          (thread_heap.c).  Handlers never interrupt the holder of the table's lock, because that
 *          one blocks signals (huge_blocks.c).  So the holder of the arena's lock always gets the
 *          table's, and no circle of threads waits.
 *
 *   gg_malloc_lock_is_mine()   the thread holds the lock, waits for it, or is about to leave it
 *   gg_malloc_lock_is_held()   the thread holds it: the lock's word has the thread's number, which
 *                              is stored by the same instruction that takes the lock
 */
#pragma once

#include <errno.h>
#ifndef GG_MUSL
#include <linux/futex.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/section.h"

struct gg_malloc_lock {
	/* 0: free; else twice the number of its thread, plus 1 if another one may wait for it. */
	uint32_t state;
	enum gg_malloc_part part;
};

/* A number of the thread, the same in a forked child; 0: none yet. */
extern __thread uint32_t gg_malloc_thread_number
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Gives the thread a number: 1 to 2^31 - 1. */
GG_COLD void gg_malloc_thread_set_number(void);

/* True if the calling thread holds the lock, is about to take it, or has just given it. */
static inline bool gg_malloc_lock_is_mine(const struct gg_malloc_lock *lock)
{
	return (gg_malloc_inside & (uint32_t)lock->part) != 0;
}

/* True if the calling thread holds the lock. */
static inline bool gg_malloc_lock_is_held(const struct gg_malloc_lock *lock)
{
	uint32_t number = gg_malloc_thread_number;

	return number != 0 && gg_load_relaxed(&lock->state) >> 1 == number;
}

static inline void gg_malloc_lock_wait(struct gg_malloc_lock *lock, uint32_t mine)
{
	int saved_errno = errno;
	uint32_t state = gg_load_relaxed(&lock->state);

	for (;;) {
		if (state == 0) {
			/* A third thread may wait still. */
			if (gg_cas_acq_rel(&lock->state, &state, mine | 1))
				break;
		} else if ((state & 1) != 0 || gg_cas_acq_rel(&lock->state, &state, state | 1)) {
			syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, state | 1, NULL, NULL,
			        0);
			state = gg_load_relaxed(&lock->state);
		}
	}
	errno = saved_errno;
}

static inline void gg_malloc_lock_take(struct gg_malloc_lock *lock)
{
	uint32_t free_now = 0, mine;

	if (gg_unlikely(gg_malloc_thread_number == 0))
		gg_malloc_thread_set_number();
	mine = gg_malloc_thread_number << 1;
	gg_malloc_part_enter(lock->part);
	/* Acquire: pairs with the release in gg_malloc_lock_give(). */
	if (gg_unlikely(!gg_cas_acq_rel(&lock->state, &free_now, mine)))
		gg_malloc_lock_wait(lock, mine);
}

/* Takes the lock if it is free. */
static inline bool gg_malloc_lock_try(struct gg_malloc_lock *lock)
{
	uint32_t free_now = 0;

	if (gg_unlikely(gg_malloc_thread_number == 0))
		gg_malloc_thread_set_number();
	gg_malloc_part_enter(lock->part);
	/* Acquire: pairs with the release in gg_malloc_lock_give(). */
	if (gg_cas_acq_rel(&lock->state, &free_now, gg_malloc_thread_number << 1))
		return true;
	gg_malloc_part_leave(lock->part);
	return false;
}

static inline void gg_malloc_lock_give(struct gg_malloc_lock *lock)
{
	int saved_errno = errno;

	if (gg_unlikely((gg_exchange_acq_rel(&lock->state, 0) & 1) != 0))
		syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved_errno;
	gg_malloc_part_leave(lock->part);
}
