/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_tally - tallies whose sums are plain doubles: for trees of many that are only ever added up.
 *
 * A gg_tally keeps each sum in two doubles because it must also be able to take back what it added.
 * Where nothing is taken back, one is enough: n additions of positive numbers are right to n 2^-53 of
 * the sum, 1e-10 for a million, and take a tenth of the time.
 *
 *   struct gg_plain_tally sum = { 0 }, more;
 *
 *   gg_plain_tally_of(&more, &tally);
 *   gg_plain_tally_add(&sum, &more);
 *   gg_plain_tally_tally(&sum, &tally);
 *
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>

#include "stats/estimate/tally.h"

/* The sums of a gg_tally in their order, its two counts first; then its maxima. */
enum { GG_PLAIN_TALLY_SUM_COUNT = 35, GG_PLAIN_TALLY_MAX_COUNT = 6 };

struct gg_plain_tally {
	double sums[GG_PLAIN_TALLY_SUM_COUNT];
	double maxima[GG_PLAIN_TALLY_MAX_COUNT];
};

void gg_plain_tally_of(struct gg_plain_tally *rough, const struct gg_tally *tally);
void gg_plain_tally_tally(const struct gg_plain_tally *rough, struct gg_tally *ret_tally);

/* As gg_tally_add(). */
void gg_plain_tally_add_sample(struct gg_plain_tally *rough, const struct gg_draw *draw,
                               uint64_t size_bytes);

static inline void gg_plain_tally_add(struct gg_plain_tally *sum, const struct gg_plain_tally *more)
{
	for (size_t i = 0; i < GG_PLAIN_TALLY_SUM_COUNT; i++)
		sum->sums[i] += more->sums[i];
	for (size_t i = 0; i < GG_PLAIN_TALLY_MAX_COUNT; i++)
		sum->maxima[i] = sum->maxima[i] > more->maxima[i] ? sum->maxima[i]
		                                                  : more->maxima[i];
}
