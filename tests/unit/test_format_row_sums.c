/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_row_sums - shows what rows of other tools' files stand for, and how uncertain they
 * are.
 */
#include "format/import/row_sums.h"

#include <math.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/rng.h"
#include "test.h"

#define R 524288.0

static bool is_near(double is, double wanted)
{
	return fabs(is - wanted) <= 1e-9 * fabs(wanted);
}

TEST(sampled_rows_are_divided_by_the_probability_of_their_mean_size)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, R, true };
	struct gg_row_sums row = gg_row_weighing(&how, 3, 3 * 65536);
	double p = 1 - exp(-65536 / R);

	CHECK(is_near(row.count, 3 / p) && is_near(row.bytes, 3 * 65536 / p));
	CHECK(row.samples == 3 && row.size == 3 * 65536 && row.unknown_errors == 0);
	CHECK(is_near(row.bytes_variance, 3 * 65536.0 * 65536 * (1 - p) / (p * p)));
}

TEST(scaled_rows_stay_as_they_are_and_have_the_same_error)
{
	const struct gg_row_weighing sampled = { GG_ROW_WEIGHING_SAMPLED, R, false };
	const struct gg_row_weighing scaled = { GG_ROW_WEIGHING_SCALED, R, false };
	struct gg_row_sums a = gg_row_weighing(&sampled, 7, 7 * 4096);
	struct gg_row_sums b = gg_row_weighing(&scaled, a.count, a.bytes);

	CHECK_EQ_DOUBLE(b.count, a.count);
	CHECK_EQ_DOUBLE(b.bytes, a.bytes);
	CHECK_EQ_DOUBLE(b.samples, 7);
	CHECK(is_near(b.bytes_variance, a.bytes_variance) && is_near(b.bytes_skew, a.bytes_skew));
	CHECK(is_near(b.count_variance, a.count_variance) && is_near(b.count_skew, a.count_skew));
}

TEST(what_counts_everything_is_exact_and_what_tells_nothing_is_unknown)
{
	const struct gg_row_weighing exact = { GG_ROW_WEIGHING_EXACT, 1, false };
	const struct gg_row_weighing every = { GG_ROW_WEIGHING_SAMPLED, 1, true };
	const struct gg_row_weighing unknown = { GG_ROW_WEIGHING_UNKNOWN, 0, true };
	struct gg_row_sums row = gg_row_weighing(&exact, 5, 500);

	CHECK_EQ_DOUBLE(row.count, 5);
	CHECK_EQ_DOUBLE(row.bytes, 500);
	CHECK_EQ_DOUBLE(row.bytes_variance, 0);
	CHECK_EQ_U64(row.unknown_errors, 0);
	CHECK_EQ_DOUBLE(row.samples, 5);
	row = gg_row_weighing(&every, 5, 500);
	CHECK_EQ_DOUBLE(row.count, 5);
	CHECK_EQ_DOUBLE(row.bytes, 500);
	CHECK_EQ_DOUBLE(row.bytes_variance, 0);
	row = gg_row_weighing(&unknown, 5, 500);
	CHECK_EQ_DOUBLE(row.count, 5);
	CHECK_EQ_DOUBLE(row.bytes, 500);
	CHECK_EQ_DOUBLE(row.samples, 1);
	CHECK_EQ_U64(row.unknown_errors, 1u << GG_BYTES | 1u << GG_ALLOCATIONS);
	row = gg_row_weighing(&unknown, 0, 0);
	CHECK_EQ_DOUBLE(row.samples, 0);
	row = gg_row_weighing(&every, 0,
	                      100); /* bytes of no object: nobody knows how they came about */
	CHECK(row.bytes == 100 && row.unknown_errors != 0);
}

TEST(a_million_machines_are_scaled_first_and_added_then)
{
	/* 8 bytes sampled eight times, and 8 MB once, on each of a million machines; R = 1 MB. */
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, 1e6, false };
	struct gg_row_sums small = { 0 }, large = { 0 };

	for (int i = 0; i < 1000000; i++) {
		struct gg_row_sums a = gg_row_weighing(&how, 8, 64),
				   b = gg_row_weighing(&how, 1, 8e6);

		gg_row_sums_add(&small, &a);
		gg_row_sums_add(&large, &b);
	}
	CHECK_MSG(fabs(small.bytes / 8e12 - 1) < 1e-5, "%g", small.bytes);
	CHECK_MSG(fabs(large.bytes / 8e12 - 1) < 1e-3, "%g", large.bytes); /* 1 - e^-8 */
	CHECK(fabs(small.count / 1e12 - 1) < 1e-5 && fabs(large.count / 1e6 - 1) < 1e-3);
	CHECK_EQ_DOUBLE(small.size, 64e6); /* what adding first would have made of it */
}

TEST(what_was_freed_is_the_rest_of_what_was_allocated)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, R, false };
	struct gg_row_sums ever = gg_row_weighing(&how, 10, 10 * 512),
			   live = gg_row_weighing(&how, 4, 4 * 512);
	struct gg_row_sums freed = gg_row_sums_rest(&ever, &live);
	struct gg_row_sums sum = live;

	CHECK(freed.samples == 6 && freed.size == 6 * 512);
	gg_row_sums_add(&sum, &freed);
	CHECK(is_near(sum.bytes, ever.bytes) && is_near(sum.count, ever.count));
	CHECK(is_near(sum.bytes_variance, ever.bytes_variance));
	CHECK(is_near(sum.bytes_skew, ever.bytes_skew));
	freed = gg_row_sums_rest(&live, &ever); /* rounded the wrong way: nothing, not less */
	CHECK_EQ_DOUBLE(freed.samples, 0);
	CHECK_EQ_DOUBLE(freed.bytes, 0);
}

/* The variance of the estimate of n objects of one size: the truth, not an estimate of it. */
static double variance_of(double count, double size)
{
	return count * size * size / expm1(size / R);
}

TEST(a_row_of_mixed_sizes_never_has_too_small_an_error)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, 7, 0);
	for (int i = 0; i < 100000; i++) {
		const struct gg_row_weighing how = { GG_ROW_WEIGHING_SCALED, R, true };
		double count = 0, bytes = 0, variance = 0;
		struct gg_row_sums row;

		for (int k = 0; k < 4; k++) {
			double n = floor(exp(gg_rng_uniform(&rng) * 12)) + 1;
			double size = floor(exp(gg_rng_uniform(&rng) * 18)) + 1;

			count += n;
			bytes += n * size;
			variance += variance_of(n, size);
		}
		row = gg_row_weighing(&how, count, bytes);
		if (!CHECK_MSG(row.bytes_variance >= variance * (1 - 1e-9),
		               "%g objects, %g bytes: %g < %g", count, bytes, row.bytes_variance,
		               variance))
			return;
	}
}

/*
 * Prints a sampled stack as jemalloc does, and reads it: the sums are true, their scale is undone.
 */
static struct gg_row_sums print_and_read(double count, double bytes)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, R, true };
	double size = bytes / count, printed = bytes * -expm1(-size / R);

	return gg_row_weighing(&how, fmax(round(printed / size), 1), round(printed));
}

static uint64_t count_sampled(struct gg_rng *rng, uint64_t count, double size)
{
	double p = -expm1(-size / R);
	uint64_t sampled = 0;

	for (uint64_t i = 0; i < count; i++)
		sampled += gg_rng_uniform(rng) < p;
	return sampled;
}

static struct gg_interval interval_of(const struct gg_row_sums *row)
{
	struct gg_sums sums = gg_row_sums_sums(row);
	struct gg_folded folded = { .sample_count = sums.sample_count,
		                    .seen_bytes = sums.size_bytes,
		                    .bytes = row->bytes,
		                    .bytes_variance = row->bytes_variance,
		                    .count = row->count,
		                    .count_variance = row->count_variance,
		                    .bytes_skew = row->bytes_skew,
		                    .count_skew = row->count_skew,
		                    .sampling_interval = R,
		                    .scheme = GG_SCHEME_POISSON,
		                    .most_bytes = UINT64_MAX };
	struct gg_tally tally = { 0 };

	gg_tally_add_folded(&tally, &folded);
	gg_tally_expose(&tally, R);
	return gg_interval_of(&tally, GG_BYTES, 0.95, false);
}

TEST(intervals_of_rows_that_jemalloc_printed_hold_the_truth)
{
	static const struct {
		uint64_t counts[2];
		double sizes[2];
	} stacks[] = { { { 4000, 0 }, { 4096, 0 } },
		       { { 20, 0 }, { 524288, 0 } },
		       { { 3000, 20 }, { 4096, 524288 } },
		       { { 500, 3 }, { 16384, 4194304 } },
		       { { 40, 20 }, { 262144, 8388608 } } };
	enum { RUNS = 4000 };
	struct gg_rng rng;

	gg_rng_seed(&rng, 11, 0);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		double truth = 0;
		int held = 0;

		for (int k = 0; k < 2; k++)
			truth += (double)stacks[i].counts[k] * stacks[i].sizes[k];
		for (int run = 0; run < RUNS; run++) {
			double count = 0, bytes = 0;
			struct gg_row_sums row = { 0 };
			struct gg_interval interval;

			for (int k = 0; k < 2; k++) {
				uint64_t n = count_sampled(&rng, stacks[i].counts[k],
				                           stacks[i].sizes[k]);
				double p = -expm1(-stacks[i].sizes[k] / R);

				if (n > 0) {
					count += (double)n / p;
					bytes += (double)n * stacks[i].sizes[k] / p;
				}
			}
			if (count > 0)
				row = print_and_read(count, bytes);
			interval = interval_of(&row);
			held += interval.low <= truth * (1 + 1e-3) &&
			        truth <= interval.high * (1 + 1e-3);
		}
		/* 94.5 % less 3 sigma, as for our own intervals. */
		CHECK_MSG(held >= RUNS * (0.945 - 3 * sqrt(0.055 * 0.945 / RUNS)),
		          "stack %zu: %d of %d", i, held, RUNS);
	}
}
