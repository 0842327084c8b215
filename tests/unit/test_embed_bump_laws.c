/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_embed_bump_laws - shows that samples of allocators add up to the allocated bytes.
 *
 * They come through bump.h and geiger_due(), with blocks, refills, sampling switched off, changing
 * intervals, and threads with different intervals.  Bounds are 5 sigma of the estimators' own laws.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "emulated.h"
#include "geiger/bump.h"
#include "geiger/geiger.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/tally.h"
#include "test.h"

#define SIGMAS 5

enum { BLOCK = 1 << 14, TYPES = 4 };

static const enum geiger_scheme schemes[] = { GEIGER_BERNOULLI, GEIGER_POISSON, GEIGER_STRIDE };
static const enum gg_scheme meant[] = { GG_SCHEME_BERNOULLI, GG_SCHEME_POISSON, GG_SCHEME_STRIDE };

static const struct {
	const char *name;
	size_t bytes; /* of its objects */
} types[TYPES] = { { "pair", 16 }, { "string", 100 }, { "vector", 1500 }, { "large", 9000 } };

struct sums {
	double estimate[TYPES];
	double failed[TYPES]; /* by failed trials */
	uint64_t truth[TYPES];
	struct gg_tally tally[TYPES];
	enum gg_scheme scheme;
};

static void add(void *user, const struct geiger_bump_sample *sample)
{
	struct sums *sums = user;
	struct gg_draw draw = { .sampling_interval = (double)sample->interval_bytes,
		                .offset_bytes = sample->offset,
		                .sample_point_count = sample->sample_points,
		                .scheme = sums->scheme };
	size_t type = 0;

	while (strcmp(types[type].name, sample->type) != 0)
		type++;
	sums->estimate[type] += geiger_estimate_bytes(sample);
	sums->failed[type] += (double)(sample->interval_bytes - 1) +
	                      (double)(sample->bytes - sample->offset);
	gg_tally_add(&sums->tally[type], &draw, sample->bytes);
}

/*
 * A periodic pattern, as in programs: 8 pairs, 3 strings, 2 vectors, and sometimes a large object.
 */
static size_t next_type(size_t step)
{
	return step % 101 == 100 ? 3 : step % 13 < 8 ? 0 : step % 13 < 11 ? 1 : 2;
}

/* One object, in a new block if need be. */
static void allocate(struct geiger_bump *bump, char *block, struct sums *sums, size_t type)
{
	if (geiger_bump_alloc(bump, types[type].bytes, types[type].name) == NULL) {
		geiger_bump_refill(bump, block, block + BLOCK);
		if (geiger_bump_alloc(bump, types[type].bytes, types[type].name) == NULL)
			abort();
	}
	sums->truth[type] += types[type].bytes;
}

static struct geiger_bump begin(enum geiger_scheme scheme, enum gg_scheme internal,
                                uint64_t interval, uint64_t seed, struct sums *sums)
{
	struct geiger_bump_config config = { .scheme = scheme,
		                             .interval_bytes = interval,
		                             .seed = seed,
		                             .on_sample = add,
		                             .user = sums };
	struct geiger_bump bump;

	*sums = (struct sums){ .scheme = internal };
	CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
	return bump;
}

/* Are the means of the errors 0?  sigmas: of these means by the law; NULL: as observed. */
static void check_means(const struct stat_moments moments[TYPES], const double *sigmas,
                        const char *what, int scheme)
{
	for (size_t type = 0; type < TYPES; type++) {
		double sigma = sigmas != NULL ? sigmas[type] : stat_error_of_mean(&moments[type]);

		CHECK_MSG(fabs(moments[type].mean) <= SIGMAS * sigma + 1e-9,
		          "%s, scheme %d: %s are off by %g bytes, sigma %g", what, scheme,
		          types[type].name, moments[type].mean, sigma);
	}
}

/* The variance of independent trials: sum of Z^2 (1-p)/p.  (A miss may be too rare to observe.) */
static double variance_of(size_t type, uint64_t truth, double interval)
{
	double size = (double)types[type].bytes, x = -log1p(-1 / interval) * size;

	return (double)truth * size / expm1(x);
}

TEST(estimates_of_each_type_are_unbiased_under_every_scheme_and_interval)
{
	static const uint64_t intervals[] = { 64, 1000, 20000, 200000 };
	static char block[BLOCK];
	const unsigned seeds = unless_emulated(400);

	for (size_t i = 0; i < GG_COUNT(schemes); i++)
		for (size_t k = 0; k < GG_COUNT(intervals); k++) {
			struct stat_moments errors[TYPES] = { 0 }, failed[TYPES] = { 0 };
			bool is_stride = schemes[i] == GEIGER_STRIDE;
			double sigmas[TYPES];

			for (uint64_t seed = 1; seed <= seeds; seed++) {
				struct sums sums;
				struct geiger_bump bump = begin(schemes[i], meant[i], intervals[k],
				                                seed, &sums);

				for (size_t step = 0; step < 1000; step++)
					allocate(&bump, block, &sums, next_type(step));
				for (size_t t = 0; t < TYPES; t++) {
					stat_add(&errors[t],
					         sums.estimate[t] - (double)sums.truth[t]);
					stat_add(&failed[t],
					         sums.failed[t] - (double)sums.truth[t]);
					sigmas[t] = sqrt(variance_of(t, sums.truth[t],
					                             (double)intervals[k]) /
					                 seeds);
				}
			}
			check_means(errors, is_stride ? NULL : sigmas, "weighted", (int)i);
			if (!is_stride)
				check_means(failed, NULL, "failed trials", (int)i);
		}
}

/*
 * A program that switches sampling on and off and changes the interval at every moment, by what it
 * allocates and by how much of the block is left, never by what was sampled.
 */
TEST(switching_and_changing_intervals_at_any_moment_leave_no_bias)
{
	static const uint64_t intervals[] = { 100, 3000, 50000, 700 };
	static char block[BLOCK];

	for (size_t i = 0; i < GG_COUNT(schemes); i++) {
		struct stat_moments errors[TYPES] = { 0 };

		for (uint64_t seed = 1; seed <= unless_emulated(1500); seed++) {
			struct sums sums;
			struct geiger_bump bump = begin(schemes[i], meant[i], 1000, seed, &sums);
			bool on = true;

			for (size_t step = 0; step < 700; step++) {
				size_t type = next_type(step);
				uint64_t before = sums.truth[type];

				if (step % 17 == 3)
					geiger_bump_set_interval(&bump, intervals[step / 17 % 4]);
				if (step % 29 == 7)
					geiger_bump_enable(&bump, on = !on);
				if (step % 31 == 30)
					geiger_bump_refill(&bump, block,
					                   block + 1 + step * 37 % BLOCK);
				allocate(&bump, block, &sums, type);
				if (!on)
					sums.truth[type] = before; /* nobody asked */
			}
			for (size_t t = 0; t < TYPES; t++)
				stat_add(&errors[t], sums.estimate[t] - (double)sums.truth[t]);
		}
		check_means(errors, NULL, "switching", (int)i);
	}
}

/* The variance is that of the law, so the confidence intervals are right. */
TEST(the_variance_is_that_of_independent_trials)
{
	static char block[BLOCK];
	struct stat_moments estimates = { 0 };
	const double interval = 5000;
	const unsigned seeds = unless_emulated(4000);
	double expected = 0;
	struct sums sums = { 0 };

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct geiger_bump bump = begin(GEIGER_BERNOULLI, GG_SCHEME_BERNOULLI, 5000, seed,
		                                &sums);

		for (size_t step = 0; step < 300; step++)
			allocate(&bump, block, &sums, next_type(step));
		stat_add(&estimates,
		         sums.estimate[0] + sums.estimate[1] + sums.estimate[2] + sums.estimate[3]);
	}
	for (size_t t = 0; t < TYPES; t++)
		expected += variance_of(t, sums.truth[t], interval);
	/* The variance of n nearly normal values has itself the relative variance 2/n. */
	CHECK_MSG(stat_within(stat_variance(&estimates) / expected, 1,
	                      sqrt(2.0 / (double)estimates.count), SIGMAS),
	          "%g of the variance", stat_variance(&estimates) / expected);
}

/*
 * The truth of each type lies in its nominal 95 % interval in at least 95 % of the runs minus 3
 * sigma, 930 of 1000.  The runs use the real allocator and both estimators.
 */
TEST(truths_of_types_lie_in_their_confidence_intervals_as_often_as_these_say)
{
	static char block[BLOCK];
	const unsigned runs = unless_emulated(1000);
	const double least = 0.95 * runs - 3 * sqrt(0.95 * 0.05 * runs);

	for (size_t i = 0; i < 2; i++) { /* stride has no such law */
		int inside[TYPES] = { 0 }, inside_failed[TYPES] = { 0 };

		for (uint64_t seed = 1; seed <= runs; seed++) {
			struct sums sums;
			struct geiger_bump bump = begin(schemes[i], meant[i], 20000, seed, &sums);

			for (size_t step = 0; step < 4000; step++)
				allocate(&bump, block, &sums, next_type(step));
			for (size_t t = 0; t < TYPES; t++) {
				double truth = (double)sums.truth[t];
				struct gg_interval by_weight, by_failures;

				gg_tally_expose(&sums.tally[t], 20000);
				by_weight = gg_interval_of(&sums.tally[t], GG_BYTES, 0.95, false);
				by_failures = gg_interval_failed_trials(
					20000, sums.tally[t].sample_count,
					gg_sum_value(&sums.tally[t].rest_bytes), 0.95,
					GG_WINDOW_ENDS_BETWEEN);
				inside[t] += truth >= by_weight.low && truth <= by_weight.high;
				inside_failed[t] += truth >= by_failures.low &&
				                    truth <= by_failures.high;
			}
		}
		for (size_t t = 0; t < TYPES; t++) {
			CHECK_MSG(inside[t] >= least, "%s: %d of %u", types[t].name, inside[t],
			          runs);
			CHECK_MSG(inside_failed[t] >= least, "%s by failed trials: %d of %u",
			          types[t].name, inside_failed[t], runs);
		}
	}
}

/*
 * A context checks for new settings of the process at a refill or at a sample point.  If the sample
 * point is the reason for the check, it must count as it was drawn.
 */
TEST(an_interval_of_the_process_that_is_met_at_a_mark_leaves_no_bias)
{
	static const uint64_t intervals[] = { 3000, 50000, 700 };
	static char block[BLOCK];

	for (size_t i = 0; i < 2; i++) { /* a new phase of a stride depends on the mark before */
		struct stat_moments errors[TYPES] = { 0 };

		for (uint64_t seed = 1; seed <= unless_emulated(1500); seed++) {
			struct sums sums;
			struct geiger_bump bump;

			CHECK_EQ_I64(geiger_set_interval(1000), 0);
			bump = begin(schemes[i], meant[i], 0, seed, &sums);
			for (size_t step = 0; step < 300; step++) {
				if (step % 17 == 3)
					geiger_set_interval(intervals[step / 17 % 3]);
				allocate(&bump, block, &sums, next_type(step));
			}
			for (size_t t = 0; t < TYPES; t++)
				stat_add(&errors[t], sums.estimate[t] - (double)sums.truth[t]);
		}
		check_means(errors, NULL, "the process's interval", (int)i);
	}
	geiger_set_interval(1 << 19);
}

static void count_sample(void *user, const struct geiger_bump_sample *sample)
{
	(void)sample;
	*(int *)user += 1;
}

/*
 * Each context has a sample point of its own, which its child meets first.  400 Poisson laws with
 * mean 1/2 make 200 samples, within 5 sigma of 14 each.
 */
TEST(a_forked_child_counts_the_first_mark_of_a_context)
{
	enum { CHILD_BYTES = 32 << 10, INTERVAL = 64 << 10 };
	static char block[INTERVAL];
	const unsigned children = unless_emulated(400);
	int sum = 0;

	for (unsigned i = 0; i < children; i++) {
		int count = 0, status = -1;
		struct geiger_bump_config config = { .scheme = GEIGER_POISSON,
			                             .interval_bytes = INTERVAL,
			                             .seed = i + 1,
			                             .on_sample = count_sample,
			                             .user = &count };
		struct geiger_bump bump;
		pid_t pid;

		CHECK_EQ_I64(geiger_bump_init(&bump, &config), 0);
		geiger_bump_refill(&bump, block, block + sizeof(block));
		pid = fork();
		if (pid == 0) {
			for (size_t j = 0; j < CHILD_BYTES; j += 64)
				geiger_bump_alloc(&bump, 64, NULL);
			_exit(count);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		sum += WEXITSTATUS(status);
	}
	CHECK_MSG(fabs(sum - children / 2.) <= 5 * sqrt(children / 2.), "%d samples of %u", sum,
	          children / 2);
}

/* --- geiger_due() --- */

struct due_sums {
	double estimate;
	double truth;
};

static struct due_sums due_run(const uint64_t *intervals, size_t interval_count, size_t steps)
{
	struct due_sums sums = { 0 };

	for (size_t step = 0; step < steps; step++) {
		size_t bytes = step * 7919 % 13 == 0 ? 0 : types[next_type(step)].bytes;
		struct geiger_sample sample;

		if (interval_count > 0 && step % 37 == 0)
			geiger_thread_interval(intervals[step / 37 % interval_count]);
		sums.truth += (double)bytes;
		if (!geiger_due(bytes))
			continue;
		if (step % 5 == 4) { /* this allocation fails, and the program repeats it */
			geiger_put_back(bytes);
			if (!geiger_due(bytes))
				continue;
		}
		if (geiger_take(bytes, &sample)) {
			struct geiger_bump_sample scaled = {
				.bytes = sample.bytes,
				.offset = sample.offset,
				.interval_bytes = sample.interval_bytes,
				.sample_points = sample.sample_points,
				.scheme = sample.scheme,
			};

			CHECK(sample.offset < bytes || bytes == 0);
			sums.estimate += geiger_estimate_bytes(&scaled);
		}
	}
	return sums;
}

static void ignore(void *user, const struct geiger_event *event)
{
	(void)user;
	(void)event;
}

TEST(what_is_due_adds_up_to_what_was_allocated_while_a_thread_changes_its_interval)
{
	static const uint64_t intervals[] = { 500, 20000, 0, 64 };
	struct stat_moments errors = { 0 };

	CHECK_EQ_I64(geiger_add_listener(ignore, NULL), 0); /* somebody does */
	CHECK_EQ_I64(geiger_set_interval(4000), 0);
	for (unsigned run = 0; run < unless_emulated(2000); run++) {
		struct due_sums sums = due_run(intervals, GG_COUNT(intervals), 500);

		stat_add(&errors, sums.estimate - sums.truth);
	}
	geiger_thread_interval(0);
	CHECK_MSG(fabs(errors.mean) <= SIGMAS * stat_error_of_mean(&errors),
	          "off by %g bytes, sigma %g", errors.mean, stat_error_of_mean(&errors));
	CHECK_EQ_I64(geiger_remove_listener(ignore, NULL), 0);
}

enum { THREADS = 6, THREAD_RUNS = 300 };

static struct due_sums thread_sums[THREADS][THREAD_RUNS];

static void *run_thread(void *context)
{
	static const uint64_t own[THREADS] = { 0, 100, 1000, 10000, 100000, 777 };
	size_t number = (size_t)(uintptr_t)context;

	geiger_thread_interval(own[number]);
	for (int run = 0; run < THREAD_RUNS; run++)
		thread_sums[number][run] = due_run(NULL, 0, 500);
	return NULL;
}

TEST(threads_of_high_and_low_priority_add_up_without_bias)
{
	pthread_t threads[THREADS];
	struct stat_moments errors = { 0 };

	CHECK_EQ_I64(geiger_add_listener(ignore, NULL), 0);
	CHECK_EQ_I64(geiger_set_interval(4000), 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK_EQ_I64(pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i),
		             0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int run = 0; run < THREAD_RUNS; run++) {
		double sum = 0;

		for (size_t i = 0; i < THREADS; i++)
			sum += thread_sums[i][run].estimate - thread_sums[i][run].truth;
		stat_add(&errors, sum);
	}
	CHECK_MSG(fabs(errors.mean) <= SIGMAS * stat_error_of_mean(&errors),
	          "off by %g bytes, sigma %g", errors.mean, stat_error_of_mean(&errors));
	/* The dense ones are seen better. */
	struct stat_moments dense = { 0 }, sparse = { 0 };

	for (int run = 0; run < THREAD_RUNS; run++) {
		stat_add(&dense, thread_sums[1][run].estimate - thread_sums[1][run].truth);
		stat_add(&sparse, thread_sums[4][run].estimate - thread_sums[4][run].truth);
	}
	CHECK(stat_variance(&dense) < stat_variance(&sparse) / 10);
	CHECK_EQ_I64(geiger_remove_listener(ignore, NULL), 0);
}
