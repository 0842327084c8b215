/* SPDX-License-Identifier: Apache-2.0 */
/* plain_tally - converts tallies to plain doubles and back, and adds samples. */
#include "stats/estimate/plain_tally.h"

static struct gg_plain_moments moments_of(const struct gg_moments *moments)
{
	return (struct gg_plain_moments){
		.seen = gg_sum_value(&moments->seen),
		.value = gg_sum_value(&moments->value),
		.variance = gg_sum_value(&moments->variance),
		.skew = gg_sum_value(&moments->skew),
	};
}

/* Rounds each sum of two doubles to one. */
void gg_plain_tally_of(struct gg_plain_tally *plain, const struct gg_tally *tally)
{
	plain->sample_count = (double)tally->sample_count;
	plain->sample_point_count = (double)tally->sample_point_count;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		plain->usual[i] = moments_of(&tally->usual[i]);
		plain->sure[i] = moments_of(&tally->sure[i]);
		plain->uncertain[i] = moments_of(&tally->uncertain[i]);
		plain->skew_slack[i] = gg_sum_value(&tally->skew_slack[i]);
		plain->unknown[i] = gg_sum_value(&tally->unknown[i]);
		plain->reserve_max[i] = tally->reserve_max[i];
	}
	plain->failed_bytes = gg_sum_value(&tally->failed_bytes);
	plain->failed_variance = gg_sum_value(&tally->failed_variance);
	plain->rest_bytes = gg_sum_value(&tally->rest_bytes);
	plain->sampled_interval_max = tally->sampled_interval_max;
	plain->allocations_per_byte_max = tally->allocations_per_byte_max;
	plain->incomplete = tally->incomplete;
	plain->unbounded_bytes = tally->unbounded_bytes;
}

static struct gg_sum sum_of(double value)
{
	return (struct gg_sum){ value, 0 };
}

static struct gg_moments sums_of(const struct gg_plain_moments *moments)
{
	return (struct gg_moments){
		.seen = sum_of(moments->seen),
		.value = sum_of(moments->value),
		.variance = sum_of(moments->variance),
		.skew = sum_of(moments->skew),
	};
}

/*
 * Converts back.  The rounding error of the plain sums stays, so nothing should be subtracted from
 * the result.
 */
void gg_plain_tally_tally(const struct gg_plain_tally *plain, struct gg_tally *ret_tally)
{
	ret_tally->sample_count = (uint64_t)plain->sample_count;
	ret_tally->sample_point_count = (uint64_t)plain->sample_point_count;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		ret_tally->usual[i] = sums_of(&plain->usual[i]);
		ret_tally->sure[i] = sums_of(&plain->sure[i]);
		ret_tally->uncertain[i] = sums_of(&plain->uncertain[i]);
		ret_tally->skew_slack[i] = sum_of(plain->skew_slack[i]);
		ret_tally->unknown[i] = sum_of(plain->unknown[i]);
		ret_tally->reserve_max[i] = plain->reserve_max[i];
	}
	ret_tally->failed_bytes = sum_of(plain->failed_bytes);
	ret_tally->failed_variance = sum_of(plain->failed_variance);
	ret_tally->rest_bytes = sum_of(plain->rest_bytes);
	ret_tally->sampled_interval_max = plain->sampled_interval_max;
	ret_tally->allocations_per_byte_max = plain->allocations_per_byte_max;
	ret_tally->incomplete = plain->incomplete;
	ret_tally->unbounded_bytes = plain->unbounded_bytes;
	ret_tally->is_counted = false;
	ret_tally->is_limited = false;
	ret_tally->limit_bytes = 0;
	ret_tally->changed_bytes = ret_tally->changed_share = 0;
}

void gg_plain_tally_add_shares(struct gg_plain_tally *plain, const struct gg_share *share,
                               uint64_t size_bytes, uint64_t count)
{
	struct gg_plain_moments *of = share->is_sure ? plain->sure : plain->usual;
	double times = (double)count;

	plain->sample_count += times;
	plain->sample_point_count += times * share->sample_point_count;
	of[GG_BYTES].seen += times * (double)size_bytes;
	of[GG_ALLOCATIONS].seen += times;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		of[i].value += times * share->value[i];
		of[i].variance += times * share->variance[i];
		of[i].skew += times * share->skew[i];
		plain->unknown[i] += times * share->unknown;
		gg_plain_tally_raise(&plain->reserve_max[i], share->reserve[i]);
	}
	plain->failed_bytes += times * share->failed_bytes;
	plain->failed_variance += times * share->failed_variance;
	plain->rest_bytes += times * (double)share->rest_bytes;
	gg_plain_tally_raise(&plain->sampled_interval_max, share->sampled_interval);
	gg_plain_tally_raise(&plain->allocations_per_byte_max, share->allocations_per_byte);
	gg_plain_tally_raise(&plain->unbounded_bytes, share->unbounded_bytes);
}

void gg_plain_tally_add_share(struct gg_plain_tally *plain, const struct gg_share *share,
                              uint64_t size_bytes)
{
	gg_plain_tally_add_shares(plain, share, size_bytes, 1);
}

/* Adds the numbers of gg_share_of(), as gg_tally_add() does, so that both kinds of tally agree. */
void gg_plain_tally_add_sample(struct gg_plain_tally *plain, const struct gg_draw *draw,
                               uint64_t size_bytes)
{
	struct gg_share share = gg_share_of(draw, size_bytes);

	gg_plain_tally_add_share(plain, &share, size_bytes);
}

void gg_plain_tally_add_folded_shares(struct gg_plain_tally *plain, const struct gg_folded *folded,
                                      const struct gg_folded_share *share, uint64_t count)
{
	const double seen[] = { (double)folded->seen_bytes, (double)folded->sample_count };
	const double value[] = { folded->bytes, folded->count };
	const double variance[] = { folded->bytes_variance, folded->count_variance };
	struct gg_plain_moments *of = share->is_sure ? plain->sure : plain->usual;
	double times = (double)count;

	plain->sample_count += times * (double)folded->sample_count;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		if ((folded->unknown_errors & 1u << i) == 0) {
			of[i].seen += times * seen[i];
			of[i].value += times * value[i];
			of[i].variance += times * variance[i];
			of[i].skew += times * share->skew[i];
			plain->skew_slack[i] += times * share->skew_slack[i];
		} else { /* an estimate without an error (tally.c) */
			plain->usual[i].value += times * value[i];
			plain->unknown[i] += times;
		}
		gg_plain_tally_raise(&plain->reserve_max[i], share->reserve[i]);
	}
	gg_plain_tally_raise(&plain->sampled_interval_max, share->sampled_interval);
	gg_plain_tally_raise(&plain->allocations_per_byte_max, share->allocations_per_byte);
	gg_plain_tally_raise(&plain->unbounded_bytes, share->unbounded_bytes);
}

void gg_plain_tally_add_folded(struct gg_plain_tally *plain, const struct gg_folded *folded)
{
	struct gg_folded_share share;

	if (folded->sample_count == 0 && !gg_folded_is_bytes_alone(folded))
		return;
	share = gg_folded_share_of(folded);
	gg_plain_tally_add_folded_shares(plain, folded, &share, 1);
}
