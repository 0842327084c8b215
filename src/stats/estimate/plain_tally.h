/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rough - tallies whose sums are plain doubles: for trees of many that are only ever added up.
 *
 * A gg_tally keeps each sum in two doubles because it must also be able to take back what it added.
 * Where nothing is taken back, one is enough: n additions of positive numbers are right to n 2^-53 of
 * the sum, 1e-10 for a million, and take a tenth of the time.
 *
 *   struct gg_rough sum = { 0 }, more;
 *
 *   gg_rough_of(&more, &tally);
 *   gg_rough_add(&sum, &more);
 *   gg_rough_tally(&sum, &tally);
 *
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>

#include "stats/estimate/tally.h"

/* The sums of a gg_tally in their order, its two counts first; then its maxima. */
enum { GG_ROUGH_SUM_COUNT = 35, GG_ROUGH_MAX_COUNT = 6 };

struct gg_rough {
	double sums[GG_ROUGH_SUM_COUNT];
	double maxima[GG_ROUGH_MAX_COUNT];
};

void gg_rough_of(struct gg_rough *rough, const struct gg_tally *tally);
void gg_rough_tally(const struct gg_rough *rough, struct gg_tally *ret_tally);

/* As gg_tally_add(). */
void gg_rough_add_sample(struct gg_rough *rough, const struct gg_draw *draw, uint64_t size_bytes);

static inline void gg_rough_add(struct gg_rough *sum, const struct gg_rough *more)
{
	for (size_t i = 0; i < GG_ROUGH_SUM_COUNT; i++)
		sum->sums[i] += more->sums[i];
	for (size_t i = 0; i < GG_ROUGH_MAX_COUNT; i++)
		sum->maxima[i] = sum->maxima[i] > more->maxima[i] ? sum->maxima[i]
		                                                  : more->maxima[i];
}
