/* SPDX-License-Identifier: Apache-2.0 */
/* test_stat - tests the statistics helpers that other tests rely on. */
#include "stat.h"

#include <math.h>

#include "base/hash.h"
#include "test.h"

static double uniform(uint64_t i)
{
	return (double)(gg_hash_integer(i, 9) >> 11) * 0x1p-53;
}

static double uniform_cdf(double x, const void *unused)
{
	(void)unused;
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

TEST(moments_of_a_known_set)
{
	const double values[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };
	struct stat_moments moments = { 0 };

	for (int i = 0; i < 4; i++)
		stat_add(&moments, values[i]);
	CHECK_EQ_DOUBLE(moments.mean, 1e9 + 10);
	CHECK(fabs(stat_variance(&moments) - 30) < 1e-9);
	CHECK(fabs(stat_error_of_mean(&moments) - sqrt(7.5)) < 1e-9);
}

TEST(a_right_distribution_is_near_and_a_wrong_one_far)
{
	enum { COUNT = 10000 };
	static double right[COUNT], wrong[COUNT];

	for (uint64_t i = 0; i < COUNT; i++) {
		right[i] = uniform(i);
		wrong[i] = pow(uniform(i), 1.1);
	}
	CHECK(stat_ks_distance(right, COUNT, uniform_cdf, NULL) < stat_ks_limit(COUNT, 1e-6));
	CHECK(stat_ks_distance(wrong, COUNT, uniform_cdf, NULL) > stat_ks_limit(COUNT, 1e-6));
}

TEST(the_distance_of_one_value_is_its_larger_side)
{
	double value = 0.3;

	CHECK(fabs(stat_ks_distance(&value, 1, uniform_cdf, NULL) - 0.7) < 1e-15);
}

TEST(the_fewest_hits_are_those_of_the_binomial_law)
{
	/* P(0 of 3) = 1/8, P(at most 1) = 1/2. */
	CHECK(stat_binomial_least(3, 0.5, 0.1) == 0 && stat_binomial_least(3, 0.5, 0.2) == 1 &&
	      stat_binomial_least(3, 0.5, 0.49) == 1 && stat_binomial_least(3, 0.5, 0.51) == 2);
	/* P(at most 4 of 10 at 0.9) = 1.47e-4, at most 5: 1.63e-3. */
	CHECK(stat_binomial_least(10, 0.9, 1e-4) == 4 && stat_binomial_least(10, 0.9, 1e-3) == 5);
	/* 4.75 sigma are 1e-6: 95 - 4.75 sqrt(4.75) = 84.6, but the law is skewed. */
	CHECK_EQ_U64(stat_binomial_least(100, 0.95, 1e-6), 82);
	CHECK(stat_binomial_least(100000, 0.95, 1e-6) > 94650 &&
	      stat_binomial_least(100000, 0.95, 1e-6) < 94680);
}

TEST(chi_square_knows_a_loaded_die)
{
	const double expected[6] = { 1000, 1000, 1000, 1000, 1000, 1000 };
	const uint64_t fair[6] = { 1020, 980, 1010, 990, 1030, 970 };
	const uint64_t loaded[6] = { 1200, 960, 960, 960, 960, 960 };

	CHECK(fabs(stat_chi_square(fair, expected, 6) - 2.8) < 1e-12);
	CHECK(stat_chi_square(fair, expected, 6) < stat_chi_square_limit(5, 4));
	CHECK(stat_chi_square(loaded, expected, 6) > stat_chi_square_limit(5, 4));
}

TEST(chi_square_limits_are_those_of_the_tables)
{
	/* 1.644854 sigma is 5 %: 18.307, 124.342 and 1074.679 at 10, 100 and 1000 degrees. */
	CHECK(fabs(stat_chi_square_limit(10, 1.644854) / 18.307 - 1) < 0.02);
	CHECK(fabs(stat_chi_square_limit(100, 1.644854) / 124.342 - 1) < 0.001);
	CHECK(fabs(stat_chi_square_limit(1000, 1.644854) / 1074.679 - 1) < 0.0001);
}
