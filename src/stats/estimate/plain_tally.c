/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/estimate/plain_tally.h"

#include <assert.h>
#include <string.h>

/* The sums of a tally lie between its counts and its maxima, in one run. */
enum {
	FIRST_SUM = offsetof(struct gg_tally, usual),
	SUMS_END = offsetof(struct gg_tally, reserve_max),
	SUM_COUNT = (SUMS_END - FIRST_SUM) / sizeof(struct gg_sum),
};

static_assert(SUM_COUNT == GG_PLAIN_TALLY_SUM_COUNT - 2, "all sums of a tally");
static_assert(sizeof(struct gg_tally) == SUMS_END + GG_PLAIN_TALLY_MAX_COUNT * sizeof(double),
              "all maxima of a tally");

void gg_plain_tally_of(struct gg_plain_tally *rough, const struct gg_tally *tally)
{
	struct gg_sum sums[SUM_COUNT];

	memcpy(sums, (const char *)tally + FIRST_SUM, sizeof(sums));
	memcpy(rough->maxima, (const char *)tally + SUMS_END, sizeof(rough->maxima));
	rough->sums[0] = (double)tally->sample_count;
	rough->sums[1] = (double)tally->sample_point_count;
	for (size_t i = 0; i < SUM_COUNT; i++)
		rough->sums[i + 2] = gg_sum_value(&sums[i]);
}

/* Places of sums, two of which are the counts; those of `sure` are behind those of `usual`. */
enum {
	AT_USUAL = 2,
	PER_QUANTITY = sizeof(struct gg_moments) / sizeof(struct gg_sum),
	AT_SURE = AT_USUAL + GG_QUANTITY_COUNT * PER_QUANTITY,
	AT_MARK_BYTES = AT_SURE + GG_QUANTITY_COUNT * PER_QUANTITY,
};

static void raise_to(double *most, double value)
{
	if (value > *most)
		*most = value;
}

void gg_plain_tally_add_sample(struct gg_plain_tally *rough, const struct gg_draw *draw,
                               uint64_t size_bytes)
{
	struct gg_share share = gg_share_of(draw, size_bytes);
	double *of = rough->sums + (share.is_sure ? AT_SURE : AT_USUAL), *rest;
	double interval = draw->interval, marks = draw->sample_point_count;

	rough->sums[0] += 1;
	rough->sums[1] += marks;
	of[0] += (double)size_bytes;
	of[PER_QUANTITY] += 1;
	for (int i = 0; i < GG_QUANTITY_COUNT; i++, of += PER_QUANTITY) {
		of[1] += share.value[i];
		of[2] += share.variance[i];
		of[3] += share.skew[i];
	}
	rest = rough->sums + AT_MARK_BYTES; /* in the order of struct gg_tally */
	rest[0] += marks * interval;
	rest[1] += marks * interval * interval;
	rest[2] += interval - 1;
	rest[3] += interval * (interval - 1);
	rest[4] += size_bytes > draw->offset_bytes ? (double)(size_bytes - draw->offset_bytes) : 0;
	raise_to(&rough->maxima[0], share.reserve[GG_BYTES]);
	raise_to(&rough->maxima[1], share.reserve[GG_ALLOCATIONS]);
	raise_to(&rough->maxima[2], share.sampled_interval);
	raise_to(&rough->maxima[3], share.allocations_per_byte);
	raise_to(&rough->maxima[5], share.unbounded_bytes); /* 4: no sample makes it incomplete */
}

void gg_plain_tally_tally(const struct gg_plain_tally *rough, struct gg_tally *ret_tally)
{
	struct gg_sum sums[SUM_COUNT] = { 0 };

	for (size_t i = 0; i < SUM_COUNT; i++)
		sums[i] = (struct gg_sum){ rough->sums[i + 2], 0 };
	memcpy((char *)ret_tally + FIRST_SUM, sums, sizeof(sums));
	memcpy((char *)ret_tally + SUMS_END, rough->maxima, sizeof(rough->maxima));
	ret_tally->sample_count = (uint64_t)rough->sums[0];
	ret_tally->sample_point_count = (uint64_t)rough->sums[1];
}
