/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overhead_control - chooses the sampling interval at which sampling costs a given share of time.
 *
 *   struct gg_overhead_control c;
 *
 *   gg_overhead_control_init(&c, &options);
 *   now and then:
 *           interval_bytes = gg_overhead_control_step(&c, &window);
 *
 * The caller measures windows: how much processor time the program used, how much of that its
 * profiler used, and with which interval.  The profiler's time has two parts.  Hooks cost the same
 * at any interval.  Samples cost in proportion to 1/interval, as long as most allocations are
 * smaller than the interval; so
 *
 *   density = sampling_ns * interval / program_ns
 *
 * is a property of the program, and interval = density / share gives that share of its time.  If
 * most allocations are larger, the cost depends less on the interval, and repeated steps approach
 * the share all the same.
 *
 * Steps      A window that has many samples, or should have many, measures the density well.  If it
 *            differs much from the known one, the program has changed, and the new density counts
 *            at once.  Otherwise it counts by and by (DENSITY_NS of program time).
 * Debt       What samples cost beyond their share so far, or less than it.  The wanted share is
 *            corrected so that a debt is paid back within DEBT_NS of program time, whatever the
 *            errors of single steps.  Credit is limited to the share of DEBT_NS, and raises the
 *            share by no more than MOST_PART: an idle hour does not pay for a slow second.  A debt
 *            leaves samples DEBT_LEAST_PART, or SHORT_LEAST_PART in a program's first seconds.
 * Hunting    Intervals are powers of 2^(1/4), and the interval stays where the wanted one is less
 *            than 2^(1/4) away.
 * Charges    Costs that do not follow the interval, such as the start and the end of a recorder,
 *            are a debt as well.  Samples pay for them, so the whole still has the share, once the
 *            program has run long enough.
 * Floor      If the hooks alone cost nearly the share or more, samples still get LEAST_PART of it:
 *            a profile without samples helps nobody.  The overhead is then larger than the share.
 *            The excess is a debt, up to the share of HOOKS_DEBT_NS, so a program that calms down
 *            pays for its last seconds.
 * Bias       The interval depends on past samples alone.  A sample point keeps the interval that it
 *            was drawn with, so every estimate stays unbiased (docs/ESTIMATION.md).
 * Threads    none of its own; one caller at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/sampling/scheme.h"

struct gg_overhead_options {
	double share;             /* of the program's own processor time: 0.01 for 1 %; > 0 */
	uint64_t first_interval;  /* bytes; in use until the first step */
	uint64_t finest_interval; /* bytes, >= 1 */
	uint64_t coarsest_interval;
};

/* A window of time between two steps. */
struct gg_overhead_window {
	double cpu_ns;         /* processor time of the process, with the profiler's part in it */
	double sampling_ns;    /* ... of samples; may include the time of a recorder */
	double recorder_ns;    /* the part of sampling_ns that is not in cpu_ns */
	double hooks_ns;       /* ... of allocations that are no samples */
	double charged_ns;     /* other costs, whatever the interval; < 0: some are given back */
	uint64_t sample_count; /* samples of this window */
};

struct gg_overhead_control {
	struct gg_overhead_options options;
	uint64_t interval;  /* bytes; the current one */
	double density;     /* bytes; see above */
	double hooks_share; /* of the program's time, smoothed */
	double sample_ns;   /* the cost of a sample in the last window that had one */
	double debt_ns;     /* > 0: samples cost more than the share allows */
	double known_ns;    /* program time that `density` comes from, up to DENSITY_NS */
	/* Sums of all windows. */
	double program_ns, sampling_ns, hooks_ns, charged_ns;
	uint64_t change_count;
};

/*
 * False for the optimal scheme, which learns its rates for one interval, and for the scheme that
 * counts allocations, because the finest and the coarsest interval are bytes.
 */
static inline bool gg_overhead_control_serves(enum gg_scheme scheme)
{
	return scheme != GG_SCHEME_OPTIMAL && scheme != GG_SCHEME_PER_ALLOCATION;
}

void gg_overhead_control_init(struct gg_overhead_control *c,
                              const struct gg_overhead_options *options);

/* Takes a window into account.  Returns the interval for the time from now on, in bytes. */
uint64_t gg_overhead_control_step(struct gg_overhead_control *c,
                                  const struct gg_overhead_window *window);

/* For a forked child: the debt stays with the parent, which pays it. */
void gg_overhead_control_forget_debt(struct gg_overhead_control *c);

/* The measured overhead so far, as a share of the program's own time; 0 without a window. */
double gg_overhead_control_measured(const struct gg_overhead_control *c);
