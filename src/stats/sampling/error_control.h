/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_control - chooses the sampling interval at which an estimate has a wanted error.
 *
 *   struct gg_error_control c;
 *
 *   gg_error_control_init(&c, &options);
 *   now and then:
 *           interval_bytes = gg_error_control_step(&c, live_bytes, variance, allocated_bytes);
 *
 * The error is half the width of the 95 % confidence interval, as a share of the estimate.  Equal
 * samples of a large group have z / sqrt(n), so the error asks for n = (z / error)^2 samples;
 * MARGIN and EXTRA more allow for the scatter of n and for the wider interval of few samples.  An
 * estimate B with variance V is worth B^2 / V equal samples, whatever intervals its samples were
 * drawn with.
 *
 * Steady     B bytes at the interval R have V <= R B, so R = B / n is fine enough.  Large blocks
 *            have less, which is not relied on: the next ones may be small.
 * Growing    While B grows from nothing, R grows with it.  Then V is half of that at most.
 * Healing    V is larger than B^2 / n if a larger heap was sampled coarsely before, or if the error
 *            is newer than the heap.  Then the control draws new samples that much finer, down to
 *            R / FINER_MOST.  The error falls as the program frees old blocks.
 * Planned    A first interval above the finest one comes from a plan for a group of that interval
 *            times n bytes.  It stays until the group has half of these bytes, so that a program
 *            that is still growing takes no more samples than planned; or until the program has
 *            allocated twice as much, because then it is not the one that was planned for.
 * Bias       The interval depends on past samples alone, so every estimate stays unbiased.
 * Threads    none of its own; one caller at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_error_options {
	double error;             /* 0.05 for 5 %; > 0 */
	uint64_t first_interval;  /* bytes; that of a plan, or the finest one */
	uint64_t finest_interval; /* bytes, >= 1 */
	uint64_t coarsest_interval;
};

struct gg_error_control {
	struct gg_error_options options;
	uint64_t interval; /* bytes; the current one */
	double needed;     /* equal samples that have the error */
	bool is_planned;   /* the first interval still counts */
};

/* The number of equal samples whose confidence interval is at most `error` to each side. */
double gg_error_control_needed(double error);

void gg_error_control_init(struct gg_error_control *c, const struct gg_error_options *options);

/*
 * Takes the current estimate of the group into account, and the bytes that were allocated since the
 * start.  Returns the interval for the time from now on.  An estimate of 0 leaves the interval as
 * it is.
 */
uint64_t gg_error_control_step(struct gg_error_control *c, double bytes, double variance,
                               double allocated_bytes);

/*
 * How many times the interval a class of sizes may have, at least 1: so many that what a group of
 * that error may have missed of the class widens its interval by some 2 % only.
 */
double gg_error_control_coarser(double error);
