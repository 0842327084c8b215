/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - times in nanoseconds.
 *
 * Intervals and event times use the monotonic clock, which all processes of a machine share and
 * which nobody sets.  Wall time only labels things for people.
 *
 * Cost     tens of nanoseconds, no system call where the vDSO serves the clock.
 * Threads  any; also in signal handlers.  errno is kept.
 */
#pragma once

#include <stdint.h>

/* Nanoseconds since an arbitrary start, the same for all processes; never goes back. */
uint64_t gg_clock_monotonic_ns(void);

/* Nanoseconds of a processor that this thread has had: what it did, not what it waited for.  A system call. */
uint64_t gg_clock_thread_ns(void);

/* Nanoseconds since 1970-01-01 00:00 UTC.  May jump when the clock is set. */
uint64_t gg_clock_wall_ns(void);
