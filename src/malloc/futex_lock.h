/* SPDX-License-Identifier: Apache-2.0 */
/*
 * futex_lock - a lock for a few instructions, which needs no set-up and allocates nothing.
 *
 *   struct gg_malloc_lock lock = { .part = GG_MALLOC_PART_ARENA };     it is unlocked
 *
 * pthread_mutex_lock() may be replaced by libraries that allocate.  Order of the allocator's locks:
 * huge blocks before the arena.  No lock is held during a call of the client.  A signal handler
 * must not take a lock that its thread holds, so gg_malloc_lock_is_mine() comes first.
 */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "malloc/section.h"

struct gg_malloc_lock {
	uint32_t state; /* 0 free, 1 taken, 2 taken and perhaps waited for */
	enum gg_malloc_part part;
};

/* True if the calling thread holds the lock, or is about to take it. */
static inline bool gg_malloc_lock_is_mine(const struct gg_malloc_lock *lock)
{
	return (gg_malloc_inside & (uint32_t)lock->part) != 0;
}

static inline void gg_malloc_lock_take(struct gg_malloc_lock *lock)
{
	uint32_t free_now = 0;
	int saved_errno;

	gg_malloc_part_enter(lock->part);
	/* Acquire: pairs with the release in gg_malloc_lock_give(). */
	if (gg_likely(gg_cas_acq_rel(&lock->state, &free_now, 1)))
		return;
	saved_errno = errno;
	while (gg_exchange_acq_rel(&lock->state, 2) != 0)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = saved_errno;
}

static inline void gg_malloc_lock_give(struct gg_malloc_lock *lock)
{
	int saved_errno = errno;

	if (gg_unlikely(gg_exchange_acq_rel(&lock->state, 0) == 2))
		syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved_errno;
	gg_malloc_part_leave(lock->part);
}
