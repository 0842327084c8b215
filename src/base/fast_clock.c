/* SPDX-License-Identifier: Apache-2.0 */
/* fast_clock - measures the rate of the processor's counter. */
#include "base/fast_clock.h"

#include "base/clock.h"

enum { BOTH_TRIES = 4, SPAN_TICKS = 4000, RATES_ALIKE = 1000 };

static bool has_counter;

#ifdef __x86_64__

/*
 * As threads measured it; 0: unknown.  A new clock takes `known_scale` without a measurement of its
 * own.  A measurement that is unlike it waits in `doubtful_scale` until the next one confirms it.
 */
static uint64_t known_scale, doubtful_scale;

/* Reads both at one moment.  False: the kernel preempted the thread each time. */
static bool read_both(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t before, span = UINT64_MAX;

	for (int i = 0; i < BOTH_TRIES && span > SPAN_TICKS; i++) {
		before = __builtin_ia32_rdtsc();
		*ret_ns = gg_clock_monotonic_ns();
		span = __builtin_ia32_rdtsc() - before;
		*ret_ticks = before + span / 2;
	}
	return span <= SPAN_TICKS;
}

static bool is_near(uint64_t scale, uint64_t other)
{
	uint64_t difference = scale > other ? scale - other : other - scale;

	return difference < scale / RATES_ALIKE;
}

/*
 * Returns the scale since the clock's last reading; 0: too little time has passed, or the machine
 * slept, where the ticks go on or begin anew.
 */
static uint64_t measure(const struct gg_fast_clock *clock, uint64_t ticks, uint64_t ns)
{
	uint64_t known = gg_load_relaxed(&known_scale), scale, doubtful;

	if (clock->ns == 0 || ns < clock->ns + GG_FAST_CLOCK_MEASURED_NS || ticks <= clock->ticks)
		return 0;
	scale = (uint64_t)((double)(ns - clock->ns) / (double)(ticks - clock->ticks) * 0x1p32);
	doubtful = gg_load_relaxed(&doubtful_scale);
	if (known != 0 && !is_near(scale, known) && !is_near(scale, doubtful)) {
		gg_store_relaxed(&doubtful_scale, scale);
		return 0;
	}
	gg_store_relaxed(&known_scale, scale);
	gg_store_relaxed(&doubtful_scale, 0);
	return scale;
}

uint64_t gg_fast_clock_renew(struct gg_fast_clock *clock)
{
	uint64_t ticks, ns, scale;
	bool is_first = clock->ns == 0;

	clock->limit = 0;
	if (!has_counter || !read_both(&ticks, &ns))
		return gg_clock_monotonic_ns();
	scale = measure(clock, ticks, ns);
	if (scale == 0 && is_first)
		scale = gg_load_relaxed(&known_scale);
	/* Until a rate is known, the first reading stays: the next measurement is from it. */
	if (scale == 0 && !is_first && ns < clock->ns + GG_FAST_CLOCK_MEASURED_NS)
		return ns;
	*clock = (struct gg_fast_clock){ .ticks = ticks, .ns = ns, .scale = scale };
	/* The product of a slower counter than 31 MHz would overflow. */
	if (scale != 0 && scale < UINT64_C(1) << 36)
		clock->limit = GG_FAST_CLOCK_TICKS;
	return ns;
}

#else

uint64_t gg_fast_clock_renew(struct gg_fast_clock *clock)
{
	(void)clock;
	return gg_clock_monotonic_ns();
}

#endif

void gg_fast_clock_use_counter(bool is_used)
{
	has_counter = is_used;
}
