/* SPDX-License-Identifier: Apache-2.0 */
/* clock - reads the system's clocks in nanoseconds. */
#include "base/clock.h"

#include "base/time_units.h"

enum {
	MOMENT_TRIES = 16,
	MOMENT_SPAN_NS = 5000, /* three readings take less, unless the thread is preempted */
};

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

uint64_t gg_clock_process_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t gg_clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

struct gg_clock_moment gg_clock_moment_by(uint64_t (*read)(clockid_t clock))
{
	struct gg_clock_moment moment = { 0 };
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < MOMENT_TRIES && least_ns > MOMENT_SPAN_NS; i++) {
		uint64_t before_ns = read(CLOCK_MONOTONIC);
		uint64_t wall_ns = read(CLOCK_REALTIME);
		uint64_t span_ns = read(CLOCK_MONOTONIC) - before_ns;

		if (span_ns >= least_ns)
			continue;
		least_ns = span_ns;
		moment = (struct gg_clock_moment){ before_ns + span_ns / 2, wall_ns };
	}
	return moment;
}

struct gg_clock_moment gg_clock_moment(void)
{
	return gg_clock_moment_by(read_ns);
}
