/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - times in nanoseconds.
 *
 * Intervals and event times use the monotonic clock, which all processes of a machine share and
 * which nobody can set.  Wall time only labels things for people.
 *
 * Cost     Tens of nanoseconds, without a system call if the vDSO serves the clock.
 * Threads  Any; also in signal handlers.  The functions keep errno.
 */
#pragma once

#include <stdint.h>

/* Nanoseconds since an arbitrary start, the same for all processes; never goes back. */
uint64_t gg_clock_monotonic_ns(void);

/* Nanoseconds since the boot of the machine, with the time that it was suspended. */
uint64_t gg_clock_boot_ns(void);

/* Processor time that this thread has used, without its waits.  It costs a system call. */
uint64_t gg_clock_thread_ns(void);

/* Nanoseconds since 1970-01-01 00:00 UTC. The value jumps if somebody sets the clock. */
uint64_t gg_clock_wall_ns(void);
