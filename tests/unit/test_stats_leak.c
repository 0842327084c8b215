/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats_leak - shows how reliably leaks are distinguished from other memory.
 *
 * Each simulated program allocates for one unit of time, is sampled, and is judged.  Error rates
 * are over seeds; bounds are the promised rate plus 3 sigma.
 */
#include "stats/estimate/leak.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "stat.h"
#include "stats/sampling/rng.h"
#include "stats/sampling/weight.h"
#include "test.h"

enum { SIZE = 64, ONE_IN = 64 };
static const double interval = SIZE * ONE_IN;

struct run {
	struct gg_rng *rng;
	struct gg_leak leak;
};

static double uniform(struct run *run)
{
	return gg_rng_uniform(run->rng);
}

/* The program goes through its allocations 0..count; those that are sampled are visited. */
#define EACH_SAMPLED(run, i, count)                                            \
	for (uint64_t i = gg_rng_geometric((run)->rng, one_in()); i < (count); \
	     i += 1 + gg_rng_geometric((run)->rng, one_in()))

static double one_in(void)
{
	const struct gg_draw draw = { .sampling_interval = interval, .sample_point_count = 1 };

	return gg_rng_geometric_scale(1 / gg_weight_of(&draw, SIZE).probability);
}

static void sampled(struct run *run, double allocated, double freed)
{
	const struct gg_draw draw = { .sampling_interval = interval, .sample_point_count = 1 };

	gg_leak_add(&run->leak, allocated, freed < 1 ? freed : INFINITY, &draw, SIZE);
}

/* The programs.  Most make 64 000 allocations, of which 1000 are sampled. */
enum { COUNT = 64000 };

/* Requests that end soon, of which 1 % is forgotten: 60 samples of 6000. */
static void true_leak(struct run *run)
{
	EACH_SAMPLED(run, i, 6 * COUNT)
	{
		double at = uniform(run), lifetime = 0.002 * gg_rng_exponential(run->rng);

		sampled(run, at, uniform(run) < 0.01 ? INFINITY : at + lifetime);
	}
}

/* Everything is kept, and little of it. */
static void slow_leak(struct run *run)
{
	EACH_SAMPLED(run, i, COUNT / 16)
	sampled(run, uniform(run), INFINITY);
}

/* Fills until `full`, then each new entry replaces the oldest. */
static void cache(struct run *run, double full)
{
	EACH_SAMPLED(run, i, COUNT)
	sampled(run, (double)i / COUNT, (double)i / COUNT + full);
}

static void cache_that_is_replaced_often(struct run *run)
{
	cache(run, 0.15);
}

static void cache_that_is_replaced_seldom(struct run *run)
{
	cache(run, 0.3);
}

/* Entries are evicted at random: lifetimes are exponential, the level is reached by a third. */
static void cache_of_random_eviction(struct run *run)
{
	EACH_SAMPLED(run, i, 4 * COUNT)
	{
		double at = (double)i / (4 * COUNT);

		sampled(run, at, at + 0.08 * gg_rng_exponential(run->rng));
	}
}

static void cache_that_fills_and_stays(struct run *run)
{
	EACH_SAMPLED(run, i, COUNT / 4)
	sampled(run, 0.2 * (double)i * 4 / COUNT, INFINITY);
	EACH_SAMPLED(run, i, COUNT / 64)
	{ /* an entry is renewed now and then */
		double at = uniform(run);

		sampled(run, at, at + 0.2 * uniform(run));
	}
}

static void start_up_table(struct run *run)
{
	EACH_SAMPLED(run, i, COUNT / 4)
	sampled(run, 0.01 * uniform(run), INFINITY);
}

/* Holds all it has until its period ends; the phase is a seed's. */
static void periodic(struct run *run, double period)
{
	double phase = uniform(run) * period;

	EACH_SAMPLED(run, i, COUNT)
	{
		double at = (double)i / COUNT;

		sampled(run, at, (floor((at + phase) / period) + 1) * period - phase);
	}
}

static void short_jobs(struct run *run)
{
	periodic(run, 0.04);
}

static void long_jobs(struct run *run)
{
	periodic(run, 0.17);
}

static void young_requests(struct run *run)
{
	EACH_SAMPLED(run, i, COUNT)
	{
		double at = uniform(run);

		sampled(run, at, at + 0.01 * gg_rng_exponential(run->rng));
	}
}

/* A burst of requests just before the end, on top of a level. */
static void burst_at_the_end(struct run *run)
{
	cache(run, 0.3);
	EACH_SAMPLED(run, i, COUNT / 2)
	sampled(run, 0.92 + 0.08 * uniform(run), INFINITY);
}

/* Sessions begin at random, hold a random amount, and end: a level that never settles. */
static void restless_level(struct run *run)
{
	for (double at = -0.5; at < 1; at += gg_rng_exponential(run->rng) / 20) {
		double lifetime = 0.15 * gg_rng_exponential(run->rng);
		uint64_t count = (uint64_t)(uniform(run) * COUNT / 4);

		EACH_SAMPLED(run, i, count)
		if (at + lifetime > 0)
			sampled(run, fmax(at, 0), at + lifetime);
	}
}

static void run_program(void (*program)(struct run *run), struct gg_rng *rng, struct run *run)
{
	run->rng = rng;
	gg_leak_init(&run->leak, interval);
	program(run);
	gg_leak_finish(&run->leak);
}

/* Judged alone: a p-value is its own rate of false discoveries. */
static enum gg_leak_class judge(const struct gg_leak *leak)
{
	return gg_leak_class_of(leak, gg_leak_p_value(leak) <= 0.05, 0.95);
}

enum { RUNS = 200 };

static const struct {
	const char *name;
	void (*program)(struct run *run);
	bool leaks;
	enum gg_leak_class class;
	double least; /* the least share of runs in which the stack must get this class */
} programs[] = {
	{ "1 % leaks, of many short ones", true_leak, true, GG_LEAK_GROWING, 0.9 },
	{ "a slow leak", slow_leak, true, GG_LEAK_GROWING, 0.9 },
	{ "cache, replaced often", cache_that_is_replaced_often, false, GG_LEAK_LEVEL, 0.2 },
	{ "cache, replaced seldom", cache_that_is_replaced_seldom, false, GG_LEAK_LEVEL, 0.9 },
	{ "cache, random eviction", cache_of_random_eviction, false, GG_LEAK_LEVEL, 0.2 },
	{ "cache that stays", cache_that_fills_and_stays, false, GG_LEAK_LEVEL, 0.95 },
	{ "start-up table", start_up_table, false, GG_LEAK_NEVER_FREED, 1 },
	{ "short jobs", short_jobs, false, GG_LEAK_YOUNG_ONLY, 1 },
	{ "long jobs", long_jobs, false, GG_LEAK_UNCLEAR, 0 },
	{ "young requests", young_requests, false, GG_LEAK_YOUNG_ONLY, 0.95 },
	{ "burst at the end", burst_at_the_end, false, GG_LEAK_LEVEL, 0.9 },
	{ "restless level", restless_level, false, GG_LEAK_UNCLEAR, 0 },
};

TEST(leaks_are_told_from_caches_tables_jobs_and_requests)
{
	printf("%-30s growing, never freed, unclear, level, young; of %d\n", "", RUNS);
	for (size_t i = 0; i < GG_COUNT(programs); i++) {
		int classes[GG_LEAK_CLASS_COUNT] = { 0 };
		double sigma = sqrt(0.05 * 0.95 * RUNS);
		struct gg_rng rng;

		gg_rng_seed(&rng, 21, i);
		for (int r = 0; r < RUNS; r++) {
			struct run run;

			run_program(programs[i].program, &rng, &run);
			classes[judge(&run.leak)]++;
		}
		printf("%-30s", programs[i].name); /* the table of docs/LEAKS.md */
		for (int c = 0; c < GG_LEAK_CLASS_COUNT; c++)
			printf(" %d", classes[c]);
		putchar('\n');
		if (!programs[i].leaks)
			CHECK_MSG(classes[GG_LEAK_GROWING] <= 0.05 * RUNS + 3 * sigma,
			          "%s: %d of %d", programs[i].name, classes[GG_LEAK_GROWING], RUNS);
		CHECK_MSG(classes[programs[i].class] >= programs[i].least * RUNS,
		          "%s: %d of %d are %s", programs[i].name, classes[programs[i].class], RUNS,
		          gg_leak_class_name(programs[i].class));
	}
}

/* A leak of `count` allocations, none of them freed. */
static double found_share(uint64_t expected_samples, struct gg_rng *rng)
{
	int found = 0;

	for (int r = 0; r < RUNS; r++) {
		struct run run = { .rng = rng };

		gg_leak_init(&run.leak, interval);
		EACH_SAMPLED(&run, i, expected_samples * ONE_IN)
		sampled(&run, uniform(&run), INFINITY);
		gg_leak_finish(&run.leak);
		found += judge(&run.leak) == GG_LEAK_GROWING;
	}
	return (double)found / RUNS;
}

TEST(a_leak_is_found_from_thirty_samples_on)
{
	static const struct {
		uint64_t samples;
		double least, most;
	} cases[] = { { 12, 0, 0.5 }, { 20, 0.3, 1 }, { 30, 0.8, 1 }, { 45, 0.97, 1 } };
	struct gg_rng rng;

	gg_rng_seed(&rng, 22, 0);
	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		double share = found_share(cases[i].samples, &rng);

		printf("%ju samples of a leak: found in %g %%\n", (uintmax_t)cases[i].samples,
		       100 * share);
		CHECK(share >= cases[i].least && share <= cases[i].most);
	}
}

/*
 * 240 stacks with 1 to 1000 samples do not leak, and 12 do.  The share of false alarms among the
 * rows that are reported as growing must average to at most 5 %.
 */
TEST(of_the_rows_told_as_growing_5_percent_are_false_at_most)
{
	enum { ROWS = 252, LEAKS = 12, REPEATS = 40 };
	static double p[ROWS];
	static size_t order[ROWS];
	struct stat_moments false_share = { 0 };
	struct gg_rng rng;
	int found = 0;

	gg_rng_seed(&rng, 23, 0);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		int right = 0, wrong = 0;

		for (int row = 0; row < ROWS; row++) {
			/* 9 kinds without a leak; the restless one has its own test. */
			int kind = row < LEAKS ? row % 2 : 2 + row % 9;
			struct run run;

			run_program(programs[kind].program, &rng, &run);
			p[row] = gg_leak_p_value(&run.leak);
		}
		gg_false_discovery(p, ROWS, order);
		for (int row = 0; row < ROWS; row++) {
			right += row < LEAKS && p[row] <= 0.05;
			wrong += row >= LEAKS && p[row] <= 0.05;
		}
		found += right;
		stat_add(&false_share, wrong > 0 ? (double)wrong / (right + wrong) : 0);
	}
	CHECK_MSG(false_share.mean <= 0.05 + 3 * stat_error_of_mean(&false_share), "%g",
	          false_share.mean);
	CHECK_MSG(found >= 0.9 * REPEATS * LEAKS, "%d of %d", found, REPEATS * LEAKS);
}

/* A level of few samples whose blocks are replaced: what is gained is lost, in each third. */
TEST(levels_of_few_samples_are_not_told_as_growing)
{
	for (uint64_t samples = 20; samples <= 320; samples *= 2) {
		int alarms = 0;
		struct gg_rng rng;

		gg_rng_seed(&rng, 24, samples);
		for (int r = 0; r < 4 * RUNS; r++) {
			struct run run = { .rng = &rng };
			uint64_t count = samples * ONE_IN;

			gg_leak_init(&run.leak, interval);
			EACH_SAMPLED(&run, i, count)
			sampled(&run, (double)i / (double)count,
			        (double)i / (double)count + 0.12 + 0.2 * uniform(&run));
			gg_leak_finish(&run.leak);
			alarms += gg_leak_p_value(&run.leak) <= 0.05;
		}
		CHECK_MSG(alarms <= 0.05 * 4 * RUNS + 3 * sqrt(0.05 * 0.95 * 4 * RUNS),
		          "%ju samples: %d of %d", (uintmax_t)samples, alarms, 4 * RUNS);
	}
}

/* A sample of 4 MiB is one for certain. */
static void add_large(struct gg_leak *leak, double allocated, double freed)
{
	const struct gg_draw draw = { .sampling_interval = 0x1p19, .sample_point_count = 1 };

	gg_leak_add(leak, allocated, freed, &draw, 1 << 23);
}

TEST(certain_samples_need_not_be_many)
{
	struct gg_leak leak;

	gg_leak_init(&leak, 0x1p19);
	for (int i = 0; i < 20; i++)
		add_large(&leak, 0.05 * i, INFINITY);
	gg_leak_finish(&leak);
	CHECK_EQ_U64(judge(&leak), GG_LEAK_GROWING);
	CHECK(gg_leak_p_value(&leak) < 1e-6);
}

TEST(growth_that_ended_is_no_growth)
{
	struct gg_leak leak;

	gg_leak_init(&leak, 0x1p19);
	for (int i = 0; i < 20; i++)
		add_large(&leak, 0.025 * i, INFINITY);
	gg_leak_finish(&leak);
	CHECK(isnan(gg_leak_p_value(&leak))); /* nothing happened in the last third */
	CHECK_EQ_U64(judge(&leak), GG_LEAK_NEVER_FREED);
}

TEST(too_few_samples_are_not_tested)
{
	struct gg_leak leak;

	gg_leak_init(&leak, interval);
	CHECK(isnan(gg_leak_p_value(&leak)) && judge(&leak) == GG_LEAK_YOUNG_ONLY);
	for (int i = 0; i < 5; i++)
		gg_leak_add(&leak, 0.2 * i, INFINITY,
		            &(const struct gg_draw){ .sampling_interval = interval,
		                                     .sample_point_count = 1 },
		            SIZE);
	gg_leak_finish(&leak);
	CHECK(isnan(gg_leak_p_value(&leak)) && judge(&leak) == GG_LEAK_NEVER_FREED);
	CHECK_EQ_DOUBLE(gg_leak_kept_share(&leak), 1);
}

TEST(what_was_freed_at_no_known_time_makes_growth_no_likelier)
{
	struct gg_tally freed = { 0 };
	struct gg_leak leak;
	double p;

	gg_leak_init(&leak, 0x1p19);
	for (int i = 0; i < 20; i++) {
		add_large(&leak, 0.05 * i, INFINITY);
		gg_tally_add(&freed,
		             &(const struct gg_draw){ .sampling_interval = 0x1p19,
		                                      .sample_point_count = 1 },
		             1 << 22);
	}
	gg_leak_finish(&leak);
	p = gg_leak_p_value(&leak);
	gg_leak_add_vague(&leak, 0.4, 0.5, &freed); /* inside of a third */
	CHECK(gg_leak_p_value(&leak) == p && !leak.is_vague);
	gg_leak_add_vague(&leak, 0, 1, &freed);
	CHECK(gg_leak_p_value(&leak) > p && leak.is_vague);
	CHECK_EQ_U64(gg_leak_class_of(&leak, false, 0.95), GG_LEAK_UNCLEAR);
}

TEST(samples_of_unknown_error_do_not_show_growth)
{
	struct gg_leak leak;

	gg_leak_init(&leak, 0x1p19);
	for (int i = 0; i < 100; i++)
		gg_leak_add(&leak, 0.01 * i, INFINITY,
		            &(const struct gg_draw){ .scheme = GG_SCHEME_BIASED,
		                                     .sampling_interval = 0x1p19,
		                                     .sample_point_count = 1 },
		            1 << 22);
	gg_leak_finish(&leak);
	CHECK(isnan(gg_leak_p_value(&leak)) && judge(&leak) == GG_LEAK_NEVER_FREED);
}

TEST(cohorts_add_up_to_what_is_live)
{
	struct gg_leak leak;
	double sum = 0;

	gg_leak_init(&leak, 0x1p19);
	for (int i = 0; i <= 20; i++)
		add_large(&leak, 0.05 * i, i % 3 == 0 ? 0.05 * i + 0.2 : INFINITY);
	gg_leak_finish(&leak);
	for (int i = 0; i < GG_LEAK_COHORTS; i++)
		sum += leak.cohorts[i];
	CHECK(fabs(sum / gg_tally_estimate(&leak.live, GG_BYTES).value - 1) < 1e-12);
	CHECK_EQ_U64(leak.live.sample_count, 14);
	CHECK_EQ_U64(leak.freed_count, 7);
}
