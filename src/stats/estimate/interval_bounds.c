/* SPDX-License-Identifier: Apache-2.0 */
/* interval_bounds - computes the ends of an interval from the tails of its law, and back. */
#include "stats/estimate/interval_bounds.h"

#include <math.h>

/*
 * A gamma law with scale = variance/mean and shape = mean^2/variance.  Without a variance the sum
 * is certain.
 */
struct gg_end_law gg_end_law_of(double mean, double variance)
{
	if (!(mean > 0) || !(variance > 0))
		return (struct gg_end_law){ .offset = mean };
	return (struct gg_end_law){ 0, variance / mean, gg_gamma_law_of(mean / variance * mean) };
}

/*
 * A gamma law has the third cumulant 2 scale^3 shape and the variance scale^2 shape, so scale =
 * skew / (2 variance).  The offset then makes up for the mean.
 */
struct gg_end_law gg_end_law_shifted(double mean, double variance, double skew)
{
	double scale, shape;

	if (!(variance > 0) || !(skew > 0))
		return (struct gg_end_law){ .offset = mean };
	scale = 0.5 * skew / variance;
	shape = variance / scale / scale;
	return (struct gg_end_law){ mean - scale * shape, scale, gg_gamma_law_of(shape) };
}

double gg_end_law_at(const struct gg_end_law *law, double tail, bool upper)
{
	if (law->scale == 0)
		return law->offset;
	return law->offset + law->scale * gg_gamma_law_inverse(&law->gamma, tail, upper);
}

double gg_end_law_tail(const struct gg_end_law *law, double x, bool upper, double *ret_slope)
{
	double at, tail, probability;

	*ret_slope = 0;
	if (law->scale == 0)
		return upper ? x <= law->offset : x >= law->offset;
	at = (x - law->offset) / law->scale;
	if (!(at > 0))
		return upper;
	tail = gg_gamma_law_tail(&law->gamma, at, upper, &probability);
	if (tail > 0)
		*ret_slope = (upper ? -1 : 1) * law->gamma.shape * probability /
		             (tail * (x - law->offset));
	return tail;
}

struct gg_low_end gg_low_end_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	const struct gg_moments *usual = &tally->usual[quantity];

	return (struct gg_low_end){
		.usual = gg_end_law_of(gg_sum_value(&usual->value), gg_sum_value(&usual->variance)),
		.sure_seen = gg_sum_value(&tally->sure[quantity].seen),
		.usual_seen = gg_sum_value(&usual->seen),
	};
}

double gg_low_end_at(const struct gg_low_end *end, double tail)
{
	return end->sure_seen + fmax(gg_end_law_at(&end->usual, tail, false), end->usual_seen);
}

double gg_low_end_tail(const struct gg_low_end *end, double x, double *ret_slope)
{
	double usual = x - end->sure_seen;

	*ret_slope = 0;
	if (usual < end->usual_seen)
		return 0;
	return gg_end_law_tail(&end->usual, usual, false, ret_slope);
}

/*
 * Returns the most that one more sample point could stand for.  For allocations it is the largest
 * R/Z of the samples.  If the group was exposed to a larger interval than any sample was drawn
 * with, its samples do not tell which sizes there were.  Then it is that interval divided by the
 * smallest size.
 */
static double reserve_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	double reserve = tally->reserve_max[quantity], exposed = tally->reserve_max[GG_BYTES];

	if (quantity == GG_ALLOCATIONS && exposed > tally->sampled_interval_max)
		reserve = fmax(reserve, exposed * tally->allocations_per_byte_max);
	return reserve;
}

/*
 * One more sample point adds `reserve` to the mean, its square to the variance, and twice its cube
 * to the third cumulant: an exponential law.
 */
struct gg_high_end gg_high_end_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	const struct gg_moments *usual = &tally->usual[quantity], *sure = &tally->sure[quantity];
	const struct gg_moments *sure_count = &tally->sure[GG_ALLOCATIONS];
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	double reserve = reserve_of(tally, quantity);
	double skew = gg_sum_value(&usual->skew) + gg_sum_value(&sure->skew) +
	              2 * reserve * reserve * reserve;
	double mean = estimate.value + reserve, variance = estimate.variance + reserve * reserve;

	return (struct gg_high_end){
		.law = gg_end_law_shifted(mean, variance, skew),
		.mean = mean,
		.variance = variance,
		.skew = skew,
		.skew_slack = gg_sum_value(&tally->skew_slack[quantity]),
		.seen = gg_tally_seen(tally, quantity),
		.missed_count = gg_sum_value(&sure_count->value) - gg_sum_value(&sure_count->seen),
		.missed_value = gg_sum_value(&sure->value) - gg_sum_value(&sure->seen),
	};
}

/*
 * The number of whole allocations missed, among those with p near 1: the most that a Poisson number
 * of `mean` reaches with probability `tail`.  Beyond 30, the continuous law is precise enough.
 */
enum { MOST_MISSED = 30 };

static double missed_count(double mean, double tail)
{
	double count = 0;

	while (count < MOST_MISSED && gg_gamma_lower(count + 1, mean) >= tail)
		count++;
	return count;
}

/* The share of the range of log(skew) that the search below could not tell apart. */
#define SKEW_STEP 1e-5
/* A skewness at which a law is a normal law. */
#define NO_SKEWNESS 1e-4
/* More than the error of a value. */
#define SURELY_LARGER 1e-11

static double quantile(const struct gg_end_law *law, double tail)
{
	return gg_end_law_at(law, tail, true);
}

static double tail_beyond(const struct gg_end_law *law, double x)
{
	double slope;

	return gg_end_law_tail(law, x, true, &slope);
}

/* The laws whose third cumulant may be the true one, by their share of the range of log(skew). */
struct skew_range {
	const struct gg_high_end *end;
	double low, log_ratio;
};

static struct skew_range range_of(const struct gg_high_end *end)
{
	double low = fmax(end->skew, NO_SKEWNESS * end->variance * sqrt(end->variance));
	double high = end->skew + end->skew_slack;

	return (struct skew_range){ end, low, high > low ? log(high / low) : 0 };
}

static struct gg_end_law law_at(const struct skew_range *range, double share)
{
	return gg_end_law_shifted(range->end->mean, range->end->variance,
	                          range->low * exp(share * range->log_ratio));
}

/*
 * Returns the law with the largest value at x, among those whose third cumulant may be the true
 * one.  As the skew grows, both quantile and tail first grow, then fall (rare and huge beats
 * frequent and large), and a golden-section search finds the maximum.  It goes by log(skew), since
 * values rise and fall within a few powers of two, and the range may have many.  Quantiles rise
 * again in the end, from far below the mean up to it.  There they are below that of the least
 * skew, unless this one has no maximum above it either: then an end of the range has the largest.
 */
static struct gg_end_law widest_law(const struct gg_high_end *end, double x,
                                    double (*value)(const struct gg_end_law *law, double x))
{
	const double golden = 0.6180339887498949;
	const struct skew_range range = range_of(end);
	double low = 0, high = 1;
	struct gg_end_law best = end->law, limit, of_a, of_b;
	double largest = value(&best, x), at_least = largest, at_limit, a, b, at_a, at_b;

	limit = gg_end_law_shifted(end->mean, end->variance, end->skew + end->skew_slack);
	at_limit = value(&limit, x);
	if (at_limit > largest) {
		largest = at_limit;
		best = limit;
	}
	/* Mostly an end of the range has the largest value: it falls right beside that end. */
	of_a = law_at(&range, at_limit > at_least ? 1 - SKEW_STEP : SKEW_STEP);
	if (largest > value(&of_a, x) * (1 + SURELY_LARGER))
		return best;
	a = high - golden * (high - low);
	b = low + golden * (high - low);
	of_a = law_at(&range, a);
	of_b = law_at(&range, b);
	at_a = value(&of_a, x);
	at_b = value(&of_b, x);
	for (int i = 0; i < 24; i++) {
		if (fmax(at_a, at_b) > largest) {
			largest = fmax(at_a, at_b);
			best = at_a > at_b ? of_a : of_b;
		}
		/* The ratio is such that one of the two points is a point of the next step. */
		if (at_a < at_b && at_b > at_least) {
			low = a;
			a = b;
			of_a = of_b;
			at_a = at_b;
			b = low + golden * (high - low);
			of_b = law_at(&range, b);
			at_b = value(&of_b, x);
		} else {
			high = b;
			b = a;
			of_b = of_a;
			at_b = at_a;
			a = high - golden * (high - low);
			of_a = law_at(&range, a);
			at_a = value(&of_a, x);
		}
	}
	return best;
}

double gg_high_end_at(const struct gg_high_end *end, double tail)
{
	struct gg_end_law law = end->skew_slack > 0 ? widest_law(end, tail, quantile) : end->law;
	double high = quantile(&law, tail), missed = end->missed_count;

	if (missed > tail)
		high = fmax(high,
		            end->seen + end->missed_value / missed * missed_count(missed, tail));
	return high;
}

/* Returns the tail of the missed allocations alone: P(so many are missed that they reach x). */
static double missed_tail(const struct gg_high_end *end, double x)
{
	double count;

	if (!(end->missed_count > 0))
		return 0;
	if (x <= end->seen)
		return fmin(end->missed_count, 1);
	count = ceil((x - end->seen) / end->missed_value * end->missed_count);
	return count <= MOST_MISSED ? gg_gamma_lower(count, end->missed_count) : 0;
}

double gg_high_end_tail(const struct gg_high_end *end, double x, double *ret_slope)
{
	struct gg_end_law law = end->skew_slack > 0 ? widest_law(end, x, tail_beyond) : end->law;
	double tail = gg_end_law_tail(&law, x, true, ret_slope);
	double missed = missed_tail(end, x);

	if (missed <= tail)
		return tail;
	*ret_slope = 0;
	return missed;
}
