/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single_thread - cheaper operations while the process has one thread.
 *
 *   gg_add_alone_or_relaxed(&region->header->counter, 1);
 *
 * glibc says through __libc_single_threaded that no second thread exists.  It changes the variable
 * in the thread that is about to make the second one, so the answer holds until that thread returns
 * to the program.  glibc's own malloc relies on it in the same way.
 *
 * An operation without a lock prefix takes a cycle instead of some 20.  A signal handler that
 * interrupts it may lose it, so use it only where handlers stay away.
 */
#pragma once

#include <stdbool.h>

#include "base/atomic.h"

#if __has_include(<sys/single_threaded.h>) && !defined(GG_OLD_GLIBC)
#include <sys/single_threaded.h>

static inline bool gg_is_single_threaded(void)
{
	return __libc_single_threaded != 0;
}
#else
static inline bool gg_is_single_threaded(void)
{
	return false;
}
#endif

/* Returns the value from before it, as gg_add_relaxed() does. */
static inline uint64_t gg_add_alone_or_relaxed(uint64_t *object, uint64_t value)
{
	uint64_t before;

	if (!gg_is_single_threaded())
		return gg_add_relaxed(object, value);
	before = gg_load_relaxed(object);
	gg_store_relaxed(object, before + value);
	return before;
}
