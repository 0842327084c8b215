/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_machines - works through the example in jemalloc's PROFILING_INTERNALS.
 *
 * Stack A allocates a million blocks of 8 bytes, stack B one of 8 MiB, on each of a million
 * machines that sample every MiB.  The true sum is 8 TB for each stack. docs/MIGRATING.md has the
 * numbers.
 */
#include <math.h>

#include "base/compiler.h"
#include "dump/heap_text.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define INTERVAL 0x1p20
#define MACHINES 1e6

enum { SMALL = 8, SMALL_COUNT = 1000000, LARGE = 8 << 20 };

/* Scales a record as readers of heap_v2 do. */
static double unbias(double count, double bytes)
{
	return bytes / -expm1(-bytes / count / INTERVAL);
}

/* As if all that was sampled were one block: what comes of adding up first. */
static double unbias_sum(double bytes)
{
	return bytes / -expm1(-bytes / INTERVAL);
}

static double chance(double bytes)
{
	return -expm1(-bytes / INTERVAL);
}

TEST(what_is_added_up_before_it_is_scaled_loses_the_small_blocks)
{
	double small_samples = MACHINES * SMALL_COUNT * chance(SMALL);
	double large_samples = MACHINES * chance(LARGE);
	double small = unbias_sum(small_samples * SMALL), large = unbias_sum(large_samples * LARGE);

	CHECK_MSG(fabs(small_samples / MACHINES - 7.6294) < 1e-4, "%g", small_samples);
	CHECK_MSG(fabs(small / 61.035e6 - 1) < 1e-4, "%g", small);
	CHECK_MSG(fabs(large / 8.3858e12 - 1) < 1e-4, "%g", large);
	CHECK_MSG(fabs(MACHINES * SMALL_COUNT * SMALL / small / 131072 - 1) < 1e-4, "%g", small);
}

TEST(what_is_scaled_first_and_then_added_up_is_what_was_allocated)
{
	double small_samples = MACHINES * SMALL_COUNT * chance(SMALL);
	double large_samples = MACHINES * chance(LARGE);

	CHECK(fabs(small_samples * unbias(1, SMALL) / 8e12 - 1) < 1e-9);
	CHECK(fabs(large_samples * unbias(1, LARGE) / (MACHINES * LARGE) - 1) < 1e-9);
}

/* By stack it is right as well, as long as a stack has blocks of one size; not otherwise. */
TEST(the_mean_size_of_a_record_scales_blocks_of_one_size_alone)
{
	double small_samples = MACHINES * SMALL_COUNT * chance(SMALL);
	double large_samples = MACHINES * chance(LARGE);
	double both = unbias(small_samples + large_samples,
	                     small_samples * SMALL + large_samples * LARGE);

	CHECK(fabs(unbias(small_samples, small_samples * SMALL) / 8e12 - 1) < 1e-9);
	CHECK_MSG(fabs(both / (8e12 + MACHINES * LARGE) / 0.8463 - 1) < 1e-3, "%g",
	          both / (8e12 + MACHINES * LARGE));
}

/* The sampler itself, on some machines: 1526 samples of A are expected, so 5 sigma are 12.8 %. */
TEST(our_samples_add_up_to_the_truth_on_two_hundred_machines)
{
	enum { SOME = 200 };
	double sampled_bytes = 0, estimate = 0, large = 0;

	for (int machine = 0; machine < SOME; machine++) {
		struct gg_sampler_options options = { .sampling_interval = INTERVAL,
			                              .seed = 7,
			                              .stream = (uint64_t)machine };
		struct gg_sampler sampler = { 0 };
		struct gg_draw draw;

		gg_sampler_init(&sampler, &options);
		for (int i = 0; i < SMALL_COUNT; i++)
			if (gg_sampler_due(&sampler, SMALL) &&
			    gg_sampler_take(&sampler, SMALL, &draw)) {
				sampled_bytes += SMALL;
				estimate += gg_weight_of(&draw, SMALL).bytes;
			}
		if (gg_sampler_due(&sampler, LARGE) && gg_sampler_take(&sampler, LARGE, &draw))
			large += gg_weight_of(&draw, LARGE).bytes;
	}
	CHECK_MSG(fabs(estimate / (SOME * 8e6) - 1) < 0.128, "%g", estimate);
	CHECK_MSG(fabs(large / ((double)SOME * LARGE) - 1) < 0.01, "%g", large);
	CHECK_MSG(unbias_sum(sampled_bytes) < 0.001 * SOME * 8e6, "%g", unbias_sum(sampled_bytes));
}

/* A dump's numbers are chosen for readers that scale a record by its mean size. */
TEST(a_dump_of_ours_shows_its_readers_what_was_estimated)
{
	const struct gg_dump_amount small = { 8e6, 1e6 }, large = { LARGE, 1 };
	struct gg_dump_number number = gg_dump_number_of(&small, INTERVAL);

	/* A whole number of objects: off by at most 1 in 2 c. */
	CHECK_MSG(number.count == 8 && number.bytes == 64, "%llu",
	          (unsigned long long)number.count);
	CHECK(fabs(unbias((double)number.count, (double)number.bytes) / 8e6 - 1) < 1.0 / 16);
	number = gg_dump_number_of(&large, INTERVAL);
	CHECK_EQ_U64(number.count, 1);
	CHECK_EQ_U64(number.bytes, LARGE);
}
