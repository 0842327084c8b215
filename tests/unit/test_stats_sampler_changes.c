/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_sampler_changes - tests samplers whose interval changes as they run.
 *
 * It also checks figures about whole programs that descriptions of other samplers state.  Seeds are
 * fixed.  Bounds are 5 sigma: of the law if the run fixes it, and observed if the changes follow
 * the samples.
 */
#include <math.h>

#include "base/hash.h"
#include "stat.h"
#include "stats/sampling/sampler.h"
#include "stats/sampling/weight.h"
#include "test.h"

#define SIGMAS 5

static struct gg_sampler started(enum gg_scheme scheme, double interval, uint64_t seed)
{
	struct gg_sampler s = { 0 };

	gg_sampler_init(&s, &(struct gg_sampler_options){ .scheme = scheme,
	                                                  .sampling_interval = interval,
	                                                  .seed = seed });
	return s;
}

static void change(struct gg_sampler *s, enum gg_scheme scheme, double interval)
{
	gg_sampler_change(
		s, &(struct gg_sampler_options){ .scheme = scheme, .sampling_interval = interval });
}

/* Bytes that one allocation is estimated at: 0 if it is not a sample. */
static double allocate(struct gg_sampler *s, uint64_t size, struct gg_draw *ret_draw)
{
	if (!gg_sampler_due(s, size) || !gg_sampler_take(s, size, ret_draw))
		return 0;
	return gg_weight_of(ret_draw, size).bytes;
}

static double poisson_variance(double size, double interval)
{
	return size * size / expm1(size / interval);
}

/* Is the mean over runs the truth, with the variance of one run known, or observed (0)? */
static void check_mean(const char *what, const struct stat_moments *runs, double truth,
                       double variance)
{
	double sigma = variance > 0 ? sqrt(variance / (double)runs->count)
	                            : stat_error_of_mean(runs);

	CHECK_MSG(stat_within(runs->mean, truth, sigma, SIGMAS), "%s: %.6g of %.6g, sigma %.2g",
	          what, runs->mean, truth, sigma);
	/* Sums of hundreds of allocations are near normal: kurtosis 3, 4 allowed for. */
	if (variance > 0)
		CHECK_MSG(stat_within(stat_variance(runs) / variance, 1,
		                      sqrt(3 / (double)runs->count), SIGMAS),
		          "%s: variance %g of the law's", what, stat_variance(runs) / variance);
}

/* The i-th of a fixed sequence. */
static uint64_t some(uint64_t i, uint64_t below)
{
	return gg_hash_integer(i, 17) % below;
}

enum { RUNS = 4000, ALLOCATIONS = 1000 };

TEST(a_mark_keeps_the_interval_it_was_drawn_with)
{
	struct gg_sampler s = started(GG_SCHEME_POISSON, 1000, 1);
	struct gg_draw draw;

	for (int i = 0; i < 20 * 1000; i++) {
		double now = i % 2 ? 1000 : 50, next = i % 2 ? 50 : 1000;

		change(&s, GG_SCHEME_POISSON, now);
		(void)allocate(&s, 64, &draw); /* comes into force */
		while (!gg_sampler_due(&s, 64))
			;
		change(&s, GG_SCHEME_BERNOULLI, next); /* between due and take: from the next on */
		if (gg_sampler_take(&s, 64, &draw))
			CHECK(draw.sampling_interval == now && draw.scheme == GG_SCHEME_POISSON);
		if (allocate(&s, 64, &draw) > 0)
			CHECK(draw.sampling_interval == next && draw.scheme == GG_SCHEME_BERNOULLI);
	}
}

/* Three intervals by turns, for stretches of the program, for every allocation, at due only. */
static void check_changes(const char *what, uint64_t stretch, bool at_due)
{
	const double intervals[] = { 30, 200, 2000 };
	struct stat_moments runs = { 0 };
	double truth = 0, variance = 0;

	for (uint64_t i = 0; i < ALLOCATIONS; i++) {
		uint64_t size = 1 + some(i, 300);

		truth += (double)size;
		variance += poisson_variance((double)size, intervals[i / stretch % 3]);
	}
	for (uint64_t run = 0; run < RUNS; run++) {
		struct gg_sampler s = started(GG_SCHEME_POISSON, intervals[0], run + 1);
		double bytes = 0;
		struct gg_draw draw;

		for (uint64_t i = 0; i < ALLOCATIONS; i++) {
			uint64_t size = 1 + some(i, 300);
			bool due;

			if (!at_due && i % stretch == 0)
				change(&s, GG_SCHEME_POISSON, intervals[i / stretch % 3]);
			due = gg_sampler_due(&s, size);
			if (at_due && due)
				change(&s, GG_SCHEME_POISSON, intervals[(i + run) % 3]);
			if (due && gg_sampler_take(&s, size, &draw))
				bytes += gg_weight_of(&draw, size).bytes;
		}
		stat_add(&runs, bytes);
	}
	check_mean(what, &runs, truth, at_due ? 0 : variance);
}

TEST(changes_between_allocations_bias_nothing)
{
	check_changes("every 100th allocation", 100, false);
	check_changes("every 7th allocation", 7, false);
	check_changes("every allocation", 1, false);
}

TEST(changes_between_due_and_take_bias_nothing)
{
	check_changes("whenever due", 1, true);
}

/* Theory allows p to depend on the past, including samples, but not on its own coin. */
TEST(changes_that_follow_the_samples_bias_nothing)
{
	const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_BERNOULLI,
		                           GG_SCHEME_POISSON_COUNT, GG_SCHEME_PER_ALLOCATION };

	for (size_t j = 0; j < GG_COUNT(schemes); j++) {
		struct stat_moments runs = { 0 };
		double truth = 0;

		for (uint64_t i = 0; i < ALLOCATIONS; i++)
			truth += (double)some(i, 300);
		for (uint64_t run = 0; run < RUNS; run++) {
			struct gg_sampler s = started(schemes[j], 20, run + 1);
			double bytes = 0, interval = 20;
			struct gg_draw draw;

			for (uint64_t i = 0; i < ALLOCATIONS; i++) {
				double estimate = allocate(&s, some(i, 300), &draw);

				bytes += estimate;
				/* Slower after each sample, faster after a while without one. */
				if (estimate > 0)
					change(&s, schemes[j],
					       interval = fmin(1000, interval * 1.5));
				else if (i % 50 == 0)
					change(&s, schemes[j], interval = fmax(5, interval / 3));
			}
			stat_add(&runs, bytes);
		}
		check_mean(gg_scheme_name(schemes[j]), &runs, truth, 0);
	}
}

TEST(a_higher_rate_at_startup_biases_nothing)
{
	struct stat_moments runs = { 0 };
	double truth = 0, variance = 0;

	for (uint64_t i = 0; i < ALLOCATIONS; i++) {
		double size = (double)(1 + some(i, 300));

		truth += size;
		variance += poisson_variance(size, i < 200 ? 16 : 1000);
	}
	for (uint64_t run = 0; run < RUNS; run++) {
		struct gg_sampler s = started(GG_SCHEME_POISSON, 16, run + 1);
		double bytes = 0;
		struct gg_draw draw;

		for (uint64_t i = 0; i < ALLOCATIONS; i++) {
			if (i == 200)
				change(&s, GG_SCHEME_POISSON, 1000);
			bytes += allocate(&s, 1 + some(i, 300), &draw);
		}
		stat_add(&runs, bytes);
	}
	check_mean("startup", &runs, truth, variance);
}

/* Threads of different priority and scheme add up, each sample weighed by its own draw. */
TEST(threads_of_different_intervals_and_schemes_add_up)
{
	const enum gg_scheme schemes[] = { GG_SCHEME_POISSON, GG_SCHEME_POISSON,
		                           GG_SCHEME_BERNOULLI };
	const double intervals[] = { 20, 3000, 400 };
	struct stat_moments runs = { 0 };
	double truth = 0, variance = 0;

	for (uint64_t i = 0; i < ALLOCATIONS; i++) {
		double size = (double)(1 + some(i, 300)), interval = intervals[some(i, 7) % 3];

		if (some(i, 7) % 3 == 2)
			interval = -1 / log1p(-1 / interval);
		truth += size;
		variance += poisson_variance(size, interval);
	}
	for (uint64_t run = 0; run < RUNS; run++) {
		struct gg_sampler threads[3];
		double bytes = 0;
		struct gg_draw draw;

		for (uint64_t t = 0; t < 3; t++) {
			struct gg_sampler_options options = { .scheme = schemes[t],
				                              .sampling_interval = intervals[t],
				                              .seed = run + 1,
				                              .stream = t };
			threads[t] = (struct gg_sampler){ 0 };
			gg_sampler_init(&threads[t], &options);
		}
		for (uint64_t i = 0; i < ALLOCATIONS; i++)
			bytes += allocate(&threads[some(i, 7) % 3], 1 + some(i, 300), &draw);
		stat_add(&runs, bytes);
	}
	check_mean("three threads", &runs, truth, variance);
}

/*
 * "Stack A allocates 8 bytes, a million times, stack B 8 MB, once; R is 1 MB: we expect A to show
 * up about 8 times and B once.  Summed over machines first and unbiased then, A has 64 bytes a
 * machine; unbiased first, 8 MB."  The document has a million machines; with 100, only sigma
 * differs.
 */
TEST(stacks_of_jemallocs_example_are_right_only_if_unbiased_before_summing)
{
	enum { MACHINES = 100 };
	double a_samples = 0, b_samples = 0, a_bytes = 0, b_bytes = 0, a_raw = 0, b_raw = 0;
	const double interval = 1e6;

	for (uint64_t machine = 1; machine <= MACHINES; machine++) {
		struct gg_sampler s = started(GG_SCHEME_POISSON, interval, machine);
		struct gg_draw draw;

		for (int i = 0; i < 1000 * 1000; i++) {
			double estimate = allocate(&s, 8, &draw);

			if (estimate > 0) {
				a_samples++;
				a_raw += 8;
				a_bytes += estimate;
			}
		}
		if (gg_sampler_due(&s, 8000 * 1000) && gg_sampler_take(&s, 8000 * 1000, &draw)) {
			b_samples++;
			b_raw += 8e6;
			b_bytes += gg_weight_of(&draw, 8000 * 1000).bytes;
		}
	}
	/* 8 samples a machine, sigma sqrt(8); B: p = 1 - exp(-8) = 0.99966. */
	CHECK_MSG(stat_within(a_samples, 8 * MACHINES, sqrt(8 * MACHINES), SIGMAS), "A %g",
	          a_samples);
	CHECK_MSG(b_samples >= MACHINES - 2, "B %g", b_samples);
	CHECK_MSG(stat_within(a_bytes, 8e6 * MACHINES, 8e6 * MACHINES / sqrt(8 * MACHINES), SIGMAS),
	          "A %g bytes", a_bytes);
	CHECK_MSG(fabs(b_bytes / (8e6 * MACHINES) - 1) < 0.03, "B %g bytes", b_bytes);
	/* The wrong order: A and B grossly apart, and no unbiasing of sums so large helps. */
	CHECK(a_raw / MACHINES < 100 && b_raw / MACHINES > 7.8e6);
	CHECK(a_raw * 1000 * 1000 / MACHINES / -expm1(-a_raw * 1e6 / MACHINES / interval) <
	      1e-4 * a_bytes * 1000 * 1000 / MACHINES);
}

/* "The variance is at most N q/p", and that for objects of one byte: here p = 1/100, N = 20 000. */
TEST(dotnets_bound_of_the_variance_is_met_by_single_bytes_and_kept_by_all)
{
	const uint64_t sizes[] = { 1, 10, 100, 400 };
	const double bound = 20e3 * 0.99 / 0.01;

	for (size_t j = 0; j < GG_COUNT(sizes); j++) {
		struct stat_moments runs = { 0 };
		double q_to_n = pow(0.99, (double)sizes[j]), ratio;

		for (uint64_t run = 0; run < RUNS; run++) {
			struct gg_sampler s = started(GG_SCHEME_BERNOULLI, 100, run + 1);
			double bytes = 0;
			struct gg_draw draw;

			for (uint64_t i = 0; i < 20000 / sizes[j]; i++)
				bytes += allocate(&s, sizes[j], &draw);
			stat_add(&runs, bytes);
		}
		check_mean("20 000 bytes", &runs, 20e3,
		           20e3 * (double)sizes[j] * q_to_n / (1 - q_to_n));
		ratio = stat_variance(&runs) / bound;
		CHECK_MSG(sizes[j] == 1 ? fabs(ratio - 1) < SIGMAS * sqrt(3. / RUNS) : ratio < 1,
		          "size %d: %g of the bound", (int)sizes[j], ratio);
	}
}

/* Live bytes of a program by two plans of one budget: sampling by bytes, and the optimal one. */
TEST(optimal_sampling_has_the_variance_that_theory_gives_it)
{
	enum { CLASSES = 6 };
	/* Small ones die young; large ones stay. */
	const struct gg_optimal_class classes[CLASSES] = {
		{ 16, 3000, 10 }, { 64, 2000, 500 }, { 200, 500, 20 },
		{ 800, 300, 5 },  { 1000, 50, 50 },  { 4096, 10, 8 },
	};
	double p[CLASSES], intervals[GG_SIZE_CLASS_COUNT], truth = 0, variance = 0, by_bytes = 0,
							   budget = 0;
	struct gg_optimal_rates rates;
	struct stat_moments runs[2] = { { 0 } }, samples = { 0 };

	for (int i = 0; i < CLASSES; i++)
		budget += classes[i].allocated * -expm1(-classes[i].size_bytes / 5000);
	CHECK_EQ_I64(gg_optimal_plan(classes, CLASSES, budget, 1e-4, p), 0);
	for (int i = 0; i < GG_SIZE_CLASS_COUNT; i++)
		intervals[i] = 5000;
	for (int i = 0; i < CLASSES; i++) {
		const struct gg_optimal_class *class = &classes[i];

		intervals[gg_size_class((uint64_t) class->size_bytes)] = fmax(
			1, -class->size_bytes / log1p(-p[i])); /* 1 where p is */
		truth += class->size_bytes * class->live;
		variance += pow(class->size_bytes, 2) * class->live * (1 - p[i]) / p[i];
		by_bytes += class->live * poisson_variance(class->size_bytes, 5000);
	}
	gg_optimal_rates_set(&rates, intervals);
	for (uint64_t run = 0; run < 2 * RUNS; run++) {
		struct gg_sampler_options options = { .scheme = run % 2 ? GG_SCHEME_OPTIMAL
			                                                : GG_SCHEME_POISSON,
			                              .sampling_interval = 5000,
			                              .rates = &rates,
			                              .seed = run + 1 };
		struct gg_sampler s = { 0 };
		double live = 0, sampled = 0;
		struct gg_draw draw;

		gg_sampler_init(&s, &options);
		for (int i = 0; i < CLASSES; i++) {
			for (int j = 0; j < classes[i].allocated; j++) {
				double bytes = allocate(&s, (uint64_t)classes[i].size_bytes, &draw);

				live += j < classes[i].live ? bytes : 0;
				sampled += bytes > 0;
			}
		}
		stat_add(&runs[run % 2], live);
		if (run % 2)
			stat_add(&samples, sampled);
	}
	/* Few large values: the kurtosis that check_mean allows for is that of normal sums. */
	check_mean("by bytes", &runs[0], truth, by_bytes);
	check_mean("optimal", &runs[1], truth, variance);
	CHECK(stat_within(samples.mean, budget, stat_error_of_mean(&samples), SIGMAS));
	CHECK_MSG(variance < 0.6 * by_bytes, "%g of sampling by bytes", variance / by_bytes);
}

enum { SIBLINGS = 8, BEFORE_FORK = 20, AFTER_FORK = 30 };

static const enum gg_scheme all_schemes[] = { GG_SCHEME_POISSON,        GG_SCHEME_BERNOULLI,
	                                      GG_SCHEME_POISSON_COUNT,  GG_SCHEME_STRIDE,
	                                      GG_SCHEME_PER_ALLOCATION, GG_SCHEME_OPTIMAL };

static uint64_t size_at(uint64_t i)
{
	return 1 + some(i, 300);
}

static double scheme_interval(enum gg_scheme scheme)
{
	return scheme == GG_SCHEME_PER_ALLOCATION ? 50 : 8000;
}

/*
 * Estimates the bytes that a child allocates, which are less than an interval.  told_late: a bare
 * clone() made the child.  It learns of its fork when an allocation is due, and then adopts the
 * settings of the new process.
 */
static double allocate_in_child(struct gg_sampler child, uint64_t seed, bool told_late)
{
	double bytes = 0;
	struct gg_draw draw;
	bool told = !told_late;

	if (told)
		gg_sampler_reseed(&child, seed, 1);
	for (uint64_t i = 0; i < AFTER_FORK; i++) {
		if (!gg_sampler_due(&child, size_at(i)))
			continue;
		if (!told)
			gg_sampler_reseed(&child, seed, 1);
		if (told_late || i == 0)
			change(&child, child.scheme, child.options.sampling_interval);
		told = true;
		if (gg_sampler_take(&child, size_at(i), &draw))
			bytes += gg_weight_of(&draw, size_at(i)).bytes;
	}
	return bytes;
}

static void check_siblings(enum gg_scheme scheme, bool told_late)
{
	struct stat_moments each = { 0 }, sums = { 0 };
	double truth = 0;

	for (uint64_t i = 0; i < AFTER_FORK; i++)
		truth += (double)size_at(i);
	for (uint64_t run = 0; run < RUNS; run++) {
		struct gg_sampler s = started(scheme, scheme_interval(scheme), run + 1);
		double sum = 0;
		struct gg_draw draw;

		for (uint64_t i = 0; i < BEFORE_FORK; i++)
			allocate(&s, size_at(i), &draw);
		for (uint64_t k = 0; k < SIBLINGS; k++) {
			double bytes = allocate_in_child(s, run * SIBLINGS + k + 1, told_late);

			stat_add(&each, bytes);
			sum += bytes;
		}
		stat_add(&sums, sum);
	}
	check_mean(gg_scheme_name(scheme), &sums, SIBLINGS * truth, 0);
	/*
	 * The variances of independent siblings add up.  Both sides are observed, with a kurtosis
	 * below 9.
	 */
	if (!told_late)
		CHECK_MSG(stat_within(stat_variance(&sums) / (SIBLINGS * stat_variance(&each)), 1,
		                      sqrt((2 + 8 / SIBLINGS) / (double)RUNS), SIGMAS),
		          "%s: the variance of siblings together is %g of the sum of theirs",
		          gg_scheme_name(scheme),
		          stat_variance(&sums) / (SIBLINGS * stat_variance(&each)));
}

TEST(forked_siblings_are_unbiased_and_independent_under_every_scheme)
{
	for (size_t i = 0; i < GG_COUNT(all_schemes); i++)
		check_siblings(all_schemes[i], false);
}

TEST(children_that_hear_of_their_fork_when_a_mark_is_due_are_unbiased)
{
	for (size_t i = 0; i < GG_COUNT(all_schemes); i++)
		check_siblings(all_schemes[i], true);
}
