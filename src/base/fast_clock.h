/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fast_clock - reads the monotonic clock by the processor's counter of ticks.
 *
 *   static __thread struct gg_fast_clock clock;       all-zero is valid
 *
 *   gg_fast_clock_use_counter(true);                  once, if the kernel uses it
 *   now_ns = gg_fast_clock_ns(&clock);
 *
 * A reading of the real clock takes some 20 ns, of which the counter is 9.  So this clock adds the
 * ticks since its last reading of the real one, which it renews after GG_FAST_CLOCK_TICKS.
 *
 * Counter  x86-64's time-stamp counter, if the kernel itself reads its clock by it: then all
 *          processors have the same count and one rate.  If not, each reading is a real one.
 * Rate     measured from one renewal to the next.  Until a rate is known, for
 *          GG_FAST_CLOCK_MEASURED_NS, each reading is a real one.
 * Error    some microseconds.  It may be a tenth of a second when the machine slept.  So the clock
 *          may go back at a renewal, and differ between threads.
 * Threads  each with its own struct.  A new one begins with the rate that another has measured.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

enum {
	GG_FAST_CLOCK_TICKS = 1 << 28, /* some 0.1 s */
	GG_FAST_CLOCK_MEASURED_NS = 20000000,
};

struct gg_fast_clock {
	uint64_t ticks, ns; /* at the last reading of the real clock */
	uint64_t scale;     /* nanoseconds of a tick, times 2^32 */
	uint64_t limit;     /* ticks from then on for which the scale holds; 0: none */
};

/* True: the kernel's clock source is "tsc" (/sys/devices/system/clocksource). */
void gg_fast_clock_use_counter(bool is_used);

/* Reads the real clock. */
GG_COLD uint64_t gg_fast_clock_renew(struct gg_fast_clock *clock);

static inline uint64_t gg_fast_clock_ns(struct gg_fast_clock *clock)
{
#ifdef __x86_64__
	uint64_t ticks;

	/* Without a limit there is no reading to begin from. */
	if (gg_likely(clock->limit != 0)) {
		ticks = __builtin_ia32_rdtsc() - clock->ticks;
		if (gg_likely(ticks < clock->limit))
			return clock->ns + (ticks * clock->scale >> 32);
	}
#endif
	return gg_fast_clock_renew(clock);
}
