/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_bounds - computes the ends of the compound interval (interval.h) as functions of the
 * tail.
 *
 *   struct gg_high_end end = gg_high_end_of(&tally, GG_BYTES);
 *   high = gg_high_end_at(&end, 0.025);              the end with 2.5 % above it
 *   tail = gg_high_end_tail(&end, high, &slope);     and back
 *
 * Preparing an end costs as much as one tail of it.  A caller that needs many tails (a p-value, the
 * zero-truncated law) prepares it once.  A caller that has an end and needs its tail does not need
 * an inverse.
 *
 * Tails are probabilities, 0 < tail < 1.  A slope is the derivative of log(tail) by the end, per
 * byte or allocation; it is 0 if the tail is 0 or does not depend on the end.
 *
 * Threads  Any thread; the functions are pure.
 */
#pragma once

#include "stats/estimate/special.h"
#include "stats/estimate/tally.h"

/* offset + scale * X, where X has a gamma law; with a scale of 0, the constant offset. */
struct gg_end_law {
	double offset, scale;
	struct gg_gamma_law gamma;
};

/*
 * Return the gamma law with that mean and variance, and Pearson's type III, which has a skew of its
 * own.
 */
struct gg_end_law gg_end_law_of(double mean, double variance);
struct gg_end_law gg_end_law_shifted(double mean, double variance, double skew);

double gg_end_law_at(const struct gg_end_law *law, double tail, bool upper);
double gg_end_law_tail(const struct gg_end_law *law, double x, bool upper, double *ret_slope);

/*
 * The lower end: samples with p near 1 as they are, plus the law of the other samples, which is
 * never below the sum of these samples themselves.
 */
struct gg_low_end {
	struct gg_end_law usual;
	double sure_seen, usual_seen;
};

struct gg_low_end gg_low_end_of(const struct gg_tally *tally, enum gg_quantity quantity);
double gg_low_end_at(const struct gg_low_end *end, double tail);

/* Returns the largest tail whose end is not above x. */
double gg_low_end_tail(const struct gg_low_end *end, double x, double *ret_slope);

/*
 * The upper end: the law of all samples and one more sample point, or that of whole missed
 * allocations if it is higher.
 */
struct gg_high_end {
	struct gg_end_law law;
	/*
	 * The third cumulant exceeds that of the law by at most skew_slack (tally.h); 0: it is
	 * known.
	 */
	double mean, variance, skew, skew_slack;
	double seen;
	/* Expected misses among the sure samples: their number, and their sum in the end's unit. */
	double missed_count, missed_value;
};

/* The tally must have samples. */
struct gg_high_end gg_high_end_of(const struct gg_tally *tally, enum gg_quantity quantity);
double gg_high_end_at(const struct gg_high_end *end, double tail);

/* Returns the largest tail whose end is not below x. */
double gg_high_end_tail(const struct gg_high_end *end, double x, double *ret_slope);
