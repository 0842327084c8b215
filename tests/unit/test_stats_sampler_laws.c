/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_sampler_laws - tests bias, variance and gaps of each scheme.
 *
 * The laws are written down here independently.  All seeds are fixed.  Bounds are 5 sigma (false
 * alarm: 1 seed in 1.7 million), with sigma from theory.  If a run's own choices make the law
 * (change_when_sampled), sigma is observed.
 */
#include <math.h>

#include "base/hash.h"
#include "stat.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define SIGMAS 5

/* Mean, variance and fourth cumulant of what one allocation, or a sum of them, is estimated at. */
struct law {
	double mean, variance, fourth_cumulant;
};

static void add_law(struct law *sum, struct law law)
{
	sum->mean += law.mean;
	sum->variance += law.variance;
	sum->fourth_cumulant += law.fourth_cumulant;
}

/* value/p with probability p, else 0. */
static struct law inclusion_law(double value, double p)
{
	double odds = (1 - p) / p, variance = value * value * odds;
	double fourth_moment = pow(value, 4) * (odds * odds * odds * (1 - p) + (1 - p));

	return (struct law){ value, variance, fourth_moment - 3 * variance * variance };
}

/* n value/x with n of a Poisson law of mean x, all of whose cumulants are x. */
static struct law count_law(double value, double x)
{
	return (struct law){ value, value * value / x, pow(value / x, 4) * x };
}

/*
 * The law of the estimate of an allocation's `value` (its bytes, or 1), by the scheme's definition.
 */
static struct law law_of(const struct gg_sampler_options *options, double class_interval,
                         double length, double value)
{
	double interval = options->sampling_interval, x = length / interval;

	switch (options->scheme) {
	case GG_SCHEME_POISSON_COUNT:
		if (x >= log(100))
			return (struct law){ .mean = value };
		return count_law(value, x);
	case GG_SCHEME_BERNOULLI:
		return inclusion_law(value, -expm1(length * log1p(-1 / interval)));
	case GG_SCHEME_PER_ALLOCATION:
		return inclusion_law(value, 1 / interval);
	case GG_SCHEME_OPTIMAL:
		return inclusion_law(value,
		                     class_interval > 1 ? -expm1(-length / class_interval) : 1);
	case GG_SCHEME_POISSON:
	case GG_SCHEME_STRIDE: /* a law of its own: below */
		break;
	}
	return inclusion_law(value, -expm1(-x));
}

/* One allocation through the sampler: its estimate, all zero if it is not a sample. */
static struct gg_weight allocate(struct gg_sampler *s, uint64_t size)
{
	struct gg_weight nothing = { 0 };
	struct gg_draw draw;

	if (!gg_sampler_due(s, size) || !gg_sampler_take(s, size, &draw))
		return nothing;
	CHECK(gg_draw_is_valid(&draw));
	return gg_weight_of(&draw, size);
}

static const enum gg_scheme independent_schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
	                                              GG_SCHEME_POISSON_COUNT,
	                                              GG_SCHEME_PER_ALLOCATION, GG_SCHEME_OPTIMAL };

/* The interval of a size's class, for optimal: from 1 to about 100 bytes, in no order. */
static double class_interval(uint64_t size)
{
	unsigned class = gg_size_class(size);

	return class % 11 == 3 ? 1 : 2 + 1.7 * (class * 29 % 64);
}

static const struct gg_optimal_rates *test_rates(void)
{
	static struct gg_optimal_rates rates;
	double intervals[GG_SIZE_CLASS_COUNT];

	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = class_interval(gg_size_class_bytes(i));
	gg_optimal_rates_set(&rates, intervals);
	return &rates;
}

/* The same 100 times longer, so that many drawn sample points are on one allocation. */
static const struct gg_optimal_rates *long_rates(void)
{
	static struct gg_optimal_rates rates;
	double intervals[GG_SIZE_CLASS_COUNT];

	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = 100 * class_interval(gg_size_class_bytes(i));
	gg_optimal_rates_set(&rates, intervals);
	return &rates;
}

/* `count` allocations of one size in one stream: the mean estimate, and the share of samples. */
static void check_bias(const struct gg_sampler_options *options, uint64_t size, uint64_t count)
{
	double length = (double)gg_length_bytes(size), n = (double)count, bytes = 0, number = 0;
	double own = class_interval(size) * (options->rates == long_rates() ? 100 : 1);
	struct law byte_law = law_of(options, own, length, (double)size);
	struct law count_law_of_one = law_of(options, own, length, 1);
	struct gg_sampler s = { 0 };

	gg_sampler_init(&s, options);
	for (uint64_t i = 0; i < count; i++) {
		struct gg_weight w = allocate(&s, size);

		bytes += w.bytes;
		number += w.count;
	}
	CHECK_MSG(stat_within(bytes / n, byte_law.mean, sqrt(byte_law.variance / n) + 1e-9 * length,
	                      SIGMAS),
	          "%s, R %g, size %g: %g bytes, sigma %g", gg_scheme_name(options->scheme),
	          options->sampling_interval, length, bytes / n, sqrt(byte_law.variance / n));
	CHECK_MSG(stat_within(number / n, 1, sqrt(count_law_of_one.variance / n) + 1e-9, SIGMAS),
	          "%s, R %g, size %g: %g allocations, sigma %g", gg_scheme_name(options->scheme),
	          options->sampling_interval, length, number / n,
	          sqrt(count_law_of_one.variance / n));
}

/* Sizes from nothing to 64 R; `visit` tells whether checkpoints come between the points. */
static void check_bias_of_all_sizes(double interval, uint64_t visit)
{
	const double shares[] = { 0, 1 / 64., 0.25, M_LN2, 1, 1.5, 2.5, 4.6, 4.7, 8, 16, 64 };
	const uint64_t small[] = { 0, 1, 2, 3, 8 };

	for (size_t i = 0; i < GG_COUNT(independent_schemes); i++) {
		struct gg_sampler_options options = { .scheme = independent_schemes[i],
			                              .sampling_interval = interval,
			                              .rates = test_rates(),
			                              .visit_bytes = visit,
			                              .seed = 100 + i };

		for (size_t j = 0; j < GG_COUNT(shares); j++)
			check_bias(&options, (uint64_t)(shares[j] * interval), 50 * 1000);
		for (size_t j = 0; j < GG_COUNT(small); j++)
			check_bias(&options, small[j], 1000 * 1000);
	}
}

TEST(estimates_of_bytes_and_counts_are_unbiased_from_1_byte_to_64_intervals)
{
	check_bias_of_all_sizes(64, 0);
	check_bias_of_all_sizes(1000, 0);
	check_bias_of_all_sizes(1.5, 0);
}

TEST(checkpoints_bias_nothing_however_often_they_come)
{
	check_bias_of_all_sizes(1000, 1);
	check_bias_of_all_sizes(1000, 100);
	check_bias_of_all_sizes(64, 333);
}

TEST(classes_with_long_intervals_are_unbiased_too)
{
	const uint64_t sizes[] = { 0, 1, 5, 8, 40, 64, 300, 1000, 5000, 100 * 1000 };
	struct gg_sampler_options options = { .scheme = GG_SCHEME_OPTIMAL,
		                              .sampling_interval = 1000,
		                              .rates = long_rates(),
		                              .seed = 11 };

	for (uint64_t visit = 0; visit < 400; visit += 133) {
		options.visit_bytes = visit;
		for (size_t i = 0; i < GG_COUNT(sizes); i++)
			check_bias(&options, sizes[i], sizes[i] < 1000 ? 2000 * 1000 : 50 * 1000);
	}
}

TEST(the_default_interval_is_unbiased_too)
{
	for (size_t i = 0; i < GG_COUNT(independent_schemes); i++) {
		struct gg_sampler_options options = {
			.scheme = independent_schemes[i],
			.sampling_interval = GG_SAMPLER_DEFAULT_INTERVAL,
			.rates = test_rates(),
			.seed = 7
		};

		check_bias(&options, 48, 8 * 1000 * 1000);
		check_bias(&options, 4096, 1000 * 1000);
		check_bias(&options, 1 << 19, 50 * 1000);
	}
}

/* The i-th size of a program of many kinds: small ones most often, up to 8000 bytes. */
static uint64_t program_size(uint64_t i)
{
	static const uint16_t sizes[] = {
		0, 8, 16, 16, 24, 32, 48, 100, 640, 700, 1000, 3000, 8000
	};

	return sizes[gg_hash_integer(i, 5) % GG_COUNT(sizes)];
}

/* Over many seeds: is the variance of a program's estimate what the sum of its laws says? */
static void check_variance(enum gg_scheme scheme, uint64_t visit)
{
	enum { RUNS = 5000, ALLOCATIONS = 300 };
	struct gg_sampler_options options = { .scheme = scheme,
		                              .sampling_interval = 1000,
		                              .rates = test_rates(),
		                              .visit_bytes = visit };
	struct stat_moments bytes = { 0 }, count = { 0 }, own_variance = { 0 };
	struct law byte_law = { 0 }, number_law = { 0 };

	for (uint64_t i = 0; i < ALLOCATIONS; i++) {
		uint64_t size = program_size(i);
		double length = (double)gg_length_bytes(size), p = class_interval(size);

		add_law(&byte_law, law_of(&options, p, length, (double)size));
		add_law(&number_law, law_of(&options, p, length, 1));
	}
	for (uint64_t run = 0; run < RUNS; run++) {
		struct gg_weight sum = { 0 };
		struct gg_sampler s = { 0 };

		options.seed = run + 1;
		gg_sampler_init(&s, &options);
		for (uint64_t i = 0; i < ALLOCATIONS; i++) {
			struct gg_weight w = allocate(&s, program_size(i));

			sum.bytes += w.bytes;
			sum.count += w.count;
			sum.bytes_variance += w.bytes_variance;
		}
		stat_add(&bytes, sum.bytes);
		stat_add(&count, sum.count);
		stat_add(&own_variance, sum.bytes_variance);
	}
	CHECK_MSG(stat_within(bytes.mean, byte_law.mean, sqrt(byte_law.variance / RUNS), SIGMAS),
	          "%s: mean %g of %g", gg_scheme_name(scheme), bytes.mean, byte_law.mean);
	CHECK_MSG(
		stat_within(count.mean, number_law.mean, sqrt(number_law.variance / RUNS), SIGMAS),
		"%s: count %g of %g", gg_scheme_name(scheme), count.mean, number_law.mean);
	/* Var(sample variance) = (fourth cumulant + 2 variance^2) / n. */
	CHECK_MSG(
		stat_within(stat_variance(&bytes) / byte_law.variance, 1,
	                    sqrt((byte_law.fourth_cumulant / pow(byte_law.variance, 2) + 2) / RUNS),
	                    SIGMAS),
		"%s: variance %g of the law's", gg_scheme_name(scheme),
		stat_variance(&bytes) / byte_law.variance);
	CHECK_MSG(stat_within(stat_variance(&count) / number_law.variance, 1,
	                      sqrt((number_law.fourth_cumulant / pow(number_law.variance, 2) + 2) /
	                           RUNS),
	                      SIGMAS),
	          "%s: variance of the count %g of the law's", gg_scheme_name(scheme),
	          stat_variance(&count) / number_law.variance);
	/* And each run's own estimate of it is right on average (sigma observed). */
	CHECK_MSG(stat_within(own_variance.mean, byte_law.variance,
	                      stat_error_of_mean(&own_variance), SIGMAS),
	          "%s: estimated variance %g of the law's", gg_scheme_name(scheme),
	          own_variance.mean / byte_law.variance);
}

TEST(the_variance_over_many_seeds_is_that_of_independent_allocations)
{
	for (size_t i = 0; i < GG_COUNT(independent_schemes); i++)
		check_variance(independent_schemes[i], 0);
	check_variance(GG_SCHEME_POISSON, 77);
	check_variance(GG_SCHEME_BERNOULLI, 77);
	check_variance(GG_SCHEME_POISSON_COUNT, 77);
}

static double exponential_cdf(double x, const void *interval)
{
	return -expm1(-x / *(const double *)interval);
}

/*
 * Collects `count` gaps: bytes between the end of a sample and the next sample point.  Sizes are
 * uniform between 1 and twice `mean_size`.
 */
static void collect_gaps(const struct gg_sampler_options *options, uint64_t mean_size, double *gaps,
                         size_t count)
{
	struct gg_sampler s = { 0 };
	struct gg_rng rng;
	double passed = 0;

	gg_rng_seed(&rng, 77, mean_size);
	gg_sampler_init(&s, options);
	for (size_t i = 0; i < count;) {
		uint64_t size = 1 + gg_rng_below(&rng, 2 * mean_size);
		struct gg_draw draw;

		if (!gg_sampler_due(&s, size) || !gg_sampler_take(&s, size, &draw)) {
			passed += (double)size;
			continue;
		}
		gaps[i++] = passed + (double)draw.offset_bytes;
		passed = 0;
	}
}

static double gaps[100 * 1000];

static void check_exponential_gaps(enum gg_scheme scheme, uint64_t mean_size, uint64_t visit)
{
	/* Whole bytes are 1e-9 of an interval; the cutoff (4.6 intervals) is never reached. */
	const double interval = 1e9;
	struct gg_sampler_options options = {
		.scheme = scheme, .sampling_interval = interval, .visit_bytes = visit, .seed = 3
	};

	collect_gaps(&options, mean_size, gaps, GG_COUNT(gaps));
	CHECK_MSG(stat_ks_distance(gaps, GG_COUNT(gaps), exponential_cdf, &interval) <
	                  stat_ks_limit(GG_COUNT(gaps), 1e-6),
	          "%s, sizes about %g, visits %g", gg_scheme_name(scheme), (double)mean_size,
	          (double)visit);
}

/* KS with alpha 1e-6: 100 000 gaps, so a distance above 0.0085. */
TEST(gaps_of_long_intervals_are_exponential)
{
	const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
		                           GG_SCHEME_POISSON_COUNT };

	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		check_exponential_gaps(schemes[i], 100 * 1000 * 1000, 0);
		check_exponential_gaps(schemes[i], 2000 * 1000 * 1000, 0);
		check_exponential_gaps(schemes[i], 100 * 1000 * 1000, 300 * 1000 * 1000);
	}
}

/* Chi-square of gaps in whole units 0 .. 7 R, `q` the chance of each to end there. */
static void check_geometric(const char *what, double interval, double q, size_t count)
{
	enum { CELLS = 100 };
	uint64_t observed[CELLS] = { 0 }, width = (uint64_t)(interval / 14) + 1;
	double expected[CELLS], stay = -log1p(-q) * (double)width;

	for (int i = 0; i < CELLS; i++)
		expected[i] = (double)count * exp(-stay * i) * (i < CELLS - 1 ? -expm1(-stay) : 1);
	for (size_t i = 0; i < count; i++)
		observed[(size_t)fmin(floor(gaps[i] / (double)width), CELLS - 1)]++;
	CHECK_MSG(stat_chi_square(observed, expected, CELLS) <
	                  stat_chi_square_limit(CELLS - 1, SIGMAS),
	          "%s, interval %g", what, interval);
}

TEST(gaps_in_whole_bytes_are_geometric)
{
	const double intervals[] = { 10, 100, 700 };

	for (size_t i = 0; i < GG_COUNT(intervals); i++) {
		struct gg_sampler_options options = { .sampling_interval = intervals[i],
			                              .seed = 9 };

		for (unsigned sized = 0; sized < 6; sized++) {
			options.visit_bytes = sized % 2 ? 17 : 0;
			options.scheme = GG_SCHEME_POISSON;
			collect_gaps(&options, 1 + sized * sized, gaps, GG_COUNT(gaps));
			check_geometric("poisson", intervals[i], -expm1(-1 / intervals[i]),
			                GG_COUNT(gaps));
			options.scheme = GG_SCHEME_BERNOULLI;
			collect_gaps(&options, 1 + sized * sized, gaps, GG_COUNT(gaps));
			check_geometric("bernoulli", intervals[i], 1 / intervals[i],
			                GG_COUNT(gaps));
		}
	}
}

/* Allocations, not bytes, from one sample to the next. */
TEST(coins_per_allocation_have_geometric_runs_whatever_the_sizes)
{
	struct gg_sampler_options options = { .scheme = GG_SCHEME_PER_ALLOCATION,
		                              .sampling_interval = 50,
		                              .seed = 4 };
	struct gg_sampler s = { 0 };
	uint64_t passed = 0;

	gg_sampler_init(&s, &options);
	for (size_t i = 0, sampled = 0; sampled < GG_COUNT(gaps); i++) {
		if (allocate(&s, program_size(i)).count > 0) {
			gaps[sampled++] = (double)passed;
			passed = 0;
		} else {
			passed++;
		}
	}
	check_geometric("per-allocation", 50, 1 / 50., GG_COUNT(gaps));
}

/* Numbers of points on one size, against Poisson; and neighbours are independent. */
static void check_sample_point_counts(double x)
{
	enum { COUNT = 500 * 1000, CELLS = 24 };
	struct gg_sampler_options options = { .scheme = GG_SCHEME_POISSON_COUNT,
		                              .sampling_interval = 1000,
		                              .seed = 12 };
	uint64_t observed[CELLS] = { 0 }, size = (uint64_t)(x * 1000);
	double expected[CELLS], rest = 1, probability = exp(-x), last = x;
	struct gg_sampler s = { 0 };
	struct stat_moments product = { 0 };
	int cells = 0;

	for (; cells < CELLS - 1 && (cells < x || COUNT * rest * 0.2 > 20); cells++) {
		expected[cells] = COUNT * probability;
		rest -= probability;
		probability *= x / (cells + 1);
	}
	expected[cells++] = COUNT * rest;
	gg_sampler_init(&s, &options);
	for (int i = 0; i < COUNT; i++) {
		double n = allocate(&s, size).bytes / 1000;

		observed[(size_t)fmin(n + 0.5, cells - 1)]++;
		stat_add(&product, (n - x) * (last - x));
		last = n;
	}
	CHECK_MSG(stat_chi_square(observed, expected, (size_t)cells) <
	                  stat_chi_square_limit((size_t)cells - 1, SIGMAS),
	          "%g points: chi-square %g", x,
	          stat_chi_square(observed, expected, (size_t)cells));
	CHECK_MSG(stat_within(product.mean, 0, x / sqrt(COUNT), SIGMAS), "%g points: covariance %g",
	          x, product.mean);
}

TEST(marks_counted_on_an_allocation_are_poisson_and_independent)
{
	check_sample_point_counts(0.1);
	check_sample_point_counts(1);
	check_sample_point_counts(2.5);
	check_sample_point_counts(4.6);
}
