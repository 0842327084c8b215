/* SPDX-License-Identifier: Apache-2.0 */
/*
 * purge - when free memory goes back to the kernel.
 *
 *   at once   free runs with old contents go back when they are more than is allowed: 16 MiB and
 *             1/4 of the memory in use, and less if a control group has a limit.  The longest runs
 *             go, until three quarters of that are left.  Buffers of 1 MiB or more come again: a
 *             run in which one was freed last stays if it has up to 32 MiB, and when one is freed,
 *             1/2 of the memory in use is allowed.
 *   by time   a free run goes back when it was not used for a second.  Slow paths of malloc() and
 *             of free() look at the clock.  They also give empty slabs to the arena that their heap
 *             had for so long, and those of the thread that ended last.
 *   on call   geiger_malloc_trim() gives back what can be given.
 *
 * There is no thread for it, so a process that calls nothing keeps what it has.
 *
 * Kernel   MADV_DONTNEED alone: protections never change, so no mapping is ever split.  Huge pages
 *          are never asked for.  A run goes back with its clean neighbors as far as multiples of
 *          2 MiB, so that the kernel frees huge pages instead of splitting them.
 * Threads  any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	GG_MALLOC_PURGE_DELAY_MS = 1000,
	GG_MALLOC_PURGE_VISITS = 16, /* slow paths of a heap until one looks at the clock */
};
#define GG_MALLOC_PURGE_NEVER UINT32_MAX

/* How long free memory waits (gg_malloc_arena_set_delay()). */
extern uint32_t gg_malloc_purge_delay_ms __attribute__((visibility("hidden")));

/* The lowest limit of the control groups, in bytes; SIZE_MAX: none.  Set at the start. */
extern size_t gg_malloc_purge_limit_bytes __attribute__((visibility("hidden")));

/* Milliseconds of the monotonic clock, modulo 2^32. */
uint32_t gg_malloc_purge_clock_ms(void);

/* How many free slices may have old contents. */
size_t gg_malloc_purge_allowance(size_t slices_in_use);

/* How many may when a buffer is freed. */
size_t gg_malloc_purge_buffer_allowance(size_t slices_in_use);

/* The size of the run that may stay beside the allowance. */
size_t gg_malloc_purge_kept_slices(void);
