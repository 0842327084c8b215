/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats_theory - compares figures of heapprofd's document with direct sums and simulation. */
#include "stats/estimate/theory.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/estimate/special.h"
#include "stats/lab/simulate.h"
#include "stats/sampling/rng.h"
#include "test.h"

static const double kib = 1024, mib = 1048576;

static bool near(double value, double expected, double relative)
{
	return fabs(value - expected) <= relative * fabs(expected);
}

static double coverage(double size_bytes, double interval)
{
	return gg_theory_error(size_bytes, 1, interval, GG_CUTOFF_NONE).coverage;
}

/* "we still have a 95% chance of sampling anything above 1.5MiB" at 512 KiB: 1 - e^-3. */
TEST(at_512_KiB_one_and_a_half_MiB_are_seen_with_95_percent)
{
	CHECK(near(coverage(1.5 * mib, 512 * kib), 0.95021293163213606, 1e-14));
	CHECK(near(coverage(1.4978661367769954 * mib, 512 * kib), 0.95, 1e-14));
}

/*
 * "If we 64X it to 2048KiB we still have an 80% chance to sample anything above 3.5MiB": it is
 * 1 - e^-1.75 = 82.6 % there, and 80 % from 3.22 MiB on.
 */
TEST(at_2048_KiB_three_and_a_half_MiB_are_seen_with_82_6_percent)
{
	CHECK(near(coverage(3.5 * mib, 2048 * kib), 0.82622605654955483, 1e-14));
	CHECK(near(coverage(3.2188758248682006 * mib, 2048 * kib), 0.8, 1e-14));
}

/* "sample an allocation equal in size to our sampling rate ~63% of the time": 1 - 1/e. */
TEST(an_allocation_of_one_interval_is_seen_with_63_percent)
{
	CHECK(near(coverage(512 * kib, 512 * kib), 0.63212055882855768, 1e-14));
}

TEST(the_cutoffs_are_R_ln_100_and_R)
{
	CHECK(isinf(gg_theory_cutoff_bytes(1000, GG_CUTOFF_NONE)));
	CHECK(near(gg_theory_cutoff_bytes(1000, GG_CUTOFF_99), 4605.1701859880914, 1e-15));
	CHECK(near(coverage(gg_theory_cutoff_bytes(1000, GG_CUTOFF_99), 1000), 0.99, 1e-14));
	CHECK_EQ_DOUBLE(gg_theory_cutoff_bytes(1000, GG_CUTOFF_INTERVAL), 1000);
}

/*
 * With an interval of 10 KB, the program makes one allocation of 10 KB or two of 5 KB.  With the
 * old cutoff at R, the single one is certain, and the two are seen with 63 %.  With the 99 % cutoff
 * the split makes no difference.
 */
TEST(splitting_an_allocation_matters_only_with_the_old_cutoff)
{
	const double R = 10000;
	struct gg_theory_error one = gg_theory_error(10000, 1, R, GG_CUTOFF_INTERVAL);
	struct gg_theory_error two = gg_theory_error(5000, 2, R, GG_CUTOFF_INTERVAL);

	CHECK_EQ_DOUBLE(one.coverage, 1);
	CHECK_EQ_DOUBLE(one.expected, 0);
	CHECK_EQ_DOUBLE(one.conditional, 0);
	CHECK_EQ_DOUBLE(one.deviation, 0);
	CHECK(near(two.coverage, 0.63212055882855768, 1e-14));
	CHECK(two.expected > 0.7 && two.deviation == 1);
	one = gg_theory_error(10000, 1, R, GG_CUTOFF_99);
	two = gg_theory_error(5000, 2, R, GG_CUTOFF_99);
	CHECK_EQ_DOUBLE(one.coverage, two.coverage);
	CHECK_EQ_DOUBLE(one.expected, two.expected);
	CHECK_EQ_DOUBLE(one.conditional, two.conditional);
	CHECK_EQ_DOUBLE(one.deviation, two.deviation);
	CHECK(near(one.expected, 2 / M_E, 1e-14));
}

/* The old cutoff jumps from 63 % to certainty, the new one from 99 %. */
TEST(coverage_jumps_by_1_percent_at_the_99_percent_cutoff)
{
	static const struct {
		enum gg_cutoff cutoff;
		double below;
	} cutoffs[] = { { GG_CUTOFF_99, 0.99 }, { GG_CUTOFF_INTERVAL, 1 - 1 / M_E } };

	for (size_t i = 0; i < GG_COUNT(cutoffs); i++) {
		double size = gg_theory_cutoff_bytes(1000, cutoffs[i].cutoff);

		CHECK_EQ_DOUBLE(gg_theory_error(size, 1, 1000, cutoffs[i].cutoff).coverage, 1);
		CHECK(near(gg_theory_error(size * (1 - 1e-12), 1, 1000, cutoffs[i].cutoff).coverage,
		           cutoffs[i].below, 1e-10));
	}
}

/*
 * Mean absolute errors by summing over all numbers of sample points, or of samples, that have a
 * chance.
 */
static struct gg_theory_error sum_errors(double mean, double p, double n)
{
	struct gg_theory_error sum = { 0 };
	double end = p < 1 ? n : ceil(mean + 60 + 60 * sqrt(mean)), seen = 0;

	for (double k = 0; k <= end; k++) {
		double probability = p < 1 ? gg_binomial_probability(k, n, p)
		                           : gg_poisson_probability(k, mean);
		double error = fabs(k / mean - 1);

		sum.expected += probability * error;
		sum.deviation += probability * error * error;
		if (k > 0) {
			seen += probability;
			sum.conditional += probability * error;
		}
	}
	sum.coverage = seen;
	sum.conditional /= seen;
	sum.deviation = sqrt(sum.deviation);
	return sum;
}

static void check_errors(struct gg_theory_error error, struct gg_theory_error sum, double mean)
{
	CHECK_MSG(near(error.coverage, sum.coverage, 1e-9), "mean %g: %.12g, not %.12g", mean,
	          error.coverage, sum.coverage);
	CHECK_MSG(near(error.expected, sum.expected, 1e-9), "mean %g: %.12g, not %.12g", mean,
	          error.expected, sum.expected);
	CHECK_MSG(near(error.conditional, sum.conditional, 1e-9), "mean %g: %.12g, not %.12g", mean,
	          error.conditional, sum.conditional);
	CHECK_MSG(near(error.deviation, sum.deviation, 1e-9), "mean %g: %.12g, not %.12g", mean,
	          error.deviation, sum.deviation);
}

TEST(the_expected_error_of_marks_is_its_direct_sum)
{
	static const double means[] = { 0.001, 0.3, 0.999999, 1, 1.5, 2, 2.999, 3, 24, 400.5 };

	for (size_t i = 0; i < GG_COUNT(means); i++)
		check_errors(gg_theory_error(1, means[i] * 4096, 4096, GG_CUTOFF_NONE),
		             sum_errors(means[i], 1, 0), means[i]);
}

TEST(the_expected_error_of_weighted_samples_is_its_direct_sum)
{
	static const struct {
		double size, count;
	} groups[] = { { 64, 1 },    { 64, 1000 }, { 64, 100000 }, { 2048, 30 },  { 4096, 1 },
		       { 4096, 13 }, { 8192, 3 },  { 20000, 28 },  { 32768, 190 } };

	for (size_t i = 0; i < GG_COUNT(groups); i++) {
		double p = -expm1(-groups[i].size / 4096), n = groups[i].count;

		check_errors(gg_theory_weighted_error(groups[i].size, n, 4096),
		             sum_errors(n * p, p, n), n * p);
	}
}

/* "There's periodicity in both in line with the sampling rate": kinks at whole multiples of R. */
TEST(the_expected_error_has_a_kink_at_whole_multiples_of_the_interval)
{
	for (double m = 2; m <= 6; m++) {
		double at = gg_theory_error(m, 1, 1, GG_CUTOFF_NONE).expected;
		double before = gg_theory_error(m - 1e-6, 1, 1, GG_CUTOFF_NONE).expected;
		double after = gg_theory_error(m + 1e-6, 1, 1, GG_CUTOFF_NONE).expected;

		/*
		 * The value falls towards m and is flat after it: 2 e^-x x^m / m! is largest there.
		 */
		CHECK(before > at && before - at > 1e-8);
		CHECK(fabs(after - at) < 1e-10);
	}
}

/* 100 000 runs of 24 allocations of R/8; 5 standard deviations of each mean. */
TEST(the_expected_error_is_that_of_simulated_runs)
{
	const struct gg_program_part part = { 512, 24, 4096 };
	const struct gg_program program = { .name = "", .parts = &part, .part_count = 1 };
	struct gg_theory_error expected = gg_theory_weighted_error(512, 24, 4096);
	struct stat_moments error = { 0 }, conditional = { 0 }, square = { 0 }, seen = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 31, 0);
	for (int i = 0; i < 100000; i++) {
		struct gg_interval_method_sums run;
		struct gg_tally tally;
		double off;

		gg_simulate_once(&program, &rng, &run);
		tally = run.tally;
		off = fabs(gg_tally_estimate(&tally, GG_BYTES).value / (512 * 24) - 1);
		stat_add(&error, off);
		stat_add(&square, off * off);
		stat_add(&seen, tally.sample_count > 0);
		if (tally.sample_count > 0)
			stat_add(&conditional, off);
	}
	CHECK(stat_within(error.mean, expected.expected, stat_error_of_mean(&error), 5));
	CHECK(stat_within(conditional.mean, expected.conditional, stat_error_of_mean(&conditional),
	                  5));
	CHECK(stat_within(square.mean, expected.deviation * expected.deviation,
	                  stat_error_of_mean(&square), 5));
	CHECK(stat_within(seen.mean, expected.coverage, stat_error_of_mean(&seen), 5));
}
