/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_list - libc's lock of its list of streams, for handlers of a fork that take other locks.
 *
 * fork() of glibc runs the handlers, and takes this lock then.  A thread in fflush(NULL) has it and
 * waits for a stream, whose owner may allocate meanwhile, as getline() does.  If a handler has
 * taken an allocator's locks before this one, all three threads wait for each other.  So a handler
 * takes this one first; fork() may take it again, because it counts.
 *
 *   gg_stream_list_lock();       before the fork, and before other locks
 *   gg_stream_list_unlock();     after it in the parent
 *   gg_stream_list_reset();      after it in the child, whose threads are gone
 *
 * musl has no such lock that others may take; these do nothing there.
 */
#pragma once

#include <stddef.h>

extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

static inline void gg_stream_list_lock(void)
{
	if (_IO_list_lock != NULL)
		_IO_list_lock();
}

static inline void gg_stream_list_unlock(void)
{
	if (_IO_list_unlock != NULL)
		_IO_list_unlock();
}

static inline void gg_stream_list_reset(void)
{
	if (_IO_list_resetlock != NULL)
		_IO_list_resetlock();
}
