/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/interval.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/special.h"

static const char *const method_names[] = {
	[GG_METHOD_EXACT] = "exact",
	[GG_METHOD_NO_SAMPLE] = "zero-sample bound",
	[GG_METHOD_GAMMA] = "gamma",
	[GG_METHOD_GAMMA_TRUNCATED] = "zero-truncated gamma",
	[GG_METHOD_NORMAL] = "normal",
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

struct gg_interval gg_interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
				  double confidence, bool discovered)
{
	struct gg_estimate estimate = quantity == GG_BYTES ? gg_tally_bytes(tally)
							   : gg_tally_count(tally);
	double reserve = quantity == GG_BYTES ? tally->interval_max : tally->count_reserve_max;
	double seen = quantity == GG_BYTES ? gg_sum_value(&tally->seen_bytes)
					   : (double)tally->sample_count;
	struct gg_interval interval;

	if (tally->sample_count == 0)
		return (struct gg_interval){
			0,
			quantity == GG_BYTES && tally->interval_max > 0
				? gg_interval_unseen_bytes(tally->interval_max, confidence)
				: INFINITY,
			GG_METHOD_NO_SAMPLE,
		};
	interval = gg_interval_gamma(estimate, reserve, confidence);
	if (discovered && tally->sample_count == 1)
		interval.low = seen;
	interval.low = fmax(interval.low, seen);
	interval.high = fmax(interval.high, seen);
	return interval;
}
