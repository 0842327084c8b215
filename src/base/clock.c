/* SPDX-License-Identifier: Apache-2.0 */
/* clock - reads the system's clocks in nanoseconds. */
#include "base/clock.h"

#include <time.h>

#include "base/time_units.h"

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	/* Every Linux has these clocks and the pointer is valid, so clock_gettime() cannot fail. */
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * GG_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t gg_clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t gg_clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t gg_clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t gg_clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}
