/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_optimal - tests the plan of least variance for a budget.
 *
 * It is compared with its Lagrange conditions, with a solver by bisection, and with the sampling by
 * bytes that it replaces.
 */
#include "stats/sampling/optimal.h"

#include <errno.h>
#include <math.h>

#include "base/hash.h"
#include "stats/sampling/weight.h"
#include "test.h"

enum { CLASSES = 40 };

/* The i-th number of a fixed sequence, uniform in [0, 1). */
static double random_unit(uint64_t i)
{
	return (double)(gg_hash_integer(i, 3) >> 11) * 0x1p-53;
}

/* Sizes 8 to some MB, many small ones and few large ones, which live longer or shorter. */
static void fill_classes(struct gg_optimal_class *classes, uint64_t seed)
{
	for (uint64_t i = 0; i < CLASSES; i++) {
		double size = floor(8 * pow(1.4, (double)i));

		classes[i].size_bytes = size;
		classes[i].allocated = floor(1e7 / size * (1 + random_unit(3 * i + seed)) + 1);
		classes[i].live = floor(classes[i].allocated *
		                        pow(random_unit(3 * i + 1 + seed), 3));
	}
}

static double samples_of(const struct gg_optimal_class *classes, const double *p)
{
	double samples = 0;

	for (int i = 0; i < CLASSES; i++)
		samples += classes[i].allocated * p[i];
	return samples;
}

/* sum Z^2 l (1-p)/p: of the live bytes. */
static double variance_of(const struct gg_optimal_class *classes, const double *p)
{
	double variance = 0;

	for (int i = 0; i < CLASSES; i++)
		variance += pow(classes[i].size_bytes, 2) * classes[i].live * (1 - p[i]) / p[i];
	return variance;
}

TEST(size_classes_are_monotonic_and_four_a_doubling)
{
	unsigned last = 0;

	CHECK_EQ_U64(gg_size_class(0), 0);
	for (uint64_t size = 1; size <= 8; size++)
		CHECK_EQ_U64(gg_size_class(size), size);
	for (int bit = 2; bit < 64; bit++) {
		for (uint64_t quarter = 4; quarter < 8; quarter++) {
			uint64_t first = quarter << (bit - 2);

			CHECK(gg_size_class(first) == last + 1 || first == 4);
			last = gg_size_class(first);
			CHECK_EQ_U64(gg_size_class(first + (first >> 3) / 2), last);
			CHECK(last < GG_SIZE_CLASS_COUNT);
		}
		last = gg_size_class((UINT64_C(1) << bit) + ((UINT64_C(1) << bit) - 1));
	}
	CHECK_EQ_U64(gg_size_class(UINT64_MAX), GG_SIZE_CLASS_COUNT - 1);
}

TEST(the_plan_uses_up_the_budget_and_keeps_every_p_above_the_floor)
{
	const double budgets[] = { 100, 1000, 1e4, 1e5, 1e6 };
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES];

	for (uint64_t seed = 0; seed < 200; seed++) {
		fill_classes(classes, seed * 1000);
		for (size_t j = 0; j < GG_COUNT(budgets); j++) {
			CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, budgets[j], 1e-6, p), 0);
			CHECK_MSG(fabs(samples_of(classes, p) / budgets[j] - 1) < 1e-9,
			          "seed %d, %g: %g", (int)seed, budgets[j], samples_of(classes, p));
			for (int i = 0; i < CLASSES; i++)
				CHECK(p[i] >= 1e-6 && p[i] <= 1);
		}
	}
}

/*
 * The plan is stationary: Z^2 l / (a p^2), the price of a sample, is the same number for all free
 * p.  It is larger where p is 1, and smaller where p is at the floor.  The problem is convex, so
 * the plan is the optimum.
 */
TEST(the_plan_meets_the_lagrange_conditions)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES];

	for (uint64_t seed = 0; seed < 200; seed++) {
		double low = 0, high = INFINITY;

		fill_classes(classes, seed * 1000);
		CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 3000, 1e-5, p), 0);
		for (int i = 0; i < CLASSES; i++) {
			double price = pow(classes[i].size_bytes / p[i], 2) * classes[i].live /
			               classes[i].allocated;

			if (p[i] > 1e-5)
				high = fmin(high, price);
			if (p[i] < 1)
				low = fmax(low, price);
		}
		CHECK_MSG(low <= high * (1 + 1e-9), "seed %d: %.17g above %.17g", (int)seed, low,
		          high);
	}
}

/* c by bisection of the budget, as a reader of the formula would. */
TEST(the_plan_is_the_one_that_bisection_finds)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES], q[CLASSES];

	for (uint64_t seed = 0; seed < 50; seed++) {
		double low = 1e-20, high = 1e20;

		fill_classes(classes, seed * 1000);
		for (int step = 0; step < 300; step++) {
			double c = sqrt(low * high);

			for (int i = 0; i < CLASSES; i++)
				q[i] = fmax(1e-6, fmin(1, c * classes[i].size_bytes *
				                                  sqrt(classes[i].live /
				                                       classes[i].allocated)));
			if (samples_of(classes, q) > 5000)
				high = c;
			else
				low = c;
		}
		CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 5000, 1e-6, p), 0);
		for (int i = 0; i < CLASSES; i++)
			CHECK_MSG(fabs(p[i] / q[i] - 1) < 1e-9, "seed %d, class %d: %g, %g",
			          (int)seed, i, p[i], q[i]);
	}
}

/*
 * Bytes: p = Z/R, samples P = sum a Z / R, variance R sum Z l = (sum Z l)(sum Z a) / P.
 * Optimal: c = P / sum Z sqrt(l a), variance (sum Z sqrt(l a))^2 / P.
 */
TEST(the_variance_falls_by_the_ratio_of_theory_while_p_is_small)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES], bytes_p[CLASSES];

	for (uint64_t seed = 0; seed < 50; seed++) {
		double live = 0, allocated = 0, both = 0, interval, ratio, theory;

		fill_classes(classes, seed * 1000);
		for (int i = 0; i < CLASSES; i++) {
			live += classes[i].size_bytes * classes[i].live;
			allocated += classes[i].size_bytes * classes[i].allocated;
			both += classes[i].size_bytes *
			        sqrt(classes[i].live * classes[i].allocated);
		}
		theory = live * allocated / (both * both);
		interval = 1e12; /* 1e6 times the largest size */
		for (int i = 0; i < CLASSES; i++) {
			struct gg_draw draw = { .sampling_interval = interval,
				                .sample_point_count = 1 };

			bytes_p[i] =
				gg_weight_of(&draw, (uint64_t)classes[i].size_bytes).probability;
		}
		CHECK_EQ_I64(
			gg_optimal_plan(classes, CLASSES, samples_of(classes, bytes_p), 1e-16, p),
			0);
		ratio = variance_of(classes, bytes_p) / variance_of(classes, p);
		CHECK_MSG(theory > 1 && fabs(ratio / theory - 1) < 1e-4, "%g, theory %g", ratio,
		          theory);
	}
}

TEST(when_all_sizes_live_equally_long_the_optimum_is_sampling_by_bytes)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES];

	fill_classes(classes, 0);
	for (int i = 0; i < CLASSES; i++)
		classes[i].live = classes[i].allocated / 4;
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 10, 1e-12, p), 0);
	for (int i = 0; i < CLASSES; i++)
		CHECK(fabs(p[i] / classes[i].size_bytes / (p[0] / classes[0].size_bytes) - 1) <
		      1e-12);
}

TEST(no_other_plan_of_the_same_budget_does_better)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES], other[CLASSES], least;

	fill_classes(classes, 5);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 5000, 1e-6, p), 0);
	least = variance_of(classes, p);
	for (uint64_t i = 0; i < 2000; i++) {
		/* Some samples move from one class to another. */
		int from = (int)(gg_hash_integer(i, 1) % CLASSES),
		    to = (int)(gg_hash_integer(i, 2) % CLASSES);
		double moved = 0.1 * random_unit(i) *
		               fmin(p[from] * classes[from].allocated,
		                    p[to] * classes[to].allocated);

		memcpy(other, p, sizeof(p));
		other[from] -= moved / classes[from].allocated;
		other[to] += moved / classes[to].allocated;
		if (other[to] <= 1 && other[from] >= 1e-6)
			CHECK_MSG(variance_of(classes, other) >= least * (1 - 1e-12), "%d to %d",
			          from, to);
	}
}

TEST(classes_not_seen_yet_are_taken_to_live_as_long_as_the_others)
{
	const struct gg_optimal_class classes[] = {
		{ .size_bytes = 100, .allocated = 1000, .live = 250 },
		{ .size_bytes = 50, .allocated = 0, .live = 0 },
		{ .size_bytes = 0, .allocated = 0, .live = 0 }, /* counts as 1 byte */
	};
	double p[3];

	CHECK_EQ_I64(gg_optimal_plan(classes, 3, 10, 1e-6, p), 0);
	CHECK(fabs(p[0] / 0.01 - 1) < 1e-14 && fabs(p[1] / 0.005 - 1) < 1e-14);
	CHECK(fabs(p[2] / 0.0001 - 1) < 1e-14);
}

TEST(nothing_alive_leaves_the_floor_and_enough_budget_takes_all)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES];

	fill_classes(classes, 1);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e12, 1e-6, p), 0);
	for (int i = 0; i < CLASSES; i++)
		CHECK_EQ_DOUBLE(p[i], 1);
	for (int i = 0; i < CLASSES; i++)
		classes[i].live = 0;
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e4, 1e-3, p), 0);
	for (int i = 0; i < CLASSES; i++)
		CHECK(p[i] >= 1e-3);
}

TEST(plans_that_cannot_be_are_refused_and_leave_the_result_alone)
{
	struct gg_optimal_class classes[CLASSES];
	double p[CLASSES] = { 42 };

	fill_classes(classes, 1);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 10, 0.5, p), -ERANGE);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e9, 0, p), -EINVAL);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e9, 1.5, p), -EINVAL);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e9, NAN, p), -EINVAL);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, -1, 1e-6, p), -EINVAL);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, NAN, 1e-6, p), -EINVAL);
	CHECK_EQ_I64(gg_optimal_plan(classes, GG_SIZE_CLASS_COUNT + 1, 1e9, 1e-6, p), -EINVAL);
	classes[3].live = classes[3].allocated + 1;
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e9, 1e-6, p), -EINVAL);
	classes[3].live = NAN;
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, 1e9, 1e-6, p), -EINVAL);
	CHECK_EQ_DOUBLE(p[0], 42);
}

/* A program over all classes: sizes in the middle of each, as fill_classes() has them. */
static void fill_all(struct gg_optimal_class *classes, uint64_t seed)
{
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double size = 1.1 * (double)gg_size_class_bytes(i);
		double seen = i < 100 ? 1 : 0;

		classes[i].size_bytes = seen * size;
		classes[i].allocated = seen *
		                       floor(1e9 / (size + 1) * (1 + random_unit(3 * i + seed)) +
		                             1);
		classes[i].live = floor(classes[i].allocated *
		                        pow(random_unit(3 * i + 1 + seed), 6));
	}
}

TEST(the_smallest_size_of_a_class_is_in_it_and_one_less_is_not)
{
	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		CHECK_EQ_U64(gg_size_class(gg_size_class_bytes(i)), i);
		CHECK(i == 0 || gg_size_class(gg_size_class_bytes(i) - 1) == i - 1);
	}
}

TEST(rates_stay_in_their_bounds_use_up_the_budget_and_keep_what_they_say)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates;
	const double interval = 0x1p19;
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(interval);

	for (uint64_t seed = 0; seed < 50; seed++) {
		double budget = 0, samples = 0;

		fill_all(classes, 1000 * seed);
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
			budget += classes[i].allocated *
			          -expm1(-fmax(classes[i].size_bytes, 1) / interval);
		CHECK_EQ_I64(gg_optimal_rates_plan(classes, budget, &bounds, &rates), 0);
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
			double class_interval = rates.intervals[i];

			samples += classes[i].allocated *
			           -expm1(-fmax(classes[i].size_bytes, 1) / class_interval);
			CHECK(class_interval >= bounds.shortest * (1 - 1e-12) &&
			      class_interval <= bounds.longest * (1 + 1e-12));
			CHECK(class_interval >= rates.shortest);
			CHECK(fabs(rates.keeps[i] * expm1(-1 / rates.shortest) /
			                   expm1(-1 / class_interval) -
			           1) < 1e-12);
		}
		CHECK_MSG(fabs(samples / budget - 1) < 1e-6, "seed %d: %g of %g", (int)seed,
		          samples, budget);
	}
}

TEST(what_classes_that_were_not_seen_have_changes_nothing_for_those_that_were)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates all, seen;
	const double interval = 0x1p19;
	struct gg_optimal_bounds bounds = gg_optimal_bounds_of(interval), given = bounds;

	given.unseen = interval / 4;
	for (uint64_t seed = 0; seed < 50; seed++) {
		double budget = 0, unlike = 0;

		fill_all(classes, 1000 * seed);
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i += 1 + (int)(seed % 3))
			classes[i].allocated = classes[i].live = 0;
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
			budget += classes[i].allocated *
			          -expm1(-fmax(classes[i].size_bytes, 1) / interval);
		CHECK_EQ_I64(gg_optimal_rates_plan(classes, budget, &bounds, &all), 0);
		CHECK_EQ_I64(gg_optimal_rates_plan(classes, budget, &given, &seen), 0);
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
			double wanted = classes[i].allocated > 0 ? all.intervals[i] : given.unseen;

			unlike = fmax(unlike, fabs(seen.intervals[i] / wanted - 1));
			CHECK(fabs(seen.keeps[i] * expm1(-1 / seen.shortest) /
			                   expm1(-1 / seen.intervals[i]) -
			           1) < 1e-12);
		}
		CHECK_MSG(unlike < 1e-9, "seed %d: off by %g", (int)seed, unlike);
	}
}

TEST(budgets_out_of_reach_give_the_floor_or_the_ceiling_to_all)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates;
	const struct gg_optimal_bounds bounds = { 100, 1000, 0 }, none = { 0.5, 1000, 0 };

	fill_all(classes, 1);
	CHECK_EQ_I64(gg_optimal_rates_plan(classes, 0, &bounds, &rates), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		CHECK(classes[i].allocated == 0 || rates.intervals[i] == 1000);
	CHECK_EQ_I64(gg_optimal_rates_plan(classes, 1e30, &bounds, &rates), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		CHECK(rates.intervals[i] == 100 && rates.keeps[i] == 1);
	CHECK_EQ_I64(gg_optimal_rates_plan(classes, 1, &none, &rates), -EINVAL);
	classes[7].live = classes[7].allocated + 1;
	CHECK_EQ_I64(gg_optimal_rates_plan(classes, 1, &bounds, &rates), -EINVAL);
}

/* Returns the variance of live bytes; *ret_samples: the samples that the rates take. */
static double rates_variance(const struct gg_optimal_class *classes, const double *intervals,
                             double *ret_samples)
{
	double variance = 0;

	*ret_samples = 0;
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double size = fmax(classes[i].size_bytes, 1), p = -expm1(-size / intervals[i]);

		variance += size * size * classes[i].live * (1 - p) / p;
		*ret_samples += classes[i].allocated * p;
	}
	return variance;
}

/* No other plan for that many samples has a smaller variance, so none for it has fewer samples. */
TEST(rates_for_a_variance_have_it_and_are_those_of_the_least_samples)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates, least;
	const double interval = 0x1p16;
	struct gg_optimal_bounds bounds = { interval / 32, interval * 4, interval };
	double intervals[GG_SIZE_CLASS_COUNT];

	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = interval;
	for (uint64_t seed = 0; seed < 50; seed++) {
		double wanted, variance, wanted_samples, samples, unlike = 0;

		fill_all(classes, 1000 * seed);
		wanted = rates_variance(classes, intervals, &wanted_samples);
		CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, interval, &bounds, &rates), 0);
		variance = rates_variance(classes, rates.intervals, &samples);
		CHECK_MSG(fabs(variance / wanted - 1) < 1e-6, "seed %d: %g of %g", (int)seed,
		          variance, wanted);
		CHECK_MSG(samples < wanted_samples, "seed %d: %g of %g", (int)seed, samples,
		          wanted_samples);
		CHECK_EQ_I64(gg_optimal_rates_plan(classes, samples, &bounds, &least), 0);
		for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
			unlike = fmax(unlike, fabs(least.intervals[i] / rates.intervals[i] - 1));
		CHECK_MSG(unlike < 1e-6, "seed %d: off by %g", (int)seed, unlike);
	}
}

TEST(variances_out_of_reach_give_one_of_the_bounds)
{
	static struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];
	static struct gg_optimal_rates rates;
	const struct gg_optimal_bounds bounds = { 100, 1000, 100 }, none = { 0.5, 1000, 0 };

	fill_all(classes, 1);
	CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, 1, &bounds, &rates), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		CHECK(rates.intervals[i] == 100);
	CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, 1e6, &bounds, &rates), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		CHECK(classes[i].allocated == 0 || rates.intervals[i] == 1000);
	CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, 100, &none, &rates), -EINVAL);
	CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, NAN, &bounds, &rates), -EINVAL);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		classes[i].live = 0;
	CHECK_EQ_I64(gg_optimal_rates_for_variance(classes, 500, &bounds, &rates), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		CHECK(classes[i].allocated == 0 || rates.intervals[i] == 1000);
}
