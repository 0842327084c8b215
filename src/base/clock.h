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
#include <time.h>

/* Nanoseconds since an arbitrary start, the same for all processes; never goes back. */
uint64_t gg_clock_monotonic_ns(void);

/* Nanoseconds since the boot of the machine, with the time that it was suspended. */
uint64_t gg_clock_boot_ns(void);

/* Processor time that this thread has used, without its waits.  It costs a system call. */
uint64_t gg_clock_thread_ns(void);

/* Processor time that this process has used.  It costs a system call. */
uint64_t gg_clock_process_ns(void);

/* Nanoseconds since 1970-01-01 00:00 UTC. The value jumps if somebody sets the clock. */
uint64_t gg_clock_wall_ns(void);

/* One moment, as two clocks show it. */
struct gg_clock_moment {
	uint64_t monotonic_ns, wall_ns;
};

/*
 * Reads the monotonic clock and wall time as of the same moment, so that wall times of events
 * follow from their monotonic times.  Two readings one after the other are of different moments if
 * the kernel preempts the thread in between.  So the function reads again, a few times at most,
 * until little time passes between them.
 */
struct gg_clock_moment gg_clock_moment(void);

/* Does the same as gg_clock_moment(), and calls `read` for the nanoseconds of a clock. */
struct gg_clock_moment gg_clock_moment_by(uint64_t (*read)(clockid_t clock));

/*
 * Nanoseconds for which the machine was suspended since its boot, which only the clock of
 * gg_clock_boot_ns() counts; 0 if it was less than a millisecond.  As precise as
 * gg_clock_moment(), because a difference of two readings would contain what passed between them.
 */
uint64_t gg_clock_suspended_ns(void);

/* Does the same, and calls `read` for the nanoseconds of a clock. */
uint64_t gg_clock_suspended_ns_by(uint64_t (*read)(clockid_t clock));
