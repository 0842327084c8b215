/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_tally - adds up tallies in plain doubles, for trees of many tallies that are only added.
 *
 * A gg_tally keeps each sum in two doubles, because it must be able to subtract what it added.
 * Without subtraction one double is enough: n additions of positive numbers are right to n 2^-53 of
 * the sum, which is 1e-10 for a million, and take a tenth of the time.
 *
 *   struct gg_plain_tally sum = { 0 }, more;
 *
 *   gg_plain_tally_of(&more, &tally);
 *   gg_plain_tally_add(&sum, &more);
 *   gg_plain_tally_tally(&sum, &tally);
 *
 * Threads  Any thread; the functions are pure.
 */
#pragma once

#include "stats/estimate/tally.h"

/* The fields of struct gg_moments as plain doubles. */
struct gg_plain_moments {
	double seen, value, variance, skew;
};

/* The fields of struct gg_tally, under the same names. */
struct gg_plain_tally {
	double sample_count, sample_point_count;
	struct gg_plain_moments usual[GG_QUANTITY_COUNT], sure[GG_QUANTITY_COUNT];
	double failed_bytes, failed_variance;
	double rest_bytes;
	double skew_slack[GG_QUANTITY_COUNT];
	double unknown[GG_QUANTITY_COUNT];
	struct gg_plain_moments uncertain[GG_QUANTITY_COUNT];
	double reserve_max[GG_QUANTITY_COUNT];
	double sampled_interval_max;
	double allocations_per_byte_max;
	double incomplete;
	double unbounded_bytes;
};

void gg_plain_tally_of(struct gg_plain_tally *plain, const struct gg_tally *tally);
void gg_plain_tally_tally(const struct gg_plain_tally *plain, struct gg_tally *ret_tally);

/* Adds one sample, as gg_tally_add() does. */
void gg_plain_tally_add_sample(struct gg_plain_tally *plain, const struct gg_draw *draw,
                               uint64_t size_bytes);

/* Adds one sample of which the caller knows what gg_share_of() gives. */
void gg_plain_tally_add_share(struct gg_plain_tally *plain, const struct gg_share *share,
                              uint64_t size_bytes);
/* Adds as many samples of that share and size. */
void gg_plain_tally_add_shares(struct gg_plain_tally *plain, const struct gg_share *share,
                               uint64_t size_bytes, uint64_t count);

/* Adds folded samples, as gg_tally_add_folded() does. */
void gg_plain_tally_add_folded(struct gg_plain_tally *plain, const struct gg_folded *folded);

/* Adds folded samples of which the caller knows gg_folded_share_of(), as often as that. */
void gg_plain_tally_add_folded_shares(struct gg_plain_tally *plain, const struct gg_folded *folded,
                                      const struct gg_folded_share *share, uint64_t count);

static inline void gg_plain_moments_add(struct gg_plain_moments *sum,
                                        const struct gg_plain_moments *more)
{
	sum->seen += more->seen;
	sum->value += more->value;
	sum->variance += more->variance;
	sum->skew += more->skew;
}

/* Raises a maximum to a value. */
static inline void gg_plain_tally_raise(double *maximum, double value)
{
	*maximum = *maximum > value ? *maximum : value;
}

static inline void gg_plain_tally_add(struct gg_plain_tally *sum, const struct gg_plain_tally *more)
{
	sum->sample_count += more->sample_count;
	sum->sample_point_count += more->sample_point_count;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		gg_plain_moments_add(&sum->usual[i], &more->usual[i]);
		gg_plain_moments_add(&sum->sure[i], &more->sure[i]);
		gg_plain_moments_add(&sum->uncertain[i], &more->uncertain[i]);
		sum->skew_slack[i] += more->skew_slack[i];
		sum->unknown[i] += more->unknown[i];
		gg_plain_tally_raise(&sum->reserve_max[i], more->reserve_max[i]);
	}
	sum->failed_bytes += more->failed_bytes;
	sum->failed_variance += more->failed_variance;
	sum->rest_bytes += more->rest_bytes;
	gg_plain_tally_raise(&sum->sampled_interval_max, more->sampled_interval_max);
	gg_plain_tally_raise(&sum->allocations_per_byte_max, more->allocations_per_byte_max);
	gg_plain_tally_raise(&sum->incomplete, more->incomplete);
	gg_plain_tally_raise(&sum->unbounded_bytes, more->unbounded_bytes);
}
