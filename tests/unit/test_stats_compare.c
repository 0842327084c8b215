/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats_compare - shows what the comparison of two tallies promises. */
#include "stats/estimate/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/special.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

/* A group of `samples` samples of one size. */
static struct gg_tally group(uint64_t samples, uint64_t size_bytes, double interval)
{
	const struct gg_draw draw = { .sampling_interval = interval,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };
	struct gg_tally tally = { 0 };

	gg_tally_expose(&tally, interval);
	for (uint64_t i = 0; i < samples; i++)
		gg_tally_add(&tally, &draw, size_bytes);
	return tally;
}

static struct gg_difference bytes_between(const struct gg_tally *before,
                                          const struct gg_tally *after)
{
	return gg_difference_of(before, after, GG_BYTES, 1, 0.95);
}

TEST(equal_profiles_do_not_differ)
{
	const struct gg_tally tally = group(7, 64, 512 * KIB);
	struct gg_difference d = bytes_between(&tally, &tally);

	CHECK_EQ_DOUBLE(d.value, 0);
	CHECK_EQ_DOUBLE(d.p_value, 1);
	CHECK(d.low < 0 && d.high > 0 && fabs(d.low + d.high) < 1e-6 * d.high);
}

TEST(two_empty_profiles_do_not_differ)
{
	const struct gg_tally empty = group(0, 64, 512 * KIB);
	struct gg_difference d = bytes_between(&empty, &empty);

	/* Either may hold up to R ln(2/a) that was not seen. */
	CHECK_EQ_DOUBLE(d.value, 0);
	CHECK_EQ_DOUBLE(d.p_value, 1);
	CHECK(fabs(d.high / (512 * KIB * log(40)) - 1) < 1e-9 && d.low == -d.high);
}

TEST(swapping_the_profiles_changes_the_sign_alone)
{
	const struct gg_tally a = group(3, 64, 512 * KIB), b = group(11, 4096, 128 * KIB);
	struct gg_difference ab = bytes_between(&a, &b), ba = bytes_between(&b, &a);

	CHECK(ab.value == -ba.value && ab.low == -ba.high && ab.high == -ba.low);
	CHECK(fabs(ab.p_value / ba.p_value - 1) < 1e-6);
}

TEST(the_interval_holds_zero_exactly_when_the_p_value_says_so)
{
	for (uint64_t before = 0; before < 12; before++) {
		for (uint64_t after = 0; after < 40; after++) {
			const struct gg_tally a = group(before, 64, 512 * KIB);
			const struct gg_tally b = group(after, 64, 512 * KIB);
			struct gg_difference d = bytes_between(&a, &b);
			bool holds_zero = d.low <= 0 && d.high >= 0;

			CHECK_MSG(holds_zero == (d.p_value >= 0.05), "%ju %ju: %g",
			          (uintmax_t)before, (uintmax_t)after, d.p_value);
		}
	}
}

TEST(large_groups_have_the_sum_of_the_variances)
{
	const struct gg_tally a = group(100000, 64, 512 * KIB), b = group(101000, 64, 512 * KIB);
	struct gg_difference d = bytes_between(&a, &b);
	double sigma = sqrt(gg_tally_estimate(&a, GG_BYTES).variance +
	                    gg_tally_estimate(&b, GG_BYTES).variance);

	/* The skew that is left at 1e5 samples is 1/sqrt(1e5). */
	CHECK(fabs((d.high - d.value) / (1.959964 * sigma) - 1) < 0.004);
	CHECK(fabs((d.value - d.low) / (1.959964 * sigma) - 1) < 0.004);
	CHECK(fabs(gg_normal_upper_inverse(d.p_value / 2) / (d.value / sigma) - 1) < 0.004);
}

TEST(a_stack_that_is_new_is_significant_from_six_samples_on)
{
	const struct gg_tally none = group(0, 64, 512 * KIB);
	const struct gg_tally five = group(5, 64, 512 * KIB), six = group(6, 64, 512 * KIB);

	CHECK(bytes_between(&none, &five).p_value > 0.05);
	CHECK(bytes_between(&none, &six).p_value < 0.05);
	CHECK(bytes_between(&six, &none).p_value < 0.05);
}

TEST(a_count_can_be_compared_with_no_samples)
{
	const struct gg_tally none = group(0, 64, 512 * KIB), many = group(20, 64, 512 * KIB);
	const struct gg_tally coarse = group(0, 64, 8 * 512 * KIB);
	struct gg_difference d = gg_difference_of(&none, &many, GG_ALLOCATIONS, 1, 0.95);

	CHECK(d.p_value < 1e-4 && d.low > 0 && isfinite(d.high));
	/* One weight for all: bytes and allocations say the same. */
	CHECK(fabs(d.p_value / bytes_between(&none, &many).p_value - 1) < 0.01);
	/* Nothing seen at eight times the interval is less of a surprise. */
	CHECK(gg_difference_of(&coarse, &many, GG_ALLOCATIONS, 1, 0.95).p_value > d.p_value);
}

TEST(what_was_sampled_with_certainty_differs_for_certain)
{
	const struct gg_tally a = group(10, 64, 1), b = group(11, 64, 1);
	struct gg_difference d = bytes_between(&a, &b);

	CHECK_EQ_DOUBLE(d.value, 64);
	CHECK_EQ_DOUBLE(d.low, 64);
	CHECK_EQ_DOUBLE(d.high, 64);
	CHECK_EQ_DOUBLE(d.p_value, 0);
}

TEST(large_objects_tell_a_difference_that_small_ones_hide)
{
	/* 20 against 23 pieces of 4 MiB, p = 0.9997, and 160 against 184 samples of R. */
	const struct gg_tally a = group(20, 4 * 1024 * 1024, 512 * KIB);
	const struct gg_tally b = group(23, 4 * 1024 * 1024, 512 * KIB);
	const struct gg_tally c = group(160, 64, 512 * KIB), d = group(184, 64, 512 * KIB);

	CHECK(bytes_between(&a, &b).p_value < 1e-3);
	CHECK(bytes_between(&c, &d).p_value > 0.1);
}

TEST(a_scale_makes_runs_of_different_length_comparable)
{
	const struct gg_tally hour = group(100, 64, 512 * KIB), two = group(200, 64, 512 * KIB);

	CHECK(gg_difference_of(&hour, &two, GG_BYTES, 1, 0.95).p_value < 1e-6);
	CHECK(gg_difference_of(&hour, &two, GG_BYTES, 2, 0.95).p_value > 0.9);
}

TEST(a_scale_of_one_side_is_its_inverse_on_the_other)
{
	for (uint64_t before = 0; before < 8; before += 2) {
		const struct gg_tally a = group(before, 64, 512 * KIB);
		const struct gg_tally b = group(3, 64, 512 * KIB);
		struct gg_difference d = gg_difference_of(&a, &b, GG_BYTES, 4, 0.95);
		struct gg_difference e = gg_difference_of(&b, &a, GG_BYTES, 0.25, 0.95);

		CHECK(fabs(d.value + 4 * e.value) < 1e-6);
		CHECK(fabs(d.low / (-4 * e.high) - 1) < 1e-9);
		CHECK(fabs(d.high / (-4 * e.low) - 1) < 1e-9);
		CHECK(fabs(d.p_value / e.p_value - 1) < 1e-4);
	}
}

/* Ends of a Poisson mean, given k, each missed with probability `tail` (Garwood 1936). */
static double poisson_low(double k, double tail)
{
	return k > 0 ? gg_gamma_lower_inverse(k, tail) : 0;
}

static double poisson_high(double k, double tail)
{
	return gg_gamma_upper_inverse(k + 1, tail);
}

/*
 * P(p <= a) if nothing changed, summed over all pairs of sample numbers: means m and ratio * m, as
 * with the same program sampled with an interval and with a `ratio`-th of it.  The reach is that
 * of gg_difference_of() for small objects (checked below).  *ret_conditional: the same of the
 * conditional binomial test.
 */
static double null_size(double mean, double ratio, double a, double *ret_conditional)
{
	int last = (int)(mean * ratio + 12 * sqrt(mean * ratio) + 30);
	double size = 0, share = ratio / (1 + ratio);

	*ret_conditional = 0;
	for (int i = 0; i < last; i++) {
		double p = gg_poisson_probability(i, mean);
		double i_low = poisson_low(i, a / 2), i_high = poisson_high(i, a / 2);

		for (int j = 0; p > 1e-14 && j < last; j++) {
			double both = p * gg_poisson_probability(j, mean * ratio), reach;
			double x = i, y = j / ratio, tail;

			if (both < 1e-16)
				continue;
			reach = y > x ? hypot(y - poisson_low(j, a / 2) / ratio, i_high - x)
			              : hypot(x - i_low, poisson_high(j, a / 2) / ratio - y);
			if (fabs(y - x) > reach)
				size += both;
			tail = fmin(i > 0 ? gg_beta_lower(i, j + 1, 1 - share) : 1,
			            j > 0 ? gg_beta_lower(j, i + 1, share) : 1);
			if (2 * tail <= a)
				*ret_conditional += both;
		}
	}
	return size;
}

TEST(false_alarms_are_as_rare_as_promised_down_to_one_in_a_hundred_thousand)
{
	static const double means[] = { 0.3, 1, 2, 5, 12, 40 }, ratios[] = { 1, 4 };
	static const double levels[] = { 0.05, 1e-3, 1e-5 };

	for (size_t r = 0; r < GG_COUNT(ratios); r++) {
		for (size_t m = 0; m < GG_COUNT(means); m++) {
			for (size_t l = 0; l < GG_COUNT(levels); l++) {
				double conditional;
				double size = null_size(means[m], ratios[r], levels[l],
				                        &conditional);

				CHECK_MSG(size <= levels[l], "%g, %g: %g of %g", means[m],
				          ratios[r], size, levels[l]);
				/* Never less powerful than the conditional binomial. */
				CHECK_MSG(size >= conditional * (1 - 1e-9), "%g, %g: %g < %g",
				          means[m], ratios[r], size, conditional);
			}
		}
	}
}

TEST(p_values_of_small_objects_are_those_of_the_exact_sums)
{
	for (int i = 0; i < 8; i++) {
		for (int j = i + 1; j < 30; j += 3) {
			const struct gg_tally before = group((uint64_t)i, 8, 512 * KIB);
			const struct gg_tally after = group((uint64_t)j, 8, 512 * KIB);
			double p = bytes_between(&before, &after).p_value;
			double reach = hypot(j - poisson_low(j, p / 2), poisson_high(i, p / 2) - i);

			if (p < 1e-10)
				continue;
			CHECK_MSG(fabs(reach - (j - i)) < 1e-3 * (j - i), "%d %d: p %g, reach %g",
			          i, j, p, reach);
		}
	}
}

/* Samples `count` allocations of one size into the tally, by the gaps between samples. */
static void sample(struct gg_tally *tally, struct gg_rng *rng, uint64_t count, uint64_t size_bytes,
                   double interval)
{
	const struct gg_draw draw = { .sampling_interval = interval,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };
	double allocations_a_sample = interval / (double)size_bytes;

	for (uint64_t at = gg_rng_geometric(rng, allocations_a_sample); at < count;
	     at += 1 + gg_rng_geometric(rng, allocations_a_sample))
		gg_tally_add(tally, &draw, size_bytes);
}

TEST(mixed_sizes_and_unequal_intervals_keep_the_null_too)
{
	enum { RUNS = 20000 };
	struct gg_rng rng;
	uint64_t alarms_5 = 0, alarms_01 = 0;

	gg_rng_seed(&rng, 3, 0);
	for (int run = 0; run < RUNS; run++) {
		struct gg_tally tallies[2] = { { 0 }, { 0 } };
		double p;

		/* The same program twice, the second time at a quarter of the interval. */
		for (int side = 0; side < 2; side++) {
			double interval = side == 0 ? 512 * KIB : 128 * KIB;

			gg_tally_expose(&tallies[side], interval);
			sample(&tallies[side], &rng, 32768, 64, interval); /* 2 MiB */
			sample(&tallies[side], &rng, 8, 131072, interval);
			sample(&tallies[side], &rng, 2, 1048576, interval);
		}
		p = bytes_between(&tallies[0], &tallies[1]).p_value;
		alarms_5 += p <= 0.05;
		alarms_01 += p <= 0.001;
	}
	/* At most the level, plus 3 sigma of a share of 20 000. */
	CHECK_MSG((double)alarms_5 / RUNS <= 0.05 + 0.0046, "%ju", (uintmax_t)alarms_5);
	CHECK_MSG((double)alarms_01 / RUNS <= 0.001 + 0.00067, "%ju", (uintmax_t)alarms_01);
}

/* The bound never claims more than the p-value is, and decides most of the rows. */
TEST(a_p_value_that_exceeds_a_limit_by_its_bound_does_exceed_it)
{
	const double limits[] = { 1e-4, 0.01, 0.05, 0.3, 0.7 };
	const double scales[] = { 0.25, 1, 1.01, 3 };
	const uint64_t sizes[] = { 16, 4096, 500 * KIB, 1900 * KIB, 3000 * KIB };
	int decided = 0, tested = 0;

	for (uint64_t i = 0; i < 14 * 14 * 20; i++) {
		double scale = scales[i % 4], value;
		uint64_t size_bytes = sizes[i / 4 % 5];
		const struct gg_tally a = group(i / 20 % 14, size_bytes, 512 * KIB);
		const struct gg_tally b = group(i / 280, 2 * size_bytes, 256 * KIB);
		enum gg_quantity quantity = i % 3 == 0 ? GG_ALLOCATIONS : GG_BYTES;
		struct gg_difference d = gg_difference_of(&a, &b, quantity, scale, 0.95);

		for (size_t k = 0; k < GG_COUNT(limits); k++) {
			if (!gg_difference_p_exceeds(&a, &b, quantity, scale, limits[k], &value)) {
				tested += d.p_value > 2 * limits[k];
				continue;
			}
			CHECK_MSG(d.p_value > limits[k], "%g <= %g", d.p_value, limits[k]);
			CHECK_EQ_DOUBLE(value, d.value);
			decided++;
		}
	}
	CHECK_MSG(decided > 4 * tested, "%d against %d", decided, tested);
}

TEST(adjusted_p_values_are_those_of_benjamini_and_hochberg)
{
	/* The 15 of their paper, section 3.2: at 5 % exactly the first four are discoveries. */
	double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		       0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	size_t order[15], count = 0;

	CHECK_EQ_U64(gg_false_discovery(p, 15, order), 15);
	for (int i = 0; i < 15; i++)
		count += p[i] <= 0.05;
	CHECK_EQ_U64(count, 4);
	CHECK(fabs(p[0] - 0.0015) < 1e-12 && fabs(p[3] - 0.0095 * 15 / 4) < 1e-12);
	/* A smaller later one carries over: 0.0298 * 15 / 7 is below 0.0278 * 15 / 6. */
	CHECK(p[5] == p[6] && fabs(p[6] - 0.0298 * 15 / 7) < 1e-12 && fabs(p[7] - 0.0645) < 1e-12);
}

TEST(rows_that_were_not_tested_do_not_count)
{
	double p[] = { NAN, 0.04, NAN, 0.03 };
	size_t order[4];

	CHECK_EQ_U64(gg_false_discovery(p, 4, order), 2);
	CHECK(order[0] == 3 && order[1] == 1);
	CHECK(isnan(p[0]) && isnan(p[2]) && p[1] == 0.04 && p[3] == 0.04);
	CHECK_EQ_U64(gg_false_discovery(p, 0, order), 0);
}

TEST(equal_p_values_get_equal_rates)
{
	double p[] = { 0.01, 0.5, 0.01, 0.01 };
	size_t order[4];

	gg_false_discovery(p, 4, order);
	CHECK(p[0] == p[2] && p[2] == p[3] && fabs(p[0] - 0.04 / 3) < 1e-15);
	CHECK(order[0] == 0 && order[1] == 2 && order[2] == 3 && order[3] == 1);
}

/*
 * 12 000 stacks of 1 to 10 samples, 4 of which grew by 40: over 3 repetitions, the share of false
 * ones among the discoveries must average to 5 % at most (it is less: small counts cannot reach
 * every p-value), and nearly all that grew must be found.
 */
TEST(the_four_stacks_that_grew_are_found_among_12000)
{
	enum { STACKS = 12000, GREW = 4, REPEATS = 20 };
	double *p = malloc(STACKS * sizeof(*p));
	size_t *order = malloc(STACKS * sizeof(*order));
	struct stat_moments false_share = { 0 };
	uint64_t found = 0;
	struct gg_rng rng;

	gg_rng_seed(&rng, 5, 0);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		size_t discoveries = 0, right = 0;

		for (size_t i = 0; i < STACKS; i++) {
			/* 1 to 10 samples expected: 8192 allocations of 64 bytes each. */
			uint64_t allocations = 8192 * (1 + i % 10);
			struct gg_tally before = { 0 }, after = { 0 };

			gg_tally_expose(&before, 512 * KIB);
			gg_tally_expose(&after, 512 * KIB);
			sample(&before, &rng, allocations, 64, 512 * KIB);
			sample(&after, &rng, allocations + (i < GREW ? 40 * 8192 : 0), 64,
			       512 * KIB);
			p[i] = bytes_between(&before, &after).p_value;
		}
		gg_false_discovery(p, STACKS, order);
		for (size_t i = 0; i < STACKS; i++) {
			discoveries += p[i] <= 0.05;
			right += i < GREW && p[i] <= 0.05;
		}
		found += right;
		stat_add(&false_share,
		         discoveries > 0 ? (double)(discoveries - right) / (double)discoveries : 0);
	}
	CHECK_MSG(false_share.mean <= 0.05 + 3 * stat_error_of_mean(&false_share), "%g",
	          false_share.mean);
	CHECK_MSG(found >= REPEATS * GREW - 1, "%ju", (uintmax_t)found);
	free(p);
	free(order);
}

TEST(a_difference_includes_what_changed_since_the_values_were_read)
{
	struct gg_tally before = group(20, 64, 512 * KIB), after = group(60, 64, 512 * KIB);
	struct gg_difference was = bytes_between(&before, &after), is;

	CHECK_MSG(was.p_value > 0 && was.p_value < 1e-4, "%g", was.p_value);
	gg_tally_change_bytes(&after, was.value / 4, 0);
	is = bytes_between(&before, &after);
	CHECK_EQ_DOUBLE(is.value, was.value);
	CHECK_EQ_DOUBLE(is.low, was.low - was.value / 4);
	CHECK_EQ_DOUBLE(is.high, was.high + was.value / 4);
	CHECK_MSG(is.p_value > was.p_value && is.p_value < 0.05, "%g", is.p_value);
	/* The change alone may be the whole difference. */
	gg_tally_change_bytes(&after, was.value, 0);
	CHECK_EQ_DOUBLE(bytes_between(&before, &after).p_value, 1);
}
