/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/interval.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/special.h"

static const char *const method_names[] = {
	[GG_METHOD_EXACT] = "exact",
	[GG_METHOD_NO_SAMPLE] = "zero-sample bound",
	[GG_METHOD_COMPOUND] = "compound gamma",
	[GG_METHOD_TRUNCATED] = "zero-truncated compound gamma",
	[GG_METHOD_NORMAL] = "normal",
	[GG_METHOD_GAMMA] = "gamma",
	[GG_METHOD_NEGATIVE_BINOMIAL] = "negative binomial",
	[GG_METHOD_CAMP_PAULSON] = "Camp-Paulson",
};

const char *gg_method_name(enum gg_method method)
{
	return (unsigned)method < GG_COUNT(method_names) ? method_names[method] : NULL;
}

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

/* The quantile of the gamma distribution with this mean and variance. */
static double gamma_quantile(double mean, double variance, double tail, bool upper)
{
	double shape;

	if (!(mean > 0) || !(variance > 0))
		return mean;
	shape = mean / variance * mean;
	return mean / shape *
	       (upper ? gg_gamma_upper_inverse(shape, tail) : gg_gamma_lower_inverse(shape, tail));
}

struct gg_interval gg_interval_gamma(struct gg_estimate estimate, double weight_max,
                                     double confidence)
{
	double tail = (1 - confidence) / 2;
	struct gg_interval interval = { .method = GG_METHOD_GAMMA };

	interval.low = gamma_quantile(estimate.value, estimate.variance, tail, false);
	interval.high = gamma_quantile(estimate.value + weight_max,
	                               estimate.variance + weight_max * weight_max, tail, true);
	return interval;
}

/* Pearson's type III: the gamma distribution, shifted, with these cumulants. */
static double shifted_gamma_upper(double mean, double variance, double skew, double tail)
{
	double scale, shape;

	if (!(variance > 0) || !(skew > 0))
		return mean;
	scale = 0.5 * skew / variance;
	shape = variance / scale / scale;
	return mean + scale * (gg_gamma_upper_inverse(shape, tail) - shape);
}

/*
 * The same where the third cumulant is only known to be between skew and skew + slack.  The quantile
 * first grows with it, then falls (rare and huge beats frequent and large), so the largest value is
 * sought by golden section.
 */
static double shifted_gamma_upper_most(double mean, double variance, double skew, double slack,
                                       double tail)
{
	const double golden = 0.6180339887498949;
	double low = skew, high = skew + slack, largest;

	largest = fmax(shifted_gamma_upper(mean, variance, low, tail),
	               shifted_gamma_upper(mean, variance, high, tail));
	for (int i = 0; i < 24; i++) {
		double a = high - golden * (high - low), b = low + golden * (high - low);
		double at_a = shifted_gamma_upper(mean, variance, a, tail);
		double at_b = shifted_gamma_upper(mean, variance, b, tail);

		largest = fmax(largest, fmax(at_a, at_b));
		if (at_a < at_b)
			low = a;
		else
			high = b;
	}
	return largest;
}

/*
 * Whole allocations missed beside those with p near 1: the most that a Poisson number of `mean`
 * reaches with probability `tail`.  Beyond 30 the continuous law has the digits.
 */
static double missed_count(double mean, double tail)
{
	double count = 0;

	while (count < 30 && gg_gamma_lower(count + 1, mean) >= tail)
		count++;
	return count;
}

/*
 * What one more mark could stand for: for allocations, R/Z of the sample where that is largest.
 * Where the group was exposed to a larger interval than any sample was drawn with, none of its
 * samples tells which sizes there were; then it is that interval over the size of the smallest.
 */
static double reserve_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	double reserve = tally->reserve_max[quantity], exposed = tally->reserve_max[GG_BYTES];

	if (quantity == GG_ALLOCATIONS && exposed > tally->sampled_interval_max)
		reserve = fmax(reserve, exposed * tally->allocations_per_byte_max);
	return reserve;
}

static double upper_end(const struct gg_tally *tally, enum gg_quantity quantity, double tail)
{
	const struct gg_moments *usual = &tally->usual[quantity], *sure = &tally->sure[quantity];
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	double reserve = reserve_of(tally, quantity), seen = gg_tally_seen(tally, quantity);
	double skew = gg_sum_value(&usual->skew) + gg_sum_value(&sure->skew);
	double missed = gg_sum_value(&tally->sure[GG_ALLOCATIONS].value) -
	                gg_sum_value(&tally->sure[GG_ALLOCATIONS].seen);
	double missed_value = gg_sum_value(&sure->value) - gg_sum_value(&sure->seen);
	double slack = gg_sum_value(&tally->skew_slack[quantity]);
	double mean = estimate.value + reserve, variance = estimate.variance + reserve * reserve;
	double high;

	skew += 2 * reserve * reserve * reserve;
	high = slack > 0 ? shifted_gamma_upper_most(mean, variance, skew, slack, tail)
	                 : shifted_gamma_upper(mean, variance, skew, tail);

	if (missed > tail)
		high = fmax(high, seen + missed_value / missed * missed_count(missed, tail));
	return high;
}

/* The lower end: samples with p near 1 count as seen, the others by the gamma law. */
static double lower_end(const struct gg_tally *tally, enum gg_quantity quantity, double tail)
{
	const struct gg_moments *usual = &tally->usual[quantity];
	double low = gamma_quantile(gg_sum_value(&usual->value), gg_sum_value(&usual->variance),
	                            tail, false);

	return gg_sum_value(&tally->sure[quantity].seen) + fmax(low, gg_sum_value(&usual->seen));
}

/*
 * The tail that leaves a/2 below the lower end given that the group has a sample: a/2 P(S >= 1),
 * where P(S >= 1) = 1 - exp(-T/R) is that of the lower end T itself.  From above, each step goes
 * down to the solution and never past it.
 */
static double truncated_tail(const struct gg_tally *tally, double tail)
{
	double truncated = tail;

	for (int i = 0; i < 100; i++) {
		double bytes = lower_end(tally, GG_BYTES, truncated), next;

		next = tail * -expm1(-bytes / tally->reserve_max[GG_BYTES]);
		if (next >= truncated * (1 - 1e-6))
			break;
		truncated = next;
	}
	return truncated;
}

struct gg_interval gg_interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                  double confidence, bool discovered)
{
	double tail = (1 - confidence) / 2, seen = gg_tally_seen(tally, quantity);
	struct gg_interval interval = { .method = GG_METHOD_COMPOUND };

	if (tally->sample_count == 0) {
		interval.method = GG_METHOD_NO_SAMPLE;
		interval.high = INFINITY;
		if (quantity == GG_BYTES && tally->reserve_max[GG_BYTES] > 0)
			interval.high = gg_interval_unseen_bytes(tally->reserve_max[GG_BYTES],
			                                         confidence);
		return interval;
	}
	if (tally->reserve_max[GG_BYTES] == 0)
		return (struct gg_interval){ seen, seen, GG_METHOD_EXACT };
	interval.high = upper_end(tally, quantity, tail);
	if (discovered) {
		interval.method = GG_METHOD_TRUNCATED;
		if (tally->sample_count == 1) {
			interval.low = seen;
			return interval;
		}
		tail = truncated_tail(tally, tail);
	}
	interval.low = lower_end(tally, quantity, tail);
	return interval;
}
