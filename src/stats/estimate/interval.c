/* SPDX-License-Identifier: Apache-2.0 */
/* interval - computes confidence intervals of estimated sums. */
#include "stats/estimate/interval.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/estimate/interval_bounds.h"
#include "stats/estimate/special.h"

double gg_interval_unseen_bytes(double interval, double confidence)
{
	return interval * -log((1 - confidence) / 2);
}

double gg_interval_unseen_count(double probability, double confidence)
{
	return -log((1 - confidence) / 2) / probability;
}

struct gg_interval gg_interval_normal(struct gg_estimate estimate, double confidence)
{
	double reach = gg_normal_upper_inverse((1 - confidence) / 2) * sqrt(estimate.variance);

	return (struct gg_interval){ estimate.value - reach, estimate.value + reach,
		                     GG_METHOD_NORMAL };
}

struct gg_interval gg_interval_gamma(struct gg_estimate estimate, double weight_max,
                                     double confidence)
{
	struct gg_end_law low = gg_end_law_of(estimate.value, estimate.variance);
	struct gg_end_law high = gg_end_law_of(estimate.value + weight_max,
	                                       estimate.variance + weight_max * weight_max);
	double tail = (1 - confidence) / 2;

	return (struct gg_interval){ gg_end_law_at(&low, tail, false),
		                     gg_end_law_at(&high, tail, true), GG_METHOD_GAMMA };
}

/*
 * Finds the tail that leaves a/2 below the lower end, given that the group has a sample.  It is a/2
 * P(S >= 1), where P(S >= 1) = 1 - exp(-T/R) belongs to the lower end T itself.  With two or more
 * samples, log(tail) grows faster with log(T) than log(P) does.  So Newton's method has one
 * solution, and the end at a/2 is above it.
 */
static double truncated_tail(const struct gg_tally *tally, double tail)
{
	struct gg_low_end low = gg_low_end_of(tally, GG_BYTES);
	double reserve = tally->reserve_max[GG_BYTES], seen = low.sure_seen + low.usual_seen;
	double least = tail * -expm1(-seen / reserve), slope, step = 1;
	double end = gg_low_end_at(&low, tail), reached = tail;

	if (gg_low_end_tail(&low, seen, &slope) >= least)
		return least; /* the interval ends at the bytes of the samples */
	for (int i = 0; i < 100 && fabs(step) > 1e-9; i++) {
		double hit = -expm1(-end / reserve);

		reached = gg_low_end_tail(&low, end, &slope);
		step = log(reached / (tail * hit)) / (end * (slope - (1 - hit) / (hit * reserve)));
		end = fmax(end * exp(-step), seen);
	}
	/* The tail is never above a/2, but a law with nearly no variance may step over it. */
	return fmin(reached, tail);
}

/* Computes the interval of a group whose samples all belong to it. */
static struct gg_interval interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                      double confidence, bool discovered)
{
	double tail = (1 - confidence) / 2, seen = gg_tally_seen(tally, quantity);
	struct gg_interval interval = { .method = GG_METHOD_COMPOUND };
	struct gg_high_end high;
	struct gg_low_end low;

	if (!gg_tally_has_error(tally, quantity))
		return (struct gg_interval){ 0, INFINITY, GG_METHOD_UNKNOWN };
	/*
	 * Without samples only the exposure bounds the bytes, and nothing bounds the number of
	 * allocations.
	 */
	if (tally->sample_count == 0 && !gg_tally_hides_nothing(tally)) {
		interval.method = GG_METHOD_NO_SAMPLE;
		interval.high = INFINITY;
		if (quantity == GG_BYTES && tally->reserve_max[GG_BYTES] > 0) {
			interval.low = seen; /* exact bytes without a count */
			interval.high = seen + gg_interval_unseen_bytes(
						       tally->reserve_max[GG_BYTES], confidence);
		}
		return interval;
	}
	/* No larger interval than 1 was in force, so every allocation is a sample. */
	if (tally->reserve_max[GG_BYTES] == 0)
		return (struct gg_interval){ seen, seen, GG_METHOD_EXACT };
	high = gg_high_end_of(tally, quantity);
	interval.high = gg_high_end_at(&high, tail);
	if (discovered) {
		interval.method = GG_METHOD_TRUNCATED;
		/* Given that there is a sample, a single one may be the whole group. */
		if (tally->sample_count == 1) {
			interval.low = seen;
			return interval;
		}
		tail = truncated_tail(tally, tail);
	}
	low = gg_low_end_of(tally, quantity);
	interval.low = gg_low_end_at(&low, tail);
	return interval;
}

/* Computes the interval that samples give, without a limit. */
static struct gg_interval sampled_interval(const struct gg_tally *tally, enum gg_quantity quantity,
                                           double confidence, bool discovered)
{
	struct gg_interval interval;
	struct gg_tally part;

	if (!gg_tally_is_uncertain(tally)) {
		interval = interval_of(tally, quantity, confidence, discovered);
	} else {
		/*
		 * The two ends come from two extremes: the lower end without the uncertain samples,
		 * the upper end with all of them.
		 */
		part = gg_tally_least(tally);
		interval = interval_of(&part, quantity, confidence, discovered);
		part = gg_tally_most(tally);
		interval.high = interval_of(&part, quantity, confidence, discovered).high;
	}
	if (tally->incomplete > 0 || (quantity == GG_BYTES && tally->unbounded_bytes > 0))
		interval.high = INFINITY;
	return interval;
}

/* Computes the interval that samples give, and what changed since, without a limit. */
static struct gg_interval unlimited_interval(const struct gg_tally *tally,
                                             enum gg_quantity quantity, double confidence,
                                             bool discovered)
{
	struct gg_interval interval = sampled_interval(tally, quantity, confidence, discovered);

	if (quantity != GG_BYTES || !(tally->changed_bytes > 0))
		return interval;
	interval.low = fmax(interval.low - tally->changed_bytes, 0);
	interval.high = interval.high / (1 - tally->changed_share) + tally->changed_bytes;
	if (interval.method == GG_METHOD_EXACT)
		interval.method = GG_METHOD_COMPOUND;
	return interval;
}

struct gg_interval gg_interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                  double confidence, bool discovered)
{
	double limit = gg_tally_limit(tally, quantity);
	struct gg_interval interval;
	struct gg_tally sampled;

	if (isinf(limit))
		return unlimited_interval(tally, quantity, confidence, discovered);
	sampled = *tally;
	sampled.is_limited = false;
	interval = unlimited_interval(&sampled, quantity, confidence, discovered);
	interval.low = fmin(interval.low, limit);
	interval.high = fmin(interval.high, limit);
	return interval;
}
