/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_v8_samples - shows that the samples of a .heapprofile give their interval, sizes and
 * error back.  V8 is simulated: its sampling, and both of its roundings.
 */
#include "format/import/v8_samples.h"

#include <errno.h>
#include <math.h>

#include "stat.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/rng.h"
#include "test.h"

#define INTERVAL 65536.0

static uint64_t rounded(double count, double bytes, double interval)
{
	return (uint64_t)floor(count / -expm1(-bytes / interval) + 0.5);
}

/* Samples `count` objects of one size at a node; returns what the node's selfSize gets of them. */
static double allocate(struct gg_v8_samples *samples, struct gg_rng *rng, uint64_t node,
                       uint64_t bytes, int count, double interval)
{
	double p = -expm1(-(double)bytes / interval);
	int sampled = 0;

	for (int i = 0; i < count; i++)
		if (gg_rng_uniform(rng) < p) {
			uint64_t size = bytes * rounded(1, (double)bytes, interval);

			REQUIRE(gg_v8_samples_add(samples, node, size));
			sampled++;
		}
	return (double)(bytes * rounded(sampled, (double)bytes, interval));
}

TEST(the_interval_follows_from_the_sizes)
{
	for (double interval = 1024; interval <= 8 << 20; interval *= 2) {
		struct gg_v8_samples samples = { 0 };
		struct gg_rng rng;

		gg_rng_seed(&rng, 1, 1);
		allocate(&samples, &rng, 7, 24, (int)interval, interval);
		allocate(&samples, &rng, 8, 88, (int)interval / 4, interval);
		allocate(&samples, &rng, 8, (uint64_t)interval * 2, 20, interval);
		CHECK_EQ_I64(gg_v8_samples_decode(&samples, 0), 0);
		CHECK_EQ_DOUBLE(samples.interval_bytes, interval);
		gg_v8_samples_done(&samples);
	}
}

TEST(another_interval_must_be_given)
{
	struct gg_v8_samples samples = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 2, 1);
	allocate(&samples, &rng, 7, 24, 100000, 100000);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, 0), -ENODATA);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, 100000), 0);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, 131072), -ENODATA);
	gg_v8_samples_done(&samples);
}

TEST(an_interval_is_refused_if_the_sizes_show_another_one)
{
	struct gg_v8_samples samples = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 3, 1);
	allocate(&samples, &rng, 7, 24, 100000, INTERVAL);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, 4096), -ENODATA);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, INTERVAL), 0);
	gg_v8_samples_done(&samples);
}

/* A file that another program has scaled: its sizes may be anything. */
/* Adds a sample of each of the `count` smallest objects. */
static void allocate_all_sizes(struct gg_v8_samples *samples, uint64_t count, double interval)
{
	for (uint64_t bytes = 4; bytes <= 4 * count; bytes += 4)
		REQUIRE(gg_v8_samples_add(samples, 1, bytes * rounded(1, (double)bytes, interval)));
}

TEST(each_size_of_an_object_is_among_those_of_its_samples)
{
	struct gg_v8_samples samples = { 0 };

	allocate_all_sizes(&samples, 20000, INTERVAL);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, INTERVAL), 0);
	for (uint64_t bytes = 4; bytes <= 80000; bytes += 4) {
		uint64_t factor = rounded(1, (double)bytes, INTERVAL);

		for (size_t i = 0; i < samples.sizes.count; i++)
			if (samples.sizes.items[i].size == bytes * factor) {
				CHECK(samples.sizes.items[i].smallest_bytes <= bytes);
				CHECK(samples.sizes.items[i].smallest_bytes == bytes ||
				      !samples.sizes.items[i].is_unique);
			}
	}
	gg_v8_samples_done(&samples);
}

TEST(sizes_that_would_take_minutes_to_decode_are_not_decoded)
{
	struct gg_v8_samples samples = { 0 };

	/* The first 32768 of them take some 32768 divisions each. */
	allocate_all_sizes(&samples, 40000, 1 << 30);
	CHECK_EQ_I64(gg_v8_samples_decode(&samples, 1 << 30), -ENODATA);
	gg_v8_samples_done(&samples);
}

TEST(sizes_of_other_origin_show_no_interval)
{
	int taken = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct gg_v8_samples samples = { 0 };
		struct gg_rng rng;

		gg_rng_seed(&rng, seed, 1);
		for (uint64_t i = 0; i < 8 + seed % 20; i++)
			REQUIRE(gg_v8_samples_add(&samples, i, 1 + gg_rng_below(&rng, 1 << 20)));
		taken += gg_v8_samples_decode(&samples, 0) == 0;
		gg_v8_samples_done(&samples);
	}
	CHECK_EQ_I64(taken, 0);
}

TEST(a_size_of_one_origin_gives_the_number_of_objects)
{
	const double p = -expm1(-28 / INTERVAL);
	struct gg_v8_samples samples = { 0 };
	struct gg_row_sums row;

	for (int i = 0; i < 10; i++)
		REQUIRE(gg_v8_samples_add(&samples, 5, 65548)); /* only 28 x 2341 */
	for (int i = 0; i < 3; i++)
		REQUIRE(gg_v8_samples_add(&samples, 6, 65568)); /* of 32, 48, 96 or 2732 */
	REQUIRE(gg_v8_samples_add(&samples, 7, 150000));        /* 1/p = 1.11 is rounded to 1 */
	REQUIRE(gg_v8_samples_decode(&samples, INTERVAL) == 0);
	row = gg_v8_samples_weigh(&samples, 5, (double)(28 * rounded(10, 28, INTERVAL)));
	CHECK_MSG(fabs(row.count / (10 / p) - 1) < 1e-9, "%g", row.count);
	CHECK_MSG(fabs(row.bytes / (280 / p) - 1) < 1e-9, "%g", row.bytes);
	CHECK(row.samples == 10 && row.unknown_errors == 0);
	CHECK_EQ_DOUBLE(row.size, 280);
	row = gg_v8_samples_weigh(&samples, 6, 196704);
	CHECK(row.bytes == 196704 && row.samples == 3 && row.count == 0);
	CHECK(row.unknown_errors == 1u << GG_ALLOCATIONS && row.bytes_variance > 0);
	row = gg_v8_samples_weigh(&samples, 7, 150000);
	CHECK(fabs(row.bytes / (150000 / -expm1(-150000 / INTERVAL)) - 1) < 1e-9);
	row = gg_v8_samples_weigh(&samples, 99, 4096); /* it has no sample in the list */
	CHECK(row.bytes == 4096 && row.unknown_errors != 0 && row.count == 0);
	gg_v8_samples_done(&samples);
}

/*
 * The estimates of 2000 runs are unbiased, and their variances are those of the estimates.  The
 * mean may be off by 3.5 standard errors, and by half of the largest object that only the tree
 * counts.
 */
TEST(estimates_are_unbiased_and_their_errors_are_true)
{
	enum { RUNS = 2000 };
	static const struct {
		uint64_t bytes[2];
		int counts[2];
	} nodes[] = {
		{ { 72, 0 }, { 20000, 0 } },      { { 32, 48 }, { 20000, 10000 } },
		{ { 4064, 24 }, { 500, 30000 } }, { { 40000, 100000 }, { 40, 30 } },
		{ { 90000, 524288 }, { 50, 5 } },
	};

	for (size_t n = 0; n < GG_COUNT(nodes); n++) {
		double truth = 0, most = 0, ratio, variance = 0;
		struct stat_moments estimates = { 0 };
		struct gg_rng rng;

		gg_rng_seed(&rng, n + 1, 1);
		for (int i = 0; i < 2; i++)
			truth += (double)nodes[n].bytes[i] * nodes[n].counts[i];
		for (int run = 0; run < RUNS; run++) {
			struct gg_v8_samples samples = { 0 };
			struct gg_row_sums row;
			double self = 0;

			for (int i = 0; i < 2 && nodes[n].counts[i] > 0; i++) {
				self += allocate(&samples, &rng, 1, nodes[n].bytes[i],
				                 nodes[n].counts[i], INTERVAL);
				most = fmax(most, fmin((double)nodes[n].bytes[i], 4064));
			}
			REQUIRE(gg_v8_samples_decode(&samples, INTERVAL) == 0);
			row = gg_v8_samples_weigh(&samples, 1, self);
			stat_add(&estimates, row.bytes);
			variance += row.bytes_variance / RUNS;
			gg_v8_samples_done(&samples);
		}
		CHECK_MSG(fabs(estimates.mean - truth) <=
		                  3.5 * stat_error_of_mean(&estimates) + most / 2,
		          "%zu: mean %g, truth %g, error %g", n, estimates.mean, truth,
		          stat_error_of_mean(&estimates));
		/* The variance of a variance of RUNS values is near 2/RUNS of its square. */
		ratio = stat_variance(&estimates) / variance;
		CHECK_MSG(ratio < 1 + 5 * sqrt(2.0 / RUNS),
		          "%zu: variance is %g of the estimated one", n, ratio);
		CHECK_MSG(ratio > 0.8, "%zu: variance is %g of the estimated one", n, ratio);
	}
}
