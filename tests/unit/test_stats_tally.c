/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats_tally - shows what samples add to a tally, and that tallies merge and subtract. */
#include "stats/estimate/tally.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/plain_tally.h"
#include "stats/lab/simulate.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/weight.h"
#include "test.h"

static const double interval = 524288;

static bool near(double value, double expected, double relative)
{
	return fabs(value - expected) <= relative * fabs(expected);
}

struct sample {
	struct gg_draw draw;
	uint64_t size_bytes;
};

static struct gg_draw poisson(double interval_bytes)
{
	return (struct gg_draw){ .sampling_interval = interval_bytes,
		                 .sample_point_count = 1,
		                 .scheme = GG_SCHEME_POISSON };
}

/* Any scheme, interval and size up to 2^(size_bits). */
static struct sample draw_sample(struct gg_rng *rng, unsigned size_bits)
{
	static const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
		                                  GG_SCHEME_POISSON_COUNT, GG_SCHEME_STRIDE };
	struct sample sample = {
		.draw = poisson((double)(1 + gg_rng_below(rng, UINT64_C(1) << 22))),
		.size_bytes = gg_rng_next(rng) >> (64 - 1 - gg_rng_below(rng, size_bits)),
	};

	sample.draw.scheme = schemes[gg_rng_below(rng, GG_COUNT(schemes))];
	sample.draw.offset_bytes = gg_rng_below(rng, sample.size_bytes + 1);
	if (sample.draw.scheme > GG_SCHEME_BERNOULLI)
		sample.draw.sample_point_count = (uint32_t)(1 + gg_rng_below(rng, 5));
	return sample;
}

static void add_samples(struct gg_tally *tally, const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gg_tally_add(tally, &samples[i].draw, samples[i].size_bytes);
}

static void remove_sample(struct gg_tally *tally, const struct sample *sample)
{
	struct gg_tally one = { 0 };

	gg_tally_add(&one, &sample->draw, sample->size_bytes);
	gg_tally_subtract(tally, &one);
}

/* All sums of two tallies, to `relative`; maxima are for their own test. */
static void check_same_sums(const struct gg_tally *a, const struct gg_tally *b, double relative)
{
	struct gg_estimate failed_a = gg_tally_failed_trials(a);
	struct gg_estimate failed_b = gg_tally_failed_trials(b);

	CHECK_EQ_U64(a->sample_count, b->sample_count);
	CHECK_EQ_U64(a->sample_point_count, b->sample_point_count);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		enum gg_quantity quantity = (enum gg_quantity)i;
		struct gg_estimate x = gg_tally_estimate(a, quantity);
		struct gg_estimate y = gg_tally_estimate(b, quantity);
		double skew_x = gg_sum_value(&a->usual[i].skew) + gg_sum_value(&a->sure[i].skew);
		double skew_y = gg_sum_value(&b->usual[i].skew) + gg_sum_value(&b->sure[i].skew);

		CHECK_MSG(near(x.value, y.value, relative), "%.17g %.17g", x.value, y.value);
		CHECK_MSG(near(x.variance, y.variance, relative), "%.17g %.17g", x.variance,
		          y.variance);
		CHECK_MSG(near(skew_x, skew_y, relative), "%.17g %.17g", skew_x, skew_y);
		CHECK_EQ_DOUBLE(gg_tally_seen(a, quantity), gg_tally_seen(b, quantity));
	}
	CHECK(near(failed_a.value, failed_b.value, relative));
	CHECK(near(failed_a.variance, failed_b.variance, relative));
}

TEST(all_zero_is_the_empty_tally)
{
	struct gg_tally tally = { 0 };

	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		CHECK_EQ_DOUBLE(gg_tally_estimate(&tally, (enum gg_quantity)i).value, 0);
		CHECK_EQ_DOUBLE(gg_tally_estimate(&tally, (enum gg_quantity)i).variance, 0);
		CHECK_EQ_DOUBLE(gg_tally_seen(&tally, (enum gg_quantity)i), 0);
	}
	CHECK(gg_tally_failed_trials(&tally).value == 0);
}

TEST(a_sample_stands_for_what_its_weight_says)
{
	static const uint64_t sizes[] = { 0, 1, 64, 4096, 524288, 2097152, 33554432 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		struct gg_tally tally = { 0 };
		struct gg_draw draw = poisson(interval);
		double z = (double)sizes[i], x = (double)gg_length_bytes(sizes[i]) / interval;
		struct gg_estimate bytes, count;

		gg_tally_add(&tally, &draw, sizes[i]);
		bytes = gg_tally_estimate(&tally, GG_BYTES);
		count = gg_tally_estimate(&tally, GG_ALLOCATIONS);
		CHECK(near(bytes.value, z / -expm1(-x), 1e-14));
		CHECK(near(count.value, 1 / -expm1(-x), 1e-14));
		CHECK(near(count.variance, exp(-x) / expm1(-x) / expm1(-x), 1e-13));
		CHECK(near(bytes.variance, z * z * count.variance, 1e-14));
		CHECK_EQ_DOUBLE(gg_tally_seen(&tally, GG_BYTES), z);
		CHECK_EQ_DOUBLE(gg_tally_seen(&tally, GG_ALLOCATIONS), 1);
	}
}

TEST(each_sample_is_scaled_by_the_interval_of_its_own_mark)
{
	struct gg_tally tally = { 0 };
	struct gg_draw often = poisson(1024), rarely = poisson(1048576);

	gg_tally_add(&tally, &often, 512);
	gg_tally_add(&tally, &rarely, 524288);
	CHECK(near(gg_tally_estimate(&tally, GG_BYTES).value, (512 + 524288) / -expm1(-0.5),
	           1e-14));
	CHECK(near(gg_tally_estimate(&tally, GG_ALLOCATIONS).value, 2 / -expm1(-0.5), 1e-14));
}

/*
 * s samples of one size are s successes: trials are a negative binomial number, with the cumulants
 * s/p, s(1-p)/p^2 and s(1-p)(2-p)/p^3.  Here p = 1/2 below the sure ones, and 1 - e^-5 among them.
 */
TEST(the_cumulants_are_those_of_the_negative_binomial)
{
	static const double means[] = { 0.69314718055994530942, 5 };

	for (size_t i = 0; i < GG_COUNT(means); i++) {
		struct gg_tally tally = { 0 };
		struct gg_draw draw = poisson(1000 / means[i]);
		double p = -expm1(-means[i]), s = 7;
		const struct gg_moments *moments = i == 0 ? tally.usual : tally.sure;

		for (int j = 0; j < 7; j++)
			gg_tally_add(&tally, &draw, 1000);
		CHECK(near(gg_sum_value(&moments[GG_ALLOCATIONS].value), s / p, 1e-14));
		CHECK(near(gg_sum_value(&moments[GG_ALLOCATIONS].variance), s * (1 - p) / p / p,
		           1e-12));
		CHECK(near(gg_sum_value(&moments[GG_ALLOCATIONS].skew),
		           s * (1 - p) * (2 - p) / p / p / p, 1e-12));
		CHECK(near(gg_sum_value(&moments[GG_BYTES].skew),
		           1e9 * s * (1 - p) * (2 - p) / p / p / p, 1e-12));
	}
}

TEST(merging_is_adding_the_samples_of_both)
{
	struct gg_rng rng;
	struct sample samples[200];
	struct gg_tally whole = { 0 }, left = { 0 }, right = { 0 };

	gg_rng_seed(&rng, 11, 0);
	for (size_t i = 0; i < GG_COUNT(samples); i++)
		samples[i] = draw_sample(&rng, 63);
	add_samples(&whole, samples, 200);
	add_samples(&left, samples, 80);
	add_samples(&right, samples + 80, 120);
	gg_tally_merge(&left, &right);
	check_same_sums(&left, &whole, 1e-15);
	CHECK_EQ_DOUBLE(left.reserve_max[GG_BYTES], whole.reserve_max[GG_BYTES]);
	CHECK_EQ_DOUBLE(left.reserve_max[GG_ALLOCATIONS], whole.reserve_max[GG_ALLOCATIONS]);
	CHECK_EQ_DOUBLE(left.sampled_interval_max, whole.sampled_interval_max);
	CHECK_EQ_DOUBLE(left.allocations_per_byte_max, whole.allocations_per_byte_max);
}

/* Totals of 2^60 bytes and more; the window holds small samples only. */
TEST(a_window_is_as_exact_as_if_its_samples_alone_had_been_added)
{
	struct gg_rng rng;
	struct gg_tally before = { 0 }, after, window = { 0 };

	gg_rng_seed(&rng, 12, 0);
	for (int i = 0; i < 1000; i++) {
		struct sample sample = draw_sample(&rng, 60);

		gg_tally_add(&before, &sample.draw, sample.size_bytes);
	}
	CHECK(gg_tally_seen(&before, GG_BYTES) > 0x1p60);
	after = before;
	for (int i = 0; i < 3; i++) {
		struct sample sample = { poisson(512 * 1024), 100 + (uint64_t)i };

		gg_tally_add(&window, &sample.draw, sample.size_bytes);
		gg_tally_add(&after, &sample.draw, sample.size_bytes);
	}
	gg_tally_subtract(&after, &before);
	/* The third cumulants differ most, 2^100 and 2^60, and 106 bits leave 60 of those. */
	CHECK_EQ_U64(after.sample_count, 3);
	CHECK_EQ_DOUBLE(gg_tally_seen(&after, GG_BYTES), 303);
	check_same_sums(&after, &window, 1e-14);
}

TEST(what_is_removed_was_never_there)
{
	struct gg_rng rng;
	struct sample samples[100];
	struct gg_tally tally = { 0 }, rest = { 0 };

	gg_rng_seed(&rng, 13, 0);
	for (size_t i = 0; i < GG_COUNT(samples); i++)
		samples[i] = draw_sample(&rng, 30);
	add_samples(&tally, samples, 100);
	add_samples(&rest, samples, 10);
	for (size_t i = 99; i >= 10; i--)
		remove_sample(&tally, &samples[i]);
	check_same_sums(&tally, &rest, 1e-14);
}

TEST(removing_every_sample_leaves_nothing_but_the_maxima)
{
	struct gg_rng rng;
	struct sample samples[100];
	struct gg_tally tally = { 0 }, empty = { 0 };
	double reserve;

	gg_rng_seed(&rng, 14, 0);
	for (size_t i = 0; i < GG_COUNT(samples); i++)
		samples[i] = draw_sample(&rng, 63);
	add_samples(&tally, samples, 100);
	reserve = tally.reserve_max[GG_BYTES];
	for (size_t i = 0; i < GG_COUNT(samples); i++)
		remove_sample(&tally, &samples[i]);
	check_same_sums(&tally, &empty, 0);
	CHECK(tally.reserve_max[GG_BYTES] == reserve && reserve > 0);
}

TEST(order_does_not_matter)
{
	struct gg_rng rng;
	struct sample samples[300];
	struct gg_tally forth = { 0 }, back = { 0 };

	gg_rng_seed(&rng, 15, 0);
	for (size_t i = 0; i < GG_COUNT(samples); i++)
		samples[i] = draw_sample(&rng, 50);
	add_samples(&forth, samples, 300);
	for (size_t i = GG_COUNT(samples); i > 0; i--)
		gg_tally_add(&back, &samples[i - 1].draw, samples[i - 1].size_bytes);
	check_same_sums(&forth, &back, 1e-15);
}

TEST(an_exposure_without_a_sample_is_remembered_and_merged)
{
	struct gg_tally tally = { 0 }, other = { 0 };
	struct gg_draw draw = poisson(4096);

	gg_tally_expose(&tally, 1); /* everything is sampled: nothing hides */
	CHECK_EQ_DOUBLE(tally.reserve_max[GG_BYTES], 0);
	gg_tally_expose(&other, 65536);
	gg_tally_merge(&tally, &other);
	gg_tally_expose(&tally, 8192);
	CHECK(tally.reserve_max[GG_BYTES] == 65536 && tally.sampled_interval_max == 0);
	gg_tally_add(&tally, &draw, 64);
	CHECK(tally.reserve_max[GG_BYTES] == 65536 && tally.reserve_max[GG_ALLOCATIONS] == 64);
	CHECK(tally.sampled_interval_max == 4096 && tally.allocations_per_byte_max == 1.0 / 64);
}

/* .NET's example: 8 samples at q = 1/102400, u = 10 908 bytes from the sample points on. */
TEST(failed_trials_are_s_times_the_mean_gap_and_the_rest)
{
	struct gg_tally tally = { 0 };
	struct gg_draw draw = { .sampling_interval = 102400,
		                .offset_bytes = 100,
		                .sample_point_count = 1,
		                .scheme = GG_SCHEME_BERNOULLI };

	for (int i = 0; i < 8; i++)
		gg_tally_add(&tally, &draw, i < 7 ? 1463 : 1467);
	CHECK_EQ_DOUBLE(gg_tally_failed_trials(&tally).value, 8 * 102399 + 10908);
	CHECK_EQ_DOUBLE(gg_tally_failed_trials(&tally).variance, 8 * 102399.0 * 102400.0);
}

TEST(marks_are_counted_where_the_scheme_counts_them)
{
	struct gg_tally tally = { 0 };
	struct gg_draw draw = { .sampling_interval = 4096,
		                .sample_point_count = 3,
		                .scheme = GG_SCHEME_POISSON_COUNT };

	gg_tally_add(&tally, &draw, 10000);
	draw.sample_point_count = 1;
	gg_tally_add(&tally, &draw, 64);
	CHECK_EQ_U64(tally.sample_point_count, 4);
	CHECK(near(gg_tally_estimate(&tally, GG_BYTES).value, 4 * 4096, 1e-15));
	CHECK(near(gg_tally_estimate(&tally, GG_ALLOCATIONS).value, 3 * 4096.0 / 10000 + 64,
	           1e-15));
}

/* The mean within 5 of its own standard deviations; so is the mean of the variances estimated. */
static void check_unbiased(const struct stat_moments *values, const struct stat_moments *variances,
                           double truth, double variance, const char *what, double size)
{
	CHECK_MSG(stat_within(values->mean, truth, stat_error_of_mean(values) + 1e-12 * truth, 5),
	          "%s, size %g: mean %.9g, not %.9g", what, size, values->mean, truth);
	CHECK_MSG(stat_within(variances->mean, variance,
	                      stat_error_of_mean(variances) + 1e-9 * variance, 5),
	          "%s, size %g: mean variance %.9g, not %.9g", what, size, variances->mean,
	          variance);
}

/*
 * Sizes from 1 byte to 64 R; R = 1000, 20 000 runs each of so many allocations that about 10 are
 * samples, but 5 at least.  The variance observed has the relative standard deviation
 * sqrt((kurtosis - 1) / runs), below sqrt(3/20000) = 1.2 % for these sums of 5 and more (their
 * kurtosis is below 4); from 8 R on so few runs miss anything that the bar is left out.
 */
TEST(estimates_and_their_variances_are_unbiased_from_1_byte_to_64_R)
{
	static const uint64_t sizes[] = { 1, 16, 250, 1000, 2000, 4000, 8000, 64000 };
	const double R = 1000;
	enum { RUNS = 20000 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		double z = (double)sizes[i], missed = exp(-z / R), p = -expm1(-z / R);
		double n = floor(fmax(10 / p, 5));
		struct gg_program_part part = { sizes[i], (uint64_t)n, R };
		struct gg_program program = { .name = "", .parts = &part, .part_count = 1 };
		struct stat_moments moments[6] = { 0 };
		double observed, expected = n * z * z * missed / p;
		struct gg_rng rng;

		gg_rng_seed(&rng, 16, i);
		for (int run = 0; run < RUNS; run++) {
			struct gg_interval_method_sums one;
			struct gg_estimate e[3];

			gg_simulate_once(&program, &rng, &one);
			e[0] = gg_tally_estimate(&one.tally, GG_BYTES);
			e[1] = gg_tally_estimate(&one.tally, GG_ALLOCATIONS);
			e[2] = gg_tally_failed_trials(&one.tally);
			for (int k = 0; k < 3; k++) {
				stat_add(&moments[2 * k], e[k].value);
				stat_add(&moments[2 * k + 1], e[k].variance);
			}
		}
		check_unbiased(&moments[0], &moments[1], n * z, expected, "bytes", z);
		check_unbiased(&moments[2], &moments[3], n, n * missed / p, "allocations", z);
		/*
		 * A sample point between two bytes is recorded with the first: half a byte a
		 * sample.
		 */
		CHECK(fabs(moments[4].mean - n * z) <=
		      5 * stat_error_of_mean(&moments[4]) + n * p / 2);
		observed = stat_variance(&moments[0]);
		if (z < 8 * R)
			CHECK_MSG(stat_within(observed / expected, 1, sqrt(3.0 / RUNS), 5),
			          "size %g: variance %g of %g", z, observed, expected);
		CHECK_MSG(stat_within(stat_variance(&moments[4]) / moments[5].mean, 1,
		                      sqrt(3.0 / RUNS), 5),
		          "failed trials, size %g: variance %g of %g", z,
		          stat_variance(&moments[4]), moments[5].mean);
	}
}

TEST(a_biased_sample_leaves_the_sums_without_an_error_until_it_is_taken_out)
{
	struct gg_draw good = { 4096, 0, 1, GG_SCHEME_POISSON }, biased = good;
	struct gg_tally tally = { 0 }, other = { 0 };
	struct gg_plain_tally plain = { 0 };

	biased.scheme = GG_SCHEME_BIASED;
	gg_tally_add(&tally, &good, 100);
	CHECK(gg_tally_has_error(&tally, GG_BYTES));
	gg_tally_add(&other, &biased, 100);
	gg_tally_merge(&tally, &other);
	CHECK(!gg_tally_has_error(&tally, GG_BYTES));
	CHECK(!gg_tally_has_error(&tally, GG_ALLOCATIONS));
	CHECK(gg_tally_estimate(&tally, GG_BYTES).value ==
	      2 * gg_tally_estimate(&other, GG_BYTES).value);
	gg_tally_subtract(&tally, &other);
	CHECK(gg_tally_has_error(&tally, GG_BYTES));

	gg_plain_tally_add_sample(&plain, &biased, 100);
	gg_plain_tally_tally(&plain, &tally);
	CHECK(!gg_tally_has_error(&tally, GG_BYTES));
}

/* As in the exact mode, where a tick had as many frees as allocations, of other sizes. */
TEST(exact_bytes_without_a_count_are_in_the_sums)
{
	const struct gg_folded bytes = { .seen_bytes = 999990,
		                         .bytes = 999990,
		                         .sampling_interval = 1,
		                         .most_bytes = UINT64_MAX };
	const struct gg_folded block = { .sample_count = 1,
		                         .seen_bytes = 10,
		                         .bytes = 10,
		                         .count = 1,
		                         .sampling_interval = 1,
		                         .most_bytes = UINT64_MAX };
	struct gg_tally tally = { 0 }, alone = { 0 }, other = { 0 };
	struct gg_plain_tally plain = { 0 };
	struct gg_interval ends;

	CHECK(gg_tally_is_empty(&tally));
	gg_tally_add_folded(&alone, &bytes);
	CHECK(!gg_tally_is_empty(&alone));
	gg_tally_merge(&tally, &alone);
	gg_tally_add_folded(&tally, &block);
	gg_plain_tally_add_folded(&plain, &bytes);
	gg_plain_tally_add_folded(&plain, &block);
	gg_plain_tally_tally(&plain, &other);
	for (int i = 0; i < 2; i++) {
		const struct gg_tally *of = i == 0 ? &tally : &other;

		CHECK_EQ_U64(of->sample_count, 1);
		CHECK_EQ_DOUBLE(gg_tally_estimate(of, GG_BYTES).value, 1000000);
		CHECK_EQ_DOUBLE(gg_tally_estimate(of, GG_ALLOCATIONS).value, 1);
		ends = gg_interval_of(of, GG_BYTES, 0.95, true);
		CHECK(ends.low == 1000000 && ends.high == 1000000);
	}
	ends = gg_interval_of(&alone, GG_BYTES, 0.95, true);
	CHECK(ends.low == 999990 && ends.high == 999990);
	/* A subtraction neither loses them nor leaves some. */
	gg_tally_subtract(&tally, &other);
	CHECK(gg_tally_is_empty(&tally));
	gg_tally_add_folded(&tally, &block);
	gg_tally_merge(&tally, &alone);
	other = (struct gg_tally){ 0 };
	gg_tally_add_folded(&other, &block);
	gg_tally_subtract(&tally, &other);
	CHECK_EQ_U64(tally.sample_count, 0);
	CHECK_EQ_DOUBLE(gg_tally_estimate(&tally, GG_BYTES).value, 999990);
}
