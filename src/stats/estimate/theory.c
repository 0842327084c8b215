/* SPDX-License-Identifier: Apache-2.0 */
/* theory - computes the expected errors of a sampling interval. */
#include "stats/estimate/theory.h"

#include <math.h>

#include "stats/estimate/special.h"

static const double ln_100 = 4.60517018598809136804;

double gg_theory_cutoff_bytes(double interval, enum gg_cutoff cutoff)
{
	switch (cutoff) {
	case GG_CUTOFF_99:
		return interval * ln_100;
	case GG_CUTOFF_INTERVAL:
		return interval;
	case GG_CUTOFF_NONE:
		break;
	}
	return INFINITY;
}

/*
 * Returns the error given a sample.  Without a sample the estimate is 0, whose relative error is 1.
 */
static double conditional(double expected, double missed)
{
	return fmax(expected - missed, 0) / (1 - missed);
}

struct gg_theory_error gg_theory_error(double size_bytes, double count, double interval,
                                       enum gg_cutoff cutoff)
{
	/* The number of sample points on all these bytes is a Poisson number with this mean. */
	double mean = size_bytes * count / interval;
	struct gg_theory_error error = { .coverage = 1 };

	/* From the cutoff on every allocation is taken as it is, without an error. */
	if (size_bytes >= gg_theory_cutoff_bytes(interval, cutoff))
		return error;
	error.coverage = -expm1(-mean);
	error.expected = 2 * gg_poisson_probability(floor(mean), mean);
	/* Below one expected sample point the difference is exactly e^-m, so nothing cancels. */
	error.conditional = mean < 1 ? exp(-mean) / error.coverage
	                             : conditional(error.expected, exp(-mean));
	error.deviation = 1 / sqrt(mean);
	return error;
}

struct gg_theory_error gg_theory_weighted_error(double size_bytes, double count, double interval)
{
	double n = floor(count), x = size_bytes / interval, p = -expm1(-x), mean = n * p, k;
	struct gg_theory_error error = { .coverage = -expm1(-x * n) };

	/* E|B - np| = 2 k (1-p) P(B = k) with k = floor(np) + 1, relative to np. */
	k = fmin(floor(mean) + 1, n);
	error.expected = 2 * k * exp(-x) * gg_binomial_probability(k, n, p) / mean;
	error.conditional = mean < 1 ? (error.expected - exp(-x * n)) / error.coverage
	                             : conditional(error.expected, exp(-x * n));
	error.deviation = sqrt(exp(-x) / mean);
	return error;
}
