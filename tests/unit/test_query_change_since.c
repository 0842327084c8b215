/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_change_since - tests changes of live memory since a mark, and how often a steady
 * program seems to change.
 */
#include "query/change_since.h"

#include <math.h>
#include <stdlib.h>

#include "made_profile.h"
#include "query/live_age.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

struct run {
	struct made_profile made;
	struct gg_model *model;
};

static void run_setup(struct run *run)
{
	made_begin(&run->made, NULL, 4096, 7);
	run->made.process = made_process(&run->made, 100, 0, GG_TIME_NONE);
}

static void run_teardown(struct run *run)
{
	gg_model_free(run->model);
	gg_profile_close(run->made.profile);
}
FIXTURE(run)

static void load(struct run *run)
{
	struct gg_error error;

	REQUIRE(gg_model_load(&run->model, &run->made.profile, 1, NULL, &error) == 0);
}

/* The changes between two moments; to_ns GG_TIME_NONE: the end. */
static struct gg_changes *changes_between(const struct gg_model *model, int64_t from_ns,
                                          int64_t to_ns, double rate)
{
	const struct gg_change_options options = { .since_ns = from_ns,
		                                   .confidence = 0.95,
		                                   .false_discovery_rate = rate };
	struct gg_changes *changes = NULL;
	struct gg_query query;
	struct gg_error error;

	gg_query_init(&query);
	query.to_ns = to_ns;
	REQUIRE(gg_changes_since_find(model, &query, &options, &changes, &error) == 0);
	return changes;
}

/* The change of the function with that name. */
static const struct gg_change *change_of(const struct gg_changes *changes,
                                         const struct gg_model *model, const char *name)
{
	for (size_t i = 0; i < model->function_count; i++)
		if (strcmp(model->functions[i].name, name) == 0)
			return gg_changes_since_of(changes, (uint32_t)i);
	return NULL;
}

TEST_WITH(run, blocks_that_stay_cancel_however_many_there_are)
{
	const struct gg_change *change;
	struct gg_changes *changes;
	uint32_t stack = made_stack(&run->made, "main>keep");

	made_allocate(&run->made, stack, 100, 1000000, SECOND, GG_TIME_NONE);
	for (int i = 0; i < 5; i++) /* large: each is a sample for certain */
		made_sample(&run->made, stack, 1 << 20, 3 * SECOND, GG_TIME_NONE);
	load(run);
	changes = changes_between(run->model, 2 * SECOND, GG_TIME_NONE, 0.05);
	change = change_of(changes, run->model, "keep");
	REQUIRE(change != NULL);
	/* 100 MB that stayed add nothing to the error of 5 MiB that came. */
	CHECK(fabs(change->difference.value / (5 << 20) - 1) < 1e-9);
	CHECK(change->difference.low > (4 << 20) && change->is_significant);
	CHECK_EQ_U64(changes->row_count, 1);
	gg_changes_since_free(changes);
}

TEST_WITH(run, what_was_freed_counts_against_what_came)
{
	struct gg_changes *changes;
	const struct gg_change *change;
	uint32_t gone = made_stack(&run->made, "main>gone");
	uint32_t turned = made_stack(&run->made, "main>turned");

	for (int i = 0; i < 8; i++) {
		made_sample(&run->made, gone, 1 << 20, SECOND, 3 * SECOND);
		made_sample(&run->made, turned, 1 << 20, SECOND, 3 * SECOND);
		made_sample(&run->made, turned, 1 << 20, 3 * SECOND, GG_TIME_NONE);
		/* came and went between the moments: of neither */
		made_sample(&run->made, turned, 1 << 20, 3 * SECOND, 3 * SECOND + 1);
	}
	load(run);
	changes = changes_between(run->model, 2 * SECOND, GG_TIME_NONE, 0.05);
	change = change_of(changes, run->model, "gone");
	REQUIRE(change != NULL);
	CHECK(fabs(change->difference.value / (8 << 20) + 1) < 1e-9 && change->is_significant);
	change = change_of(changes, run->model, "turned");
	REQUIRE(change != NULL);
	CHECK(fabs(change->difference.value) < 1 && !change->is_significant);
	CHECK(change_of(changes, run->model, "main") == NULL);
	CHECK(changes->total.is_significant);
	gg_changes_since_free(changes);
}

TEST_WITH(run, the_median_age_is_that_of_bytes_and_not_of_samples)
{
	uint32_t stack = made_stack(&run->made, "main>mixed");
	struct gg_query_result *result;
	struct gg_query query;
	struct gg_error error;
	double *ages_ns;

	made_sample(&run->made, stack, 1 << 20, SECOND, GG_TIME_NONE);
	for (int i = 0; i < 3; i++) /* each stands for about 4 KiB */
		made_sample(&run->made, stack, 16, 8 * SECOND, GG_TIME_NONE);
	load(run);
	gg_query_init(&query);
	REQUIRE(gg_query_rows(run->model, &query, &result, &error) == 0);
	REQUIRE(gg_live_ages_find(run->model, result, 10 * SECOND, &ages_ns, &error) == 0);
	CHECK_EQ_DOUBLE(ages_ns[0], 9e9);
	CHECK(isnan(ages_ns[1])); /* main() has no block itself */
	free(ages_ns);
	gg_query_result_free(result);
}

/* --- steady programs and leaks -------------------------------------------------------------- */

enum { RUN_COUNT = 200, LOOK_COUNT = 100, ROW_COUNT = 12, SLOT_COUNT = 40, MARK = 1 };

/*
 * A program with SLOT_COUNT blocks in each row at every moment.  At each second some are freed, and
 * as many are allocated, so nothing changes but which blocks there are.
 */
static void make_steady(struct run *run, uint64_t seed)
{
	char name[32];

	*run = (struct run){ 0 };
	made_begin(&run->made, NULL, 4096, seed);
	run->made.process = made_process(&run->made, 100, 0, GG_TIME_NONE);
	for (int row = 0; row < ROW_COUNT; row++) {
		uint64_t size_bytes = UINT64_C(64) << (row % 8);
		uint32_t stack;

		snprintf(name, sizeof(name), "main>row%d", row);
		stack = made_stack(&run->made, name);
		for (int slot = 0; slot < SLOT_COUNT; slot++) {
			int64_t from = 0, to;

			for (; from <= MARK + LOOK_COUNT; from = to) {
				to = from + 1 + (int64_t)gg_rng_below(&run->made.rng, 10);
				made_allocate(&run->made, stack, size_bytes, 1, from * SECOND,
				              to * SECOND);
			}
		}
	}
}

static size_t significant_count(const struct gg_changes *changes)
{
	size_t count = changes->total.is_significant;

	for (size_t i = 0; i < changes->row_count; i++)
		count += changes->rows[i].is_significant;
	return count;
}

/* The level of look k that `geiger top` uses: for rows and total together they add up to 5 %. */
static double spent(int look)
{
	return gg_changes_since_level(0.05, (uint64_t)look);
}

/* The first look that marks something, 0: none does.  level 0: as `geiger top` does. */
static int first_mark(const struct gg_model *model, double level)
{
	for (int look = 1; look <= LOOK_COUNT; look++) {
		struct gg_changes *changes = changes_between(model, MARK * SECOND,
		                                             (MARK + look) * SECOND,
		                                             level > 0 ? level : spent(look));
		size_t count = significant_count(changes);

		gg_changes_since_free(changes);
		if (count > 0)
			return look;
	}
	return 0;
}

TEST(of_200_steady_runs_at_most_10_show_a_mark_during_100_looks)
{
	int spent_count = 0, fixed_count = 0;

	for (int i = 0; i < RUN_COUNT; i++) {
		struct run run;

		make_steady(&run, (uint64_t)i + 1);
		load(&run);
		spent_count += first_mark(run.model, 0) > 0;
		fixed_count += first_mark(run.model, 0.05) > 0;
		run_teardown(&run);
	}
	printf("marked: %d of %d runs; with a fixed level of 5 %%: %d\n", spent_count, RUN_COUNT,
	       fixed_count);
	CHECK_MSG(spent_count <= RUN_COUNT / 20, "%d runs", spent_count);
	/* The test can fail: without the levels, looking again and again marks many runs. */
	CHECK_MSG(fixed_count > RUN_COUNT / 20, "%d runs", fixed_count);
}

TEST(a_leak_is_marked_within_20_looks_and_stays_marked)
{
	struct run run;
	const struct gg_change *change;

	make_steady(&run, 1);
	/* 64 KiB a second, at an interval of 4 KiB: 16 samples a second. */
	for (int64_t second = 0; second <= MARK + LOOK_COUNT; second++)
		made_allocate(&run.made, made_stack(&run.made, "main>leak"), 256, 256,
		              second * SECOND + SECOND / 2, GG_TIME_NONE);
	load(&run);
	for (int look = 1; look <= LOOK_COUNT; look++) {
		struct gg_changes *changes = changes_between(run.model, MARK * SECOND,
		                                             (MARK + look) * SECOND, spent(look));

		change = change_of(changes, run.model, "leak");
		REQUIRE(change != NULL);
		CHECK_MSG(look < 5 || (change->is_significant && change->difference.value > 0),
		          "look %d: q = %g", look, change->q_value);
		gg_changes_since_free(changes);
	}
	run_teardown(&run);
}
