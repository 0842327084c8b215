/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_weight - compares weights of samples with textbook formulas in long double.
 *
 * It also checks the figures about one sample that published descriptions of other samplers state.
 */
#include "stats/sampling/weight.h"

#include <errno.h>
#include <math.h>

#include "test.h"

#define KIB 1024.
#define MIB (1024. * 1024)

static const uint64_t sizes[] = { 0,        1,       2,       8,
	                          48,       100,     1000,    4095,
	                          65536,    102400,  524287,  524288,
	                          1 << 20,  3 << 20, 1 << 25, UINT64_C(1) << 40,
	                          INT64_MAX };
static const double intervals[] = { 1,   1.5,    2,      64,      1000,   32768,
	                            1e5, 102400, 524288, 1 << 21, 0x1p40, 0x1p62 };

static struct gg_weight weigh(enum gg_scheme scheme, double interval, uint64_t size,
                              uint32_t points)
{
	struct gg_draw draw = { .scheme = scheme,
		                .sampling_interval = interval,
		                .sample_point_count = points };

	return gg_weight_of(&draw, size);
}

static double probability(enum gg_scheme scheme, double interval, double size)
{
	return weigh(scheme, interval, (uint64_t)size, 1).probability;
}

/* |value / exact - 1| <= tolerance, and 0 where exact is 0 or too small to matter. */
static bool near(double value, long double exact, double tolerance)
{
	if (fabsl(exact) < 1e-290L)
		return fabs(value) < 1e-280;
	return fabsl(value / exact - 1) <= tolerance;
}

/* 1 - p as exp(-x), never as a difference. */
static void check_inclusion(const struct gg_weight *w, long double x, uint64_t size)
{
	long double p = -expm1l(-x), variance = expl(-x) / (p * p);

	CHECK_MSG(near(w->probability, p, 1e-14) && near(w->count, 1 / p, 1e-14) &&
	                  near(w->count_variance, variance, 2e-13) &&
	                  near(w->bytes, size / p, 1e-14) &&
	                  near(w->bytes_variance, variance * size * size, 2e-13),
	          "size %llu, x %Lg: p %a, variance %a", (unsigned long long)size, x,
	          w->probability, w->count_variance);
}

TEST(poisson_weights_are_those_of_the_exponential_law)
{
	for (size_t i = 0; i < GG_COUNT(sizes); i++)
		for (size_t j = 0; j < GG_COUNT(intervals); j++) {
			struct gg_weight w = weigh(GG_SCHEME_POISSON, intervals[j], sizes[i], 1);

			if (intervals[j] > 1)
				check_inclusion(
					&w, gg_length_bytes(sizes[i]) / (long double)intervals[j],
					sizes[i]);
		}
}

TEST(bernoulli_weights_are_those_of_coins)
{
	for (size_t i = 0; i < GG_COUNT(sizes); i++)
		for (size_t j = 0; j < GG_COUNT(intervals); j++) {
			long double coin = -log1pl(-1 / (long double)intervals[j]);
			struct gg_weight w = weigh(GG_SCHEME_BERNOULLI, intervals[j], sizes[i], 1);

			if (intervals[j] > 1)
				check_inclusion(&w, gg_length_bytes(sizes[i]) * coin, sizes[i]);
		}
}

TEST(optimal_weights_follow_the_effective_interval_also_below_1)
{
	const double effective[] = { 0.1, 0.9, 1, 3, 1e3, 0x1p62, 0x1p103 };
	struct gg_weight w;

	for (size_t i = 0; i < GG_COUNT(sizes); i++)
		for (size_t j = 0; j < GG_COUNT(effective); j++) {
			w = weigh(GG_SCHEME_OPTIMAL, effective[j], sizes[i], 1);
			check_inclusion(&w, gg_length_bytes(sizes[i]) / (long double)effective[j],
			                sizes[i]);
		}
	w = weigh(GG_SCHEME_OPTIMAL, 0, 100, 1);
	CHECK_EQ_DOUBLE(w.probability, 1);
	CHECK_EQ_DOUBLE(w.count, 1);
	CHECK_EQ_DOUBLE(w.count_variance, 0);
	CHECK_EQ_DOUBLE(w.bytes, 100);
}

TEST(an_interval_of_1_is_every_allocation)
{
	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		for (size_t i = 0; i < GG_COUNT(sizes); i++) {
			struct gg_weight w = weigh(scheme, scheme == GG_SCHEME_OPTIMAL ? 0 : 1,
			                           sizes[i], 1);

			CHECK_MSG(w.probability == 1 && w.count == 1 && w.count_variance == 0 &&
			                  w.bytes == (double)sizes[i] && w.bytes_variance == 0,
			          "%s, %llu bytes", gg_scheme_name(scheme),
			          (unsigned long long)sizes[i]);
		}
	}
}

TEST(a_zero_size_allocation_stands_for_allocations_but_for_no_bytes)
{
	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT; scheme++) {
		struct gg_weight zero = weigh(scheme, 1000, 0, 1), one = weigh(scheme, 1000, 1, 1);

		CHECK(zero.probability > 0 && zero.probability == one.probability);
		CHECK_EQ_DOUBLE(zero.count, one.count);
		CHECK_EQ_DOUBLE(zero.count_variance, one.count_variance);
		CHECK_EQ_DOUBLE(zero.bytes, 0);
		CHECK_EQ_DOUBLE(zero.bytes_variance, 0);
	}
}

TEST(poisson_count_weighs_by_marks_below_the_cutoff)
{
	/* n R bytes, n R/Z allocations; the variance of n R/Z is R/Z, the mean of its share. */
	struct gg_weight w = weigh(GG_SCHEME_POISSON_COUNT, 1000, 250, 3);

	CHECK_EQ_DOUBLE(w.bytes, 3000);
	CHECK_EQ_DOUBLE(w.count, 12);
	CHECK(w.count_variance == 3 * 16 && w.bytes_variance == 3e6);
	CHECK(near(w.probability, -expm1l(-0.25L), 1e-15));
	CHECK_EQ_DOUBLE(weigh(GG_SCHEME_POISSON_COUNT, 1000, 4605, 3).bytes, 3000);
}

TEST(poisson_count_takes_sizes_as_they_are_from_the_cutoff_on)
{
	/* 1000 ln 100 = 4605.17 */
	struct gg_weight w = weigh(GG_SCHEME_POISSON_COUNT, 1000, 4606, 3);

	CHECK_EQ_DOUBLE(w.bytes, 4606);
	CHECK_EQ_DOUBLE(w.count, 1);
	CHECK_EQ_DOUBLE(w.probability, 1);
	CHECK_EQ_DOUBLE(w.count_variance, 0);
	CHECK_EQ_DOUBLE(w.bytes_variance, 0);
	CHECK_EQ_U64(gg_weight_cutoff_bytes(1000), 4606);
	CHECK_EQ_U64(gg_weight_cutoff_bytes(1), 5);
	CHECK_EQ_U64(gg_weight_cutoff_bytes(0.001), 1);
	CHECK_EQ_U64(gg_weight_cutoff_bytes(0x1p62), UINT64_C(1) << 63);
}

TEST(the_cutoff_is_where_99_percent_are_sampled)
{
	for (int bits = 0; bits < 60; bits++) {
		double interval = ldexp(1.37, bits),
		       cutoff = (double)gg_weight_cutoff_bytes(interval);

		CHECK_MSG(-expm1(-cutoff / interval) >= 0.99 - 1e-15, "%g", interval);
		if (cutoff > 1 && cutoff < 1e12)
			CHECK_MSG(-expm1(-(cutoff - 1) / interval) < 0.99, "%g", interval);
	}
}

TEST(stride_weighs_by_marks)
{
	/*
	 * 250 of 1000 bytes: in with 1/4.  2300: two sample points and, in 0.3 of the phases, a
	 * third.
	 */
	struct gg_weight w = weigh(GG_SCHEME_STRIDE, 1000, 250, 1);

	CHECK(w.probability == 0.25 && w.count == 4 && w.bytes == 1000);
	CHECK_EQ_DOUBLE(w.count_variance, 0.75 / (0.25 * 0.25)); /* as for any other coin */
	w = weigh(GG_SCHEME_STRIDE, 1000, 2300, 3);
	CHECK(w.probability == 1 && near(w.bytes, 3000, 1e-15));
	CHECK(near(w.bytes_variance, 0.3L * 0.7L * 1e6L, 1e-12));
	w = weigh(GG_SCHEME_STRIDE, 1000, 3000, 3);
	CHECK_EQ_DOUBLE(w.bytes, 3000);
	CHECK_EQ_DOUBLE(w.count_variance, 0);
}

TEST(stride_knows_more_marks_than_fit_their_field)
{
	struct gg_draw draw = { .scheme = GG_SCHEME_STRIDE,
		                .sampling_interval = 2,
		                .offset_bytes = 1,
		                .sample_point_count = UINT32_MAX };

	CHECK_EQ_DOUBLE(gg_weight_of(&draw, UINT64_C(1) << 40).bytes, 0x1p40);
	CHECK_EQ_DOUBLE(gg_weight_of(&draw, (UINT64_C(1) << 40) + 1).bytes, 0x1p40);
}

TEST(per_allocation_weighs_all_sizes_alike)
{
	struct gg_weight w = weigh(GG_SCHEME_PER_ALLOCATION, 100, 50, 1);

	CHECK(w.probability == 0.01 && w.count == 100 && w.bytes == 5000);
	CHECK_EQ_DOUBLE(w.count_variance, 9900);
	/* An allocation contributes (N-1) Z^2. */
	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		double size = (double)sizes[i];

		w = weigh(GG_SCHEME_PER_ALLOCATION, 100, sizes[i], 1);
		CHECK(near(w.probability * w.bytes_variance, 99.L * size * size, 1e-14));
	}
}

/* The variance that an allocation adds to the sum of bytes: its share in p of all cases. */
static double added_variance(enum gg_scheme scheme, double interval, double size)
{
	struct gg_weight w = weigh(scheme, interval, (uint64_t)size, 1);

	return w.probability * w.bytes_variance;
}

TEST(jemalloc_variance_is_about_R_Z_for_small_and_nothing_for_large_sizes)
{
	double interval = 1e9;

	/* Z^2 / (e^(Z/R) - 1) = R Z (1 - Z/2R + ...) */
	for (double size = 1; size < 1e7; size *= 10)
		CHECK(near(added_variance(GG_SCHEME_POISSON, interval, size), interval * size,
		           0.6 * size / interval + 1e-14));
	/* "Near Z^2 where Z is comparable to R": equal at ln 2. */
	CHECK(near(added_variance(GG_SCHEME_POISSON, interval, interval * M_LN2),
	           powl(interval * M_LN2l, 2), 1e-8));
	CHECK(near(exp(-M_LN2) / -expm1(-M_LN2), 1, 1e-15));
	CHECK(added_variance(GG_SCHEME_POISSON, interval, 64 * interval) <
	      1e-24 * pow(64 * interval, 2));
	/* "1 - (1 - 1/R)^Z is well approximated by 1 - e^(-Z/R)": to 1/2R relative. */
	for (double size = 1; size < 1e6; size *= 7)
		CHECK(near(probability(GG_SCHEME_BERNOULLI, 512 * KIB, size),
		           probability(GG_SCHEME_POISSON, 512 * KIB, size), 1 / (512 * KIB)));
}

TEST(dotnet_variance_is_at_most_N_q_over_p_and_that_for_single_bytes)
{
	double p = 1. / 102400, most = (1 - p) / p; /* of one byte */

	CHECK(near(added_variance(GG_SCHEME_BERNOULLI, 102400, 1), most, 1e-14));
	for (double size = 2; size < 64 * 102400; size = ceil(size * 1.3)) {
		double added = added_variance(GG_SCHEME_BERNOULLI, 102400, size);
		long double left = powl(1 - (long double)p, size);

		CHECK(added < size * most);
		CHECK(near(added, size * size * left / (1 - left), 1e-11));
	}
	/* estimate_i = size_i / (1 - q^size_i) */
	CHECK(near(weigh(GG_SCHEME_BERNOULLI, 102400, 3000, 1).bytes,
	           3000 / (1 - powl(1 - (long double)p, 3000)), 1e-13));
}

TEST(heapprofd_coverage_is_as_stated)
{
	CHECK(probability(GG_SCHEME_POISSON, 512 * KIB, 1.5 * MIB) > 0.95);
	CHECK(probability(GG_SCHEME_POISSON, 512 * KIB, 1.4 * MIB) < 0.95);
	CHECK(probability(GG_SCHEME_POISSON, 2048 * KIB, 3.5 * MIB) > 0.80);
	CHECK(probability(GG_SCHEME_POISSON, 2048 * KIB, 3.2 * MIB) < 0.80);
	/* "Approximately 63 %" at the interval, and the same for the two halves together. */
	CHECK(fabs(probability(GG_SCHEME_POISSON_COUNT, 10e3, 10e3) - 0.63) < 0.005);
	CHECK(near(1 - pow(1 - probability(GG_SCHEME_POISSON_COUNT, 10e3, 5e3), 2),
	           probability(GG_SCHEME_POISSON_COUNT, 10e3, 10e3), 1e-15));
	/* The old cutoff, at the interval itself, would be a jump from 63 % to 100 %; now 1 %. */
	CHECK(probability(GG_SCHEME_POISSON_COUNT, 10e3, 46051) >= 0.9899);
	CHECK_EQ_DOUBLE(probability(GG_SCHEME_POISSON_COUNT, 10e3, 46052), 1);
}

TEST(names_of_schemes_read_back)
{
	enum gg_scheme scheme = GG_SCHEME_STRIDE;

	for (unsigned i = 0; i < GG_SCHEME_COUNT; i++) {
		CHECK_EQ_I64(gg_scheme_parse(gg_scheme_name(i), &scheme), 0);
		CHECK_EQ_U64(scheme, i);
	}
	CHECK_EQ_I64(gg_scheme_parse("Poisson", &scheme), -EINVAL);
	CHECK_EQ_I64(gg_scheme_parse("", &scheme), -EINVAL);
	CHECK_EQ_U64(scheme, GG_SCHEME_OPTIMAL); /* untouched */
	CHECK(gg_scheme_name((enum gg_scheme)(GG_SCHEME_BIASED + 1)) == NULL);
	CHECK_EQ_I64(gg_scheme_parse(gg_scheme_name(GG_SCHEME_BIASED), &scheme), -EINVAL);
	CHECK_EQ_STR(gg_scheme_name(GG_SCHEME_POISSON_COUNT), "poisson-count");
}

TEST(draws_that_no_sampler_makes_are_refused)
{
	const struct gg_draw good = { .sampling_interval = 1000, .sample_point_count = 1 };
	struct gg_draw draw = good;

	CHECK(gg_draw_is_valid(&draw));
	draw.sample_point_count = 2;
	CHECK(!gg_draw_is_valid(&draw)); /* poisson does not count */
	draw.scheme = GG_SCHEME_STRIDE;
	CHECK(gg_draw_is_valid(&draw));
	draw.sample_point_count = 0;
	CHECK(!gg_draw_is_valid(&draw));
	draw = good;
	draw.sampling_interval = 0.5;
	CHECK(!gg_draw_is_valid(&draw));
	draw.scheme = GG_SCHEME_OPTIMAL;
	CHECK(gg_draw_is_valid(&draw));
	draw.sampling_interval = 0;
	CHECK(gg_draw_is_valid(&draw));
	draw.sampling_interval = -1;
	CHECK(!gg_draw_is_valid(&draw));
	draw.sampling_interval = NAN;
	CHECK(!gg_draw_is_valid(&draw));
	draw.sampling_interval = INFINITY;
	CHECK(!gg_draw_is_valid(&draw));
	draw = good;
	draw.scheme = GG_SCHEME_BIASED;
	CHECK(gg_draw_is_valid(&draw));
	draw.scheme = (enum gg_scheme)(GG_SCHEME_BIASED + 1);
	CHECK(!gg_draw_is_valid(&draw));
}

TEST(a_biased_sample_weighs_as_by_poisson)
{
	struct gg_weight by_poisson = weigh(GG_SCHEME_POISSON, 4096, 1000, 1);
	struct gg_weight biased = weigh(GG_SCHEME_BIASED, 4096, 1000, 1);

	CHECK(by_poisson.count == biased.count && by_poisson.bytes == biased.bytes);
}

TEST(wild_draws_have_no_NaN)
{
	const double wild[] = { NAN, -1, 0, 0.5, 0x1p62, 0x1p103 };
	const uint32_t points[] = { 0, 1, UINT32_MAX };

	for (unsigned scheme = 0; scheme < GG_SCHEME_COUNT + 1; scheme++)
		for (size_t i = 0; i < GG_COUNT(wild); i++)
			for (size_t j = 0; j < GG_COUNT(sizes); j++)
				for (size_t k = 0; k < GG_COUNT(points); k++) {
					struct gg_weight w = weigh(scheme, wild[i], sizes[j],
					                           points[k]);

					CHECK(!isnan(w.probability) && !isnan(w.count) &&
					      !isnan(w.bytes) && !isnan(w.count_variance));
				}
}

/* Each twice, and in an order in which places are taken by other draws between. */
TEST(weights_by_the_cache_are_the_same_to_the_last_bit)
{
	static const enum gg_scheme schemes[] = {
		GG_SCHEME_POISSON, GG_SCHEME_OPTIMAL,       GG_SCHEME_BERNOULLI,
		GG_SCHEME_STRIDE,  GG_SCHEME_POISSON_COUNT, GG_SCHEME_PER_ALLOCATION
	};
	static struct gg_weight_cache cache;
	uint64_t differing = 0;

	for (uint64_t i = 0; i < 60000; i++) {
		uint64_t size = i / 2 * 7919 % 40000;
		struct gg_draw draw = { .scheme = schemes[i / 2 % GG_COUNT(schemes)],
			                .sampling_interval = (double)(1 + i / 2 % 11 * 5000) +
			                                     (double)size / 3,
			                .sample_point_count = 1 };
		struct gg_weight plain = gg_weight_of(&draw, size);
		struct gg_weight cached = gg_weight_of_cached(&draw, size, &cache);

		differing += memcmp(&plain, &cached, sizeof(plain)) != 0;
	}
	CHECK_EQ_U64(differing, 0);
}
