/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_compare_law - compares gg_difference_of() with the law that it approximates.
 *
 * gg_difference_of() solves its law in an indirect way; reference/difference.h has the law itself.
 * Groups are of every kind: few and many samples, large and small ones, mixed schemes and
 * intervals, one side empty, both sides scaled.
 */
#include <math.h>

#include "base/compiler.h"
#include "reference/difference.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

enum { PAIRS = 1500 };

/* A group of a random kind. */
static struct gg_tally draw_group(struct gg_rng *rng)
{
	static const double intervals[] = { 1, 0x1p12, 0x1p17, 0x1p19 };
	static const uint64_t largest[] = { 64, 1 << 16, 1 << 20, 1 << 23 };
	static const uint64_t most[] = { 1, 4, 12, 60, 400 };
	uint64_t samples = gg_rng_below(rng, most[gg_rng_below(rng, GG_COUNT(most))] + 1);
	uint64_t size_limit = largest[gg_rng_below(rng, GG_COUNT(largest))];
	double interval = intervals[gg_rng_below(rng, GG_COUNT(intervals))];
	struct gg_draw draw = { .sampling_interval = interval, .sample_point_count = 1 };
	struct gg_tally tally = { 0 };

	if (gg_rng_below(rng, 20) >
	    0) /* now and then it is unknown what the group was exposed to */
		gg_tally_expose(&tally, interval);
	if (gg_rng_below(rng, 8) == 0)
		gg_tally_expose(&tally, 8 * interval);
	for (uint64_t i = 0; i < samples; i++) {
		if (gg_rng_below(rng, 50) == 0)
			draw.sampling_interval = intervals[gg_rng_below(rng, GG_COUNT(intervals))];
		draw.scheme = gg_rng_below(rng, 10) == 0 ? GG_SCHEME_BERNOULLI : GG_SCHEME_POISSON;
		gg_tally_add(&tally, &draw, 1 + gg_rng_below(rng, size_limit));
	}
	return tally;
}

/* Adds samples of which sums alone are known. */
static void add_folded(struct gg_tally *tally, struct gg_rng *rng)
{
	struct gg_tally parts = draw_group(rng);
	struct gg_estimate bytes = gg_tally_estimate(&parts, GG_BYTES);
	struct gg_estimate count = gg_tally_estimate(&parts, GG_ALLOCATIONS);

	gg_tally_add_folded(tally, &(const struct gg_folded){
					   .sample_count = parts.sample_count,
					   .seen_bytes = (uint64_t)gg_tally_seen(&parts, GG_BYTES),
					   .bytes = bytes.value,
					   .bytes_variance = bytes.variance,
					   .count = count.value,
					   .count_variance = count.variance,
					   .sampling_interval = 0x1p19,
					   .most_bytes = UINT64_MAX });
}

/* Is it the same number but for 1e-6 of `scale`? */
static bool agrees(double value, double expected, double scale)
{
	return value == expected || fabs(value - expected) <= 1e-6 * scale;
}

static void check_pair(const struct gg_tally *before, const struct gg_tally *after,
                       enum gg_quantity quantity, double scale, int pair)
{
	struct gg_difference r = reference_difference(before, after, quantity, scale, 0.95);
	struct gg_difference d = gg_difference_of(before, after, quantity, scale, 0.95);
	/* The reference takes a confidence, whose distance from 1 has 16 digits less those of p. */
	double digits = 1e-6 + 1e-15 / r.p_value;

	CHECK_MSG(agrees(d.value, r.value, fabs(r.value)), "%d: %.17g, %.17g", pair, d.value,
	          r.value);
	CHECK_MSG(agrees(d.low, r.low, fabs(r.low - r.value)), "%d: low %g, %g", pair, d.low,
	          r.low);
	CHECK_MSG(agrees(d.high, r.high, fabs(r.high - r.value)), "%d: high %g, %g", pair, d.high,
	          r.high);
	if (r.p_value < 1e-10)
		CHECK_MSG(d.p_value < 1.1e-10, "%d: p %g, %g", pair, d.p_value, r.p_value);
	else
		CHECK_MSG(fabs(d.p_value / r.p_value - 1) < digits, "%d: p %.9g, %.9g (%g)", pair,
		          d.p_value, r.p_value, d.value);
}

TEST(differences_are_those_of_the_law)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 11, 0);
	for (int pair = 0; pair < PAIRS; pair++) {
		struct gg_tally before = draw_group(&rng), after = draw_group(&rng);
		double scale = gg_rng_below(&rng, 3) == 0 ? 0.1 + 3 * gg_rng_uniform(&rng) : 1;
		enum gg_quantity quantity = gg_rng_below(&rng, 3) == 0 ? GG_ALLOCATIONS : GG_BYTES;

		check_pair(&before, &after, quantity, scale, pair);
	}
}

/* Pairs as most of a report's are: of the same kind, hardly different. */
TEST(differences_of_groups_that_are_alike_are_those_of_the_law)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 12, 0);
	for (int pair = 0; pair < PAIRS; pair++) {
		struct gg_tally before = draw_group(&rng), after = before;
		struct gg_draw draw = { .sampling_interval = 0x1p19, .sample_point_count = 1 };
		uint64_t more = gg_rng_below(&rng, 8);

		for (uint64_t i = 0; i < more; i++)
			gg_tally_add(&after, &draw, 1 + gg_rng_below(&rng, 1 << 21));
		check_pair(&before, &after, GG_BYTES, 1, pair);
		check_pair(&after, &before, GG_ALLOCATIONS, 1, pair);
	}
}

TEST(differences_of_folded_samples_are_those_of_the_law)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 13, 0);
	for (int pair = 0; pair < PAIRS / 10; pair++) {
		struct gg_tally before = draw_group(&rng), after = draw_group(&rng);

		add_folded(&before, &rng);
		if (gg_rng_below(&rng, 2) == 0)
			add_folded(&after, &rng);
		check_pair(&before, &after, GG_BYTES, 1, pair);
	}
}
