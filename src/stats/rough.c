/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rough.h"

#include <assert.h>
#include <string.h>

/* The sums of a tally lie between its counts and its maxima, in one run. */
enum {
	FIRST_SUM = offsetof(struct gg_tally, usual),
	SUMS_END = offsetof(struct gg_tally, reserve_max),
	SUM_COUNT = (SUMS_END - FIRST_SUM) / sizeof(struct gg_sum),
};

static_assert(SUM_COUNT == GG_ROUGH_SUM_COUNT - 2, "all sums of a tally");
static_assert(sizeof(struct gg_tally) == SUMS_END + GG_ROUGH_MAX_COUNT * sizeof(double),
              "all maxima of a tally");

void gg_rough_of(struct gg_rough *rough, const struct gg_tally *tally)
{
	struct gg_sum sums[SUM_COUNT];

	memcpy(sums, (const char *)tally + FIRST_SUM, sizeof(sums));
	memcpy(rough->maxima, (const char *)tally + SUMS_END, sizeof(rough->maxima));
	rough->sums[0] = (double)tally->sample_count;
	rough->sums[1] = (double)tally->mark_count;
	for (size_t i = 0; i < SUM_COUNT; i++)
		rough->sums[i + 2] = gg_sum_value(&sums[i]);
}

void gg_rough_tally(const struct gg_rough *rough, struct gg_tally *ret_tally)
{
	struct gg_sum sums[SUM_COUNT] = { 0 };

	for (size_t i = 0; i < SUM_COUNT; i++)
		sums[i] = (struct gg_sum){ rough->sums[i + 2], 0 };
	memcpy((char *)ret_tally + FIRST_SUM, sums, sizeof(sums));
	memcpy((char *)ret_tally + SUMS_END, rough->maxima, sizeof(rough->maxima));
	ret_tally->sample_count = (uint64_t)rough->sums[0];
	ret_tally->mark_count = (uint64_t)rough->sums[1];
}
