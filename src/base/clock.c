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

/* Reads the monotonic clock and another one as of the same moment. */
static uint64_t read_both(uint64_t (*read)(clockid_t clock), clockid_t other,
                          uint64_t *ret_monotonic_ns)
{
	uint64_t least_ns = UINT64_MAX, found_ns = 0;

	for (int i = 0; i < MOMENT_TRIES && least_ns > MOMENT_SPAN_NS; i++) {
		uint64_t before_ns = read(CLOCK_MONOTONIC);
		uint64_t other_ns = read(other);
		uint64_t span_ns = read(CLOCK_MONOTONIC) - before_ns;

		if (span_ns >= least_ns)
			continue;
		least_ns = span_ns;
		*ret_monotonic_ns = before_ns + span_ns / 2;
		found_ns = other_ns;
	}
	return found_ns;
}

struct gg_clock_moment gg_clock_moment_by(uint64_t (*read)(clockid_t clock))
{
	struct gg_clock_moment moment = { 0 };

	moment.wall_ns = read_both(read, CLOCK_REALTIME, &moment.monotonic_ns);
	return moment;
}

struct gg_clock_moment gg_clock_moment(void)
{
	return gg_clock_moment_by(read_ns);
}

uint64_t gg_clock_suspended_ns_by(uint64_t (*read)(clockid_t clock))
{
	uint64_t monotonic_ns = 0, boot_ns = read_both(read, CLOCK_BOOTTIME, &monotonic_ns);

	return boot_ns > monotonic_ns + GG_NS_PER_MS ? boot_ns - monotonic_ns : 0;
}

uint64_t gg_clock_suspended_ns(void)
{
	return gg_clock_suspended_ns_by(read_ns);
}
