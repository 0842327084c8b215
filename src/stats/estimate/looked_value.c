/* SPDX-License-Identifier: Apache-2.0 */
/* looked_value - adds values that were looked up for samples to tallies. */
#include "stats/estimate/looked_value.h"

#include <math.h>

#include "base/assert.h"
#include "stats/sampling/weight.h"

/* True if no block can be missed: everything is a sample, and the look chose every sample. */
static bool hides_nothing(const struct gg_draw *draw, double chance)
{
	return draw->sampling_interval <= 1 && draw->scheme != GG_SCHEME_OPTIMAL && chance >= 1;
}

/*
 * The third cumulant of a sample's contribution, divided by its variance: as skew_factor() of
 * tally.c, but with the probability of both choices.
 */
static double skew_factor(const struct gg_draw *draw, double probability, double length)
{
	if (draw->scheme == GG_SCHEME_POISSON_COUNT)
		return fmax(2 * draw->sampling_interval / length, 2 / probability - 1);
	return 2 / probability - 1;
}

static void add_moments(struct gg_plain_moments *moments, double value, double count,
                        double variance, double factor)
{
	moments->seen += value;
	moments->value += value * count;
	moments->variance += value * value * variance;
	moments->skew += value * value * value * variance * factor;
}

/*
 * All samples count as usual ones, even those with p near 1: the blocks that were missed may have
 * other values, so they cannot be counted one by one.
 */
void gg_plain_tally_add_value(struct gg_plain_tally *plain, const struct gg_draw *draw,
                              uint64_t size_bytes, const struct gg_looked_value *looked)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	double chance = looked->chance > 0 ? looked->chance : 1;
	double probability = weight.probability * chance, count = weight.count / chance;
	/* The variance of the first choice, and that of the second given the first. */
	double variance = weight.count_variance / chance + count * count * (1 - chance);
	double factor = skew_factor(draw, probability, (double)gg_length_bytes(size_bytes));

	gg_assert(looked->value >= 0);
	plain->sample_count += 1;
	plain->sample_point_count += draw->sample_point_count;
	add_moments(&plain->usual[GG_BYTES], looked->value, count, variance, factor);
	add_moments(&plain->usual[GG_ALLOCATIONS], 1, count, variance, factor);
	if (!(looked->chance > 0))
		for (int i = 0; i < GG_QUANTITY_COUNT; i++)
			plain->unknown[i] += 1;
	if (hides_nothing(draw, chance))
		return;
	gg_plain_tally_raise(&plain->reserve_max[GG_BYTES],
	                     fmax(looked->value_max, looked->value) / probability);
	gg_plain_tally_raise(&plain->reserve_max[GG_ALLOCATIONS], 1 / probability);
	plain->sampled_interval_max = plain->reserve_max[GG_BYTES];
}

void gg_tally_add_value(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes,
                        const struct gg_looked_value *looked)
{
	struct gg_plain_tally plain = { 0 };
	struct gg_tally one;

	gg_plain_tally_add_value(&plain, draw, size_bytes, looked);
	gg_plain_tally_tally(&plain, &one);
	gg_tally_merge(tally, &one);
}
