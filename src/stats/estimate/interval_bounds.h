/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_bounds - the ends of the compound interval (interval.h) as functions of the tail.
 *
 *   struct gg_high_end end = gg_high_end_of(&tally, GG_BYTES);
 *   high = gg_high_end_at(&end, 0.025);              the end with 2.5 % above it
 *   tail = gg_high_end_tail(&end, high, &slope);     and back
 *
 * Preparing an end costs as much as one tail of it.  Who asks for many tails (a p-value, the
 * zero-truncated law) prepares it once; who has an end and wants its tail needs no inverse.
 *
 * Tails are probabilities, 0 < tail < 1.  A slope is that of log(tail) by the end, per byte or
 * allocation; 0 where the tail is 0 or does not depend on the end.
 *
 * Threads   any; pure.
 */
#pragma once

#include "stats/estimate/special.h"
#include "stats/estimate/tally.h"

/* offset + scale * X, X of a gamma law; the constant offset where scale is 0. */
struct gg_end_law {
	double offset, scale;
	struct gg_gamma_law gamma;
};

/* The gamma law with that mean and variance; Pearson's type III where it has a skew of its own. */
struct gg_end_law gg_end_law_of(double mean, double variance);
struct gg_end_law gg_end_law_shifted(double mean, double variance, double skew);

double gg_end_law_at(const struct gg_end_law *law, double tail, bool upper);
double gg_end_law_tail(const struct gg_end_law *law, double x, bool upper, double *ret_slope);

/* Samples with p near 1 as seen, plus the law of the others, never below what was seen of them. */
struct gg_low_end {
	struct gg_end_law usual;
	double sure_seen, usual_seen;
};

struct gg_low_end gg_low_end_of(const struct gg_tally *tally, enum gg_quantity quantity);
double gg_low_end_at(const struct gg_low_end *end, double tail);

/* The largest tail whose end is not above x. */
double gg_low_end_tail(const struct gg_low_end *end, double x, double *ret_slope);

/* The law of all samples and one more mark; or of whole allocations missed, if that is higher. */
struct gg_high_end {
	struct gg_end_law law;
	/* The third cumulant is at most so much larger than the law's (tally.h); 0: it is known. */
	double mean, variance, skew, skew_slack;
	double seen;
	double missed_count, missed_value; /* expected: of the sure, how many; in the end's unit */
};

/* For a tally with samples. */
struct gg_high_end gg_high_end_of(const struct gg_tally *tally, enum gg_quantity quantity);
double gg_high_end_at(const struct gg_high_end *end, double tail);

/* The largest tail whose end is not below x. */
double gg_high_end_tail(const struct gg_high_end *end, double x, double *ret_slope);
