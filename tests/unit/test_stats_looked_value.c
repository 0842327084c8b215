/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_looked_value - shows that sums of looked-up values are unbiased, and measures how
 * often their intervals hold the truth.
 *
 * Each run has a group of blocks, whose values follow a law, among others of the same law whose
 * largest value bounds those of the group, as in a look.
 */
#include <math.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/looked_value.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/weight.h"
#include "test.h"

enum { RUNS = 500, SEEDS = 200, OTHERS = 1000, SEED = 5 };

static const double interval_bytes = 65536;

/* The values of blocks: bytes below a page of 4096. */
static double equal_value(struct gg_rng *rng)
{
	(void)rng;
	return 1000;
}

static double uniform_value(struct gg_rng *rng)
{
	return 4000 * gg_rng_uniform(rng);
}

/* Pareto with an exponent of 0.7, cut at a page. */
static double heavy_value(struct gg_rng *rng)
{
	return fmin(4096, 8 * pow(1 - gg_rng_uniform(rng), -1 / 0.7));
}

static double mostly_zero_value(struct gg_rng *rng)
{
	return gg_rng_uniform(rng) < 0.9 ? 0 : 4000;
}

static double rarely_large_value(struct gg_rng *rng)
{
	return gg_rng_uniform(rng) < 0.98 ? 16 : 4080;
}

typedef double value_law(struct gg_rng *rng);

struct law {
	const char *name;
	value_law *value;
};

static const struct law laws[] = {
	{ "equal", equal_value },
	{ "uniform", uniform_value },
	{ "heavy tail", heavy_value },
	{ "0 for 90 %", mostly_zero_value },
	{ "large for 2 %", rarely_large_value },
};

struct group {
	value_law *value;
	double expected_count; /* of samples that the look chooses */
	double chance;
	uint64_t size_bytes;
};

/* Draws the blocks of a group.  Returns the true sum. */
static double draw_group(const struct group *group, struct gg_rng *rng, struct gg_tally *ret_tally)
{
	const struct gg_draw draw = { .sampling_interval = interval_bytes,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };
	double probability = gg_weight_of(&draw, group->size_bytes).probability * group->chance;
	size_t block_count = (size_t)llround(group->expected_count / probability);
	struct gg_looked_value looked = { .chance = group->chance };
	struct gg_plain_tally plain = { 0 };
	double truth = 0;

	for (size_t i = 0; i < OTHERS; i++)
		looked.value_max = fmax(looked.value_max, group->value(rng));
	for (size_t i = 0; i < block_count; i++) {
		looked.value = group->value(rng);
		truth += looked.value;
		if (gg_rng_uniform(rng) < probability)
			gg_plain_tally_add_value(&plain, &draw, group->size_bytes, &looked);
	}
	gg_plain_tally_tally(&plain, ret_tally);
	return truth;
}

struct coverage {
	uint64_t shown, held, below; /* below: the truth is below the interval */
	double width, truth;
};

static struct coverage measure(const struct group *group, uint64_t least_count, bool discovered)
{
	struct coverage coverage = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, SEED, 0);
	for (int run = 0; run < RUNS; run++) {
		struct gg_interval interval;
		struct gg_tally tally;
		double truth = draw_group(group, &rng, &tally);

		if (tally.sample_count < least_count)
			continue;
		interval = gg_interval_of(&tally, GG_BYTES, 0.95, discovered);
		coverage.shown++;
		coverage.held += interval.low <= truth && truth <= interval.high;
		coverage.below += truth < interval.low;
		coverage.width += interval.high - interval.low;
		coverage.truth += truth;
	}
	return coverage;
}

/* 94 %, less 3 standard deviations of a measurement at 94 %. */
static double bar(uint64_t shown)
{
	return 0.94 - 3 * sqrt(0.94 * 0.06 / (double)shown);
}

static void check_coverage(const struct law *law, double expected_count, double chance)
{
	const struct group group = { law->value, expected_count, chance, 256 };
	struct coverage rows = measure(&group, 1, true);
	struct coverage named = measure(&group, 0, false);

	printf("| %-13s | %4g | %4g | %5.1f | %5.1f | %4.1f |\n", law->name, expected_count, chance,
	       100 * (double)rows.held / (double)rows.shown,
	       100 * (double)named.held / (double)named.shown, rows.width / rows.truth);
	CHECK_MSG((double)rows.held >= bar(rows.shown) * (double)rows.shown,
	          "%s, %g samples, chance %g: rows %.1f %%", law->name, expected_count, chance,
	          100 * (double)rows.held / (double)rows.shown);
	CHECK_MSG((double)named.held >= bar(named.shown) * (double)named.shown,
	          "%s, %g samples, chance %g: named %.1f %%", law->name, expected_count, chance,
	          100 * (double)named.held / (double)named.shown);
}

TEST(intervals_hold_the_truth_from_5_samples_on)
{
	static const double counts[] = { 5, 10, 30, 100 };

	for (size_t i = 0; i < GG_COUNT(laws); i++)
		for (size_t k = 0; k < GG_COUNT(counts); k++)
			for (int c = 0; c < 2; c++)
				check_coverage(&laws[i], counts[k], c == 0 ? 1 : 0.25);
}

TEST(estimates_are_unbiased_over_200_seeds)
{
	for (size_t i = 0; i < GG_COUNT(laws); i++) {
		const struct group group = { laws[i].value, 40, 0.3, 1024 };
		double error = 0, squares = 0, variance = 0;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct gg_estimate estimate;
			struct gg_tally tally;
			struct gg_rng rng;
			double truth;

			gg_rng_seed(&rng, seed, 1);
			truth = draw_group(&group, &rng, &tally);
			estimate = gg_tally_estimate(&tally, GG_BYTES);
			error += estimate.value - truth;
			squares += (estimate.value - truth) * (estimate.value - truth);
			variance += estimate.variance;
		}
		/* 3 standard errors; and the estimated variance is the measured one. */
		CHECK_MSG(fabs(error) <= 3 * sqrt(squares), "%s: bias %g of %g", laws[i].name,
		          error, sqrt(squares));
		CHECK_MSG(variance > 0.5 * squares && variance < 2 * squares,
		          "%s: variance %g, measured %g", laws[i].name, variance, squares);
	}
}

TEST(blocks_that_are_all_seen_are_exact)
{
	const struct gg_draw draw = { 1, 0, 1, GG_SCHEME_POISSON };
	const struct gg_looked_value looked = { 1, 100.5, 4096 };
	struct gg_tally tally = { 0 };
	struct gg_interval interval;

	gg_tally_add_value(&tally, &draw, 64, &looked);
	gg_tally_add_value(&tally, &draw, 64, &looked);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, true);
	CHECK_EQ_U64(interval.method, GG_METHOD_EXACT);
	CHECK_EQ_DOUBLE(interval.low, 201);
	CHECK_EQ_DOUBLE(interval.high, 201);
}

TEST(a_choice_of_some_of_all_blocks_is_not_exact)
{
	const struct gg_draw draw = { 1, 0, 1, GG_SCHEME_POISSON };
	const struct gg_looked_value looked = { 0.5, 100, 4096 };
	struct gg_tally tally = { 0 };
	struct gg_interval interval;

	gg_tally_add_value(&tally, &draw, 64, &looked);
	CHECK_EQ_DOUBLE(gg_tally_estimate(&tally, GG_BYTES).value, 200);
	CHECK_EQ_DOUBLE(gg_tally_estimate(&tally, GG_ALLOCATIONS).value, 2);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, true);
	CHECK_EQ_DOUBLE(interval.low, 100);
	CHECK(interval.high > 8192);
}

TEST(samples_that_keep_nothing_do_not_prove_that_the_others_keep_nothing)
{
	const struct gg_draw draw = { 4096, 0, 1, GG_SCHEME_POISSON };
	const struct gg_looked_value looked = { 1, 0, 4000 };
	struct gg_tally tally = { 0 };
	struct gg_interval interval;

	for (int i = 0; i < 5; i++)
		gg_tally_add_value(&tally, &draw, 64, &looked);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, true);
	CHECK_EQ_DOUBLE(interval.low, 0);
	CHECK(interval.high > 4000);
}

TEST(a_group_without_samples_has_no_bound)
{
	const struct gg_tally tally = { 0 };

	CHECK(isinf(gg_interval_of(&tally, GG_BYTES, 0.95, false).high));
}

TEST(an_unknown_chance_gives_no_interval)
{
	const struct gg_draw draw = { 4096, 0, 1, GG_SCHEME_POISSON };
	const struct gg_looked_value looked = { 0, 10, 4000 };
	struct gg_tally tally = { 0 };

	gg_tally_add_value(&tally, &draw, 64, &looked);
	CHECK_EQ_U64(gg_interval_of(&tally, GG_BYTES, 0.95, true).method, GG_METHOD_UNKNOWN);
}
