/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query - shows which samples queries select, and how queries add them up.
 *
 * With an interval of 1 every allocation is a sample, so the sums are exact.
 */
#include "query/query.h"
#include "stats/estimate/interval.h"

#include "made_profile.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>

static struct gg_error error;

static bool is_entry(const char *function, const char *module)
{
	(void)module;
	return function != NULL &&
	       (strcmp(function, "malloc") == 0 || strcmp(function, "operator new") == 0);
}

/*
 * A profile with an interval of 1, its model, a query as gg_query_init() makes it, and the last
 * result.
 */
struct scene {
	struct made_profile made;
	struct gg_model *model;
	struct gg_query query;
	struct gg_query_result *result;
};

static void scene_setup(struct scene *scene)
{
	made_begin(&scene->made, NULL, 1, 1);
	gg_query_init(&scene->query);
}

static void scene_teardown(struct scene *scene)
{
	gg_query_result_free(scene->result);
	gg_model_free(scene->model);
	gg_profile_close(scene->made.profile);
}

FIXTURE(scene)

/* Loads what was made; the profile is closed. */
static void load(struct scene *scene)
{
	const struct gg_model_options options = { .is_entry = is_entry };
	int status = gg_model_load(&scene->model, &scene->made.profile, 1, &options, &error);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	REQUIRE_MSG(gg_model_validate(scene->model, &error) == 0, "%s", error.message);
	gg_profile_close(scene->made.profile);
	scene->made.profile = NULL;
}

/* Loads samples of 1, 2, 4 and 8 bytes, of which the last one is never freed. */
static void load_moments(struct scene *scene)
{
	uint32_t stack = made_stack(&scene->made, "main");

	made_sample(&scene->made, stack, 1, 10, 20);
	made_sample(&scene->made, stack, 2, 20, 30);
	made_sample(&scene->made, stack, 4, 20, 40);
	made_sample(&scene->made, stack, 8, 25, GG_TIME_NONE);
	load(scene);
}

/* Runs the query of the scene; the result before goes. */
static void ask(struct scene *scene)
{
	int status;

	gg_query_result_free(scene->result);
	scene->result = NULL;
	status = gg_query_rows(scene->model, &scene->query, &scene->result, &error);
	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
}

static double bytes(const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, GG_BYTES).value;
}

/* The row of that label, or NULL. */
static const struct gg_query_row *find_or_null(const struct scene *scene, const char *label)
{
	const struct gg_query_result *result = scene->result;

	for (size_t i = 0; i < result->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_query_row_label(scene->model, result, &result->rows[i], &text);
		if (strcmp(gg_buf_text(&text), label) == 0)
			return &result->rows[i];
	}
	return NULL;
}

/* Returns the row with that label; ends the test if no row has it. */
static const struct gg_query_row *find(const struct scene *scene, const char *label)
{
	const struct gg_query_row *row = find_or_null(scene, label);

	REQUIRE_MSG(row != NULL, "no row '%s'", label);
	return row;
}

static bool holds(const struct scene *scene, const char *label, double self, double total)
{
	const struct gg_query_row *row = find(scene, label);

	return CHECK_MSG(bytes(row->self) == self && bytes(row->total) == total,
	                 "%s: self %g, total %g", label, bytes(row->self), bytes(row->total));
}

static double total_by(const struct gg_model *model, const struct gg_query *query)
{
	struct gg_query_result *result = NULL;
	int status = gg_query_rows(model, query, &result, &error);
	double total;

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	total = bytes(&result->total);
	gg_query_result_free(result);
	return total;
}

static double total_of(const struct scene *scene)
{
	return total_by(scene->model, &scene->query);
}

/* Makes the profile of an attached VM: a Java object of load(), and a block of read(). */
static void make_attached_vm(struct scene *scene)
{
	struct made_profile *made = &scene->made;
	uint32_t heap;

	made->sampling_interval = 1000;
	CHECK(gg_profile_put_counter(made->profile, made->process, "Java threads at the attach", 2,
	                             &error) == 0);
	CHECK(gg_profile_put_counter(made->profile, made->process, "Java threads sampled since", 2,
	                             &error) == 0);
	made_sample(made, made_stack(made, "start>read"), 100, 1, GG_TIME_NONE);
	CHECK(gg_profile_intern_name(made->profile, GG_NAME_HEAP, "java", &heap, &error) == 0);
	made->heap = heap;
	made_sample(made, made_stack(made, "main>load"), 100, 1, GG_TIME_NONE);
	made->heap = 0;
	load(scene);
}

TEST_WITH(scene, an_attach_to_java_leaves_intervals_to_rows_without_java_objects)
{
	static const struct {
		enum gg_grouping by;
		uint32_t complete_count, row_count;
	} cases[] = { { GG_BY_FUNCTION, 2, 4 }, { GG_BY_STACK, 1, 2 }, { GG_BY_HEAP, 1, 2 },
		      { GG_BY_KIND, 1, 2 },     { GG_BY_SIZE, 0, 1 },  { GG_BY_THREAD, 0, 1 },
		      { GG_BY_PROCESS, 0, 1 } };

	make_attached_vm(scene);
	for (size_t i = 0; i < GG_COUNT(cases); i++) {
		uint32_t complete_count = 0;

		scene->query.by = cases[i].by;
		gg_query_result_free(scene->result);
		scene->result = NULL;
		CHECK(gg_query_rows(scene->model, &scene->query, &scene->result, &error) == 0);
		for (size_t row = 0; row < scene->result->row_count; row++) {
			const struct gg_query_row *of = &scene->result->rows[row];

			CHECK((of->self->incomplete > 0) == (of->total->incomplete > 0));
			complete_count += !(of->total->incomplete > 0);
		}
		CHECK_EQ_U64(scene->result->row_count, cases[i].row_count);
		CHECK_EQ_U64(complete_count, cases[i].complete_count);
		CHECK(scene->result->total.incomplete > 0);
	}
}

TEST_WITH(scene, self_is_the_top_and_total_what_it_called)
{
	made_sample(&scene->made, made_stack(&scene->made, "main>load>parse"), 100, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>load"), 20, 1, GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>[libx.so]draw"), 3, 1,
	            GG_TIME_NONE);
	load(scene);
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 4);
	CHECK_EQ_DOUBLE(bytes(&scene->result->total), 123);
	holds(scene, "parse (made)", 100, 100);
	holds(scene, "load (made)", 20, 120);
	holds(scene, "draw (libx.so)", 3, 3);
	holds(scene, "main (made)", 0, 123);
	CHECK_EQ_PTR(scene->result->rows[0].self, find(scene, "parse (made)")->self);
	scene->query.sort_by_total = true;
	scene->query.by = GG_BY_MODULE;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 2);
	holds(scene, "/usr/bin/made", 120, 123);
	holds(scene, "libx.so", 3, 3);
}

TEST_WITH(scene, recursion_counts_once)
{
	made_sample(&scene->made, made_stack(&scene->made, "main>walk>walk>visit>walk"), 100, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>walk+walk+visit"), 10, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>walk>walk"), 1, 1, GG_TIME_NONE);
	load(scene);
	ask(scene);
	holds(scene, "walk (made)", 101, 111);
	holds(scene, "visit (made)", 10, 110);
	holds(scene, "main (made)", 0, 111);
}

TEST_WITH(scene, the_allocator_is_no_part_of_a_stack)
{
	made_sample(&scene->made, made_stack(&scene->made, "main>load>operator new>malloc"), 100, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>load>malloc"), 20, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "malloc"), 3, 1, GG_TIME_NONE);
	load(scene);
	ask(scene);
	holds(scene, "load (made)", 120, 120);
	holds(scene, "[unknown]", 3, 3);
	CHECK(find_or_null(scene, "malloc (made)") == NULL);
	scene->query.by = GG_BY_STACK;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 2);
	holds(scene, "main;load", 120, 120);
}

TEST_WITH(scene, a_moment_has_what_was_allocated_and_not_yet_freed)
{
	load_moments(scene);
	CHECK_EQ_DOUBLE(total_of(scene), 8);
	scene->query.to_ns = 9;
	CHECK_EQ_DOUBLE(total_of(scene), 0);
	scene->query.to_ns = 10;
	CHECK_EQ_DOUBLE(total_of(scene), 1);
	scene->query.to_ns = 20;
	CHECK_EQ_DOUBLE(total_of(scene), 6);
	scene->query.to_ns = 29;
	CHECK_EQ_DOUBLE(total_of(scene), 14);
	scene->query.to_ns = 2000000000;
	CHECK_EQ_DOUBLE(total_of(scene), 8);
	gg_query_init(&scene->query);
	scene->query.metric = GG_METRIC_PEAK;
	CHECK_EQ_DOUBLE(total_of(scene), 14);
	scene->query.metric = GG_METRIC_ALLOCATED;
	CHECK_EQ_DOUBLE(total_of(scene), 15);
	scene->query.from_ns = 10;
	scene->query.to_ns = 20;
	CHECK_EQ_DOUBLE(total_of(scene), 6);
	scene->query.metric = GG_METRIC_FREED;
	CHECK_EQ_DOUBLE(total_of(scene), 1);
	scene->query.metric = GG_METRIC_TEMPORARY;
	scene->query.temporary_ns = 10;
	CHECK_EQ_DOUBLE(total_of(scene), 2);
	scene->query.to_ns = 5;
	CHECK_EQ_I64(gg_query_rows(scene->model, &scene->query, NULL, &error), -EINVAL);
}

TEST_WITH(scene, the_peak_is_the_first_largest_moment)
{
	struct gg_peak peak;
	uint32_t stack;

	stack = made_stack(&scene->made, "main");
	for (int i = 0; i < 5000; i++) /* out of order, so that they have to be sorted */
		made_sample(&scene->made, stack, 10, 1000000 - i * 100, 1000000 - i * 100 + 250);
	made_sample(&scene->made, stack, 5, 700000, 900000);
	load(scene);
	CHECK_EQ_I64(gg_query_peak(scene->model, &scene->query, &peak, &error), 0);
	CHECK_MSG(peak.time_ns == 700000 && peak.bytes == 35, "%lld: %g", (long long)peak.time_ns,
	          peak.bytes);
	scene->query.to_ns = 600000;
	CHECK_EQ_I64(gg_query_peak(scene->model, &scene->query, &peak, &error), 0);
	CHECK_EQ_DOUBLE(peak.bytes, 30);
}

TEST_WITH(scene, the_peak_is_that_of_all_stacks_whichever_are_selected)
{
	uint32_t load_stack = made_stack(&scene->made, "main>load");
	uint32_t keep_stack = made_stack(&scene->made, "main>keep");

	made_sample(&scene->made, load_stack, 100, 10, 20);
	made_sample(&scene->made, keep_stack, 50, 15, 40);
	made_sample(&scene->made, keep_stack, 40, 30, 40);
	load(scene);
	scene->query.metric = GG_METRIC_PEAK;
	CHECK_EQ_DOUBLE(total_of(scene), 150);
	scene->query.focus = "^keep$";
	CHECK_EQ_DOUBLE(total_of(scene), 50);
	ask(scene);
	CHECK_EQ_I64(scene->result->moment_ns, 15);
	scene->query.focus = NULL;
	scene->query.ignore = "^load$";
	CHECK_EQ_DOUBLE(total_of(scene), 50);
}

static void count_visit(int64_t time_ns, double live_bytes, double live_count, void *context)
{
	double *sums = context;

	sums[0] += 1;
	sums[1] = live_bytes;
	sums[2] = live_count;
	sums[3] = (double)time_ns;
}

TEST_WITH(scene, times_are_swept_and_sampled_alike)
{
	const int64_t times[] = { 0, 10, 20, 25, 30, 1000000000 };
	const double live[] = { 0, 1, 6, 14, 12, 8 }; /* the end shows what the process held then */
	struct gg_tally tallies[6];
	double sums[4] = { 0 };

	load_moments(scene);
	scene->query.to_ns = 30;
	CHECK_EQ_I64(gg_query_sweep(scene->model, &scene->query, count_visit, sums, &error), 0);
	CHECK(sums[0] == 4 && sums[1] == 12 && sums[2] == 2 && sums[3] == 30);
	scene->query.from_ns = 22;
	sums[0] = 0;
	CHECK_EQ_I64(gg_query_sweep(scene->model, &scene->query, count_visit, sums, &error), 0);
	CHECK(sums[0] == 3 && sums[1] == 12);
	CHECK_EQ_I64(gg_query_live_at(scene->model, &scene->query, times, 6, tallies, &error), 0);
	for (int i = 0; i < 6; i++)
		CHECK_MSG(bytes(&tallies[i]) == live[i], "%d: %g", i, bytes(&tallies[i]));
}

/* A parent with 100, forked at 50; the child frees one block at 60, the parent another at 70. */
TEST_WITH(scene, an_inherited_block_counts_once_while_anybody_holds_it)
{
	uint32_t stack, parent, child;
	uint64_t first, second;

	stack = made_stack(&scene->made, "main");
	parent = scene->made.process;
	first = made_sample(&scene->made, stack, 100, 10, GG_TIME_NONE);
	second = made_sample(&scene->made, stack, 7, 11, 70);
	child = made_process(&scene->made, 4712, 50, 80);
	CHECK(child != parent);
	made_inherited(&scene->made, stack, 100, 10, 60, first);
	made_inherited(&scene->made, stack, 7, 11, GG_TIME_NONE, second);
	made_sample(&scene->made, stack, 1, 55, GG_TIME_NONE);
	load(scene);

	scene->query.to_ns = 55;
	CHECK_EQ_DOUBLE(total_of(scene), 108);
	scene->query.pid = 4712;
	CHECK_EQ_DOUBLE(total_of(scene), 108);
	scene->query.to_ns = 49;
	CHECK_EQ_DOUBLE(total_of(scene), 0);
	scene->query.to_ns = 75;
	CHECK_EQ_DOUBLE(total_of(scene), 8);
	scene->query.pid = 4711;
	CHECK_EQ_DOUBLE(total_of(scene), 100);
	scene->query.pid = 0;
	CHECK_EQ_DOUBLE(total_of(scene), 108);
	scene->query.to_ns = 80; /* the child has ended, and with it the second block */
	CHECK_EQ_DOUBLE(total_of(scene), 100);
	scene->query.to_ns = GG_TIME_NONE;
	scene->query.by = GG_BY_PROCESS;
	ask(scene);
	CHECK(bytes(&scene->result->total) == 100 && scene->result->row_count == 1);
	holds(scene, "4711 made --by test", 100, 100);
	scene->query.metric = GG_METRIC_LEFT;
	ask(scene);
	CHECK_EQ_DOUBLE(bytes(&scene->result->total), 108);
	holds(scene, "4711 made --by test", 100, 100);
	holds(scene, "4712 made --by test", 8, 8);
	scene->query.metric = GG_METRIC_LIVE; /* asked for alone, its end is its own */
	scene->query.pid = 4712;
	CHECK_EQ_DOUBLE(total_of(scene), 8);
	scene->query.pid = 0;

	scene->query.metric = GG_METRIC_ALLOCATED;
	CHECK_EQ_DOUBLE(total_of(scene), 108);
	scene->query.pid = 4712;
	CHECK_EQ_DOUBLE(total_of(scene), 1);
	scene->query.metric = GG_METRIC_FREED;
	CHECK_EQ_DOUBLE(total_of(scene), 100);
	scene->query.pid = 0;
	CHECK_EQ_DOUBLE(total_of(scene), 7);
	scene->query.pid = 1;
	CHECK_EQ_I64(gg_query_rows(scene->model, &scene->query, NULL, &error), -EINVAL);
}

/*
 * Three processes: process 1 lives from 0 to 100 and holds 1 byte, process 2 from 0 to 200 with 10,
 * and process 3 from 300 to the end at 400 with 100.  Each one also allocates and frees 1000 bytes.
 */
static void load_three(struct scene *scene, int64_t third_end_ns)
{
	static const int64_t starts[] = { 0, 0, 300 };
	const int64_t ends[] = { 100, 200, third_end_ns };
	struct made_profile *made = &scene->made;
	uint32_t stack;
	uint64_t size = 1;

	stack = made_stack(made, "main");
	gg_profile_update_process(made->profile, made->process,
	                          &(struct gg_profile_process){ .pid = 4711, .end_ns = 0 }, &error);
	for (uint32_t i = 0; i < 3; i++, size *= 10) {
		made_process(made, i + 1, starts[i], ends[i]);
		made_sample(made, stack, size, starts[i] + 10, GG_TIME_NONE);
		made_sample(made, stack, 1000, starts[i] + 10, starts[i] + 20);
	}
	load(scene);
}

static double live_at(const struct gg_model *model, uint32_t pid, int64_t to_ns)
{
	struct gg_query query;

	gg_query_init(&query);
	query.pid = pid;
	query.to_ns = to_ns;
	return total_by(model, &query);
}

TEST_WITH(scene, live_at_the_end_is_what_was_live_when_the_last_process_ended)
{
	struct gg_peak peak;

	load_three(scene, 400);
	CHECK_EQ_DOUBLE(live_at(scene->model, 0, GG_TIME_NONE), 100);
	CHECK(live_at(scene->model, 0, 400) == 100 && live_at(scene->model, 0, 1000000000) == 100);
	CHECK(live_at(scene->model, 0, 99) == 11 && live_at(scene->model, 0, 100) == 10);
	CHECK(live_at(scene->model, 0, 250) == 0 && live_at(scene->model, 0, 399) == 100);
	CHECK(live_at(scene->model, 1, GG_TIME_NONE) == 1 &&
	      live_at(scene->model, 2, GG_TIME_NONE) == 10);
	CHECK(gg_query_peak(scene->model, &scene->query, &peak, &error) == 0 && peak.bytes == 2011);
	scene->query.metric = GG_METRIC_LEFT;
	CHECK_EQ_DOUBLE(total_of(scene), 111);
	scene->query.from_ns = 100;
	CHECK_EQ_DOUBLE(total_of(scene), 110);
	scene->query.to_ns = 200;
	CHECK_EQ_DOUBLE(total_of(scene), 10);
	scene->query.from_ns = INT64_MIN;
	scene->query.to_ns = GG_TIME_NONE;
	scene->query.pid = 1;
	CHECK_EQ_DOUBLE(total_of(scene), 1);
}

/*
 * A child holds 1000 bytes and is killed between 40 and 100.  Its parent holds as much from 60 on,
 * and ends at 200.
 */
static void load_killed_child(struct scene *scene)
{
	const struct gg_profile_process child = {
		.pid = 1, .end_ns = 100, .end_range_ns = 60, .interval_bytes = 1
	};
	struct made_profile *made = &scene->made;
	uint32_t stack = made_stack(made, "main");

	gg_profile_update_process(made->profile, made->process,
	                          &(struct gg_profile_process){ .pid = 4711, .end_ns = 0 }, &error);
	made_process(made, 1, 0, 100);
	made_sample(made, stack, 1000, 10, GG_TIME_NONE);
	gg_profile_update_process(made->profile, made->process, &child, &error);
	made_process(made, 2, 0, 200);
	made_sample(made, stack, 1000, 60, GG_TIME_NONE);
	load(scene);
}

TEST_WITH(scene, a_process_that_was_killed_at_an_unknown_time_may_be_gone_before_its_end)
{
	static const int64_t times[] = { 39, 50, 80, 150 };
	static const double least[] = { 1000, 0, 1000, 1000 };
	static const double most[] = { 1000, 1000, 2000, 1000 };
	struct gg_tally tallies[4], tally;
	struct gg_interval interval;
	struct gg_peak peak;

	load_killed_child(scene);
	scene->query.metric = GG_METRIC_PEAK;
	REQUIRE(gg_query_peak(scene->model, &scene->query, &peak, &error) == 0);
	CHECK(peak.bytes == 1000 && peak.most_bytes == 2000 && peak.most_ns == 60);
	REQUIRE(gg_query_peak_tally(scene->model, &scene->query, &peak, &tally, &error) == 0);
	interval = gg_interval_of(&tally, GG_BYTES, 0.95, false);
	CHECK_EQ_DOUBLE(interval.low, 1000);
	CHECK_EQ_DOUBLE(interval.high, 2000);
	scene->query.metric = GG_METRIC_LIVE;
	REQUIRE(gg_query_live_at(scene->model, &scene->query, times, 4, tallies, &error) == 0);
	for (size_t i = 0; i < 4; i++) {
		interval = gg_interval_of(&tallies[i], GG_BYTES, 0.95, false);
		CHECK_EQ_DOUBLE(interval.low, least[i]);
		CHECK_EQ_DOUBLE(interval.high, most[i]);
	}
	CHECK_EQ_DOUBLE(live_at(scene->model, 0, GG_TIME_NONE), 1000);
	CHECK_EQ_DOUBLE(live_at(scene->model, 1, GG_TIME_NONE), 1000);
}

static struct gg_interval left_between(struct scene *scene, int64_t from_ns, int64_t to_ns)
{
	struct gg_query query;
	struct gg_sum_up sum;

	gg_query_init(&query);
	query.metric = GG_METRIC_LEFT;
	query.from_ns = from_ns;
	query.to_ns = to_ns;
	REQUIRE(gg_query_sum(scene->model, &query, &sum, &error) == 0);
	return gg_interval_of(&sum.total, GG_BYTES, 0.95, false);
}

TEST_WITH(scene, a_window_that_cuts_the_time_of_a_kill_may_have_what_the_process_left)
{
	static const struct {
		int64_t from_ns, to_ns;
		double least, most;
	} windows[] = {
		{ INT64_MIN, 39, 0, 0 },
		{ INT64_MIN, 50, 0, 1000 },
		{ 50, 99, 0, 1000 },
		{ 50, 100, 0, 1000 },
		{ 39, 100, 1000, 1000 },
		{ 100, 199, 0, 0 },
		{ 50, 200, 1000, 2000 },
		{ 100, 200, 1000, 1000 },
		{ INT64_MIN, GG_TIME_NONE, 2000, 2000 },
	};

	load_killed_child(scene);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct gg_interval left = left_between(scene, windows[i].from_ns, windows[i].to_ns);

		CHECK_EQ_DOUBLE(left.low, windows[i].least);
		CHECK_EQ_DOUBLE(left.high, windows[i].most);
	}
}

TEST_WITH(scene, processes_that_ended_at_one_instant_were_live_together)
{
	load_three(scene, 200);
	CHECK_EQ_DOUBLE(live_at(scene->model, 0, GG_TIME_NONE), 110);
	CHECK_EQ_I64(scene->model->process_until_ns[2], 100);
	CHECK_EQ_I64(scene->model->process_until_ns[3], GG_TIME_NONE);
	CHECK_EQ_I64(scene->model->process_until_ns[4], GG_TIME_NONE);
	CHECK_EQ_I64(scene->model->process_until_ns[0], GG_TIME_NONE);
}

TEST_WITH(scene, who_still_ran_when_the_recording_ended_was_the_last)
{
	load_three(scene, GG_TIME_NONE);
	CHECK_EQ_DOUBLE(live_at(scene->model, 0, GG_TIME_NONE), 100);
	scene->query.metric = GG_METRIC_LEFT;
	CHECK_EQ_DOUBLE(total_of(scene), 111);
}

TEST_WITH(scene, several_sessions_have_an_end_each)
{
	struct gg_profile *profiles[2];
	struct made_profile made;

	for (int i = 0; i < 2; i++) {
		made_begin(&made, NULL, 1, 1);
		made_sample(&made, made_stack(&made, "main"), 1, 10, GG_TIME_NONE);
		made_process(&made, 5, 0, i == 0 ? 300 : 2000000000);
		made_sample(&made, made_stack(&made, "main"), 10, 10, GG_TIME_NONE);
		profiles[i] = made.profile;
	}
	CHECK_EQ_I64(gg_model_load(&scene->model, profiles, 2, NULL, &error), 0);
	for (int i = 0; i < 2; i++)
		gg_profile_close(profiles[i]);
	CHECK_EQ_DOUBLE(live_at(scene->model, 0, GG_TIME_NONE), 11);
	scene->query.metric = GG_METRIC_LEFT;
	CHECK_EQ_DOUBLE(total_of(scene), 22);
}

TEST_WITH(scene, focus_and_ignore_look_at_the_whole_stack)
{
	made_sample(&scene->made, made_stack(&scene->made, "main>load>parse"), 100, 1,
	            GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>load"), 20, 1, GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "main>draw"), 3, 1, GG_TIME_NONE);
	made_sample(&scene->made, 0, 5, 1, GG_TIME_NONE);
	load(scene);
	scene->query.focus = "^load$";
	ask(scene);
	CHECK_EQ_DOUBLE(bytes(&scene->result->total), 120);
	CHECK(find(scene, "load (made)")->is_named);
	CHECK(!find(scene, "main (made)")->is_named);
	scene->query.ignore = "pars|nothing";
	CHECK_EQ_DOUBLE(total_of(scene), 20);
	scene->query.focus = NULL;
	CHECK_EQ_DOUBLE(total_of(scene), 28);
	scene->query.focus = "unknown";
	CHECK_EQ_DOUBLE(total_of(scene), 5);
	scene->query.focus = "(";
	CHECK_EQ_I64(gg_query_rows(scene->model, &scene->query, NULL, &error), -EINVAL);
}

TEST_WITH(scene, sizes_kinds_lines_and_threads_have_rows)
{
	uint32_t stack;

	stack = made_stack(&scene->made, "main@m.c:3>load@a.c:7+copy@b.h:9");
	made_sample(&scene->made, stack, 64, 1, GG_TIME_NONE);
	made_sample(&scene->made, stack, 65, 1, GG_TIME_NONE);
	made_sample(&scene->made, stack, 1, 1, GG_TIME_NONE);
	made_sample(&scene->made, stack, 0, 1, GG_TIME_NONE);
	made_sample(&scene->made, made_stack(&scene->made, "0x40"), 2048, 1, GG_TIME_NONE);
	load(scene);
	scene->query.by = GG_BY_SIZE;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 4);
	holds(scene, "33 B..64 B", 64, 64);
	holds(scene, "65 B..128 B", 65, 65);
	holds(scene, "up to 1 B", 1, 1);
	holds(scene, "1 KiB..2 KiB", 2048, 2048);
	scene->query.by = GG_BY_LINE;
	ask(scene);
	holds(scene, "b.h:9 copy", 130, 130);
	holds(scene, "a.c:7 load", 0, 130);
	holds(scene, "made+0x40", 2048, 2048);
	scene->query.by = GG_BY_THREAD;
	ask(scene);
	holds(scene, "4711/4711 made", 2178, 2178);
	scene->query.by = GG_BY_KIND;
	scene->query.unit = GG_ALLOCATIONS;
	ask(scene);
	holds(scene, "malloc", 2178, 2178);
	CHECK_EQ_DOUBLE(gg_tally_estimate(&scene->result->total, GG_ALLOCATIONS).value, 5);
}

TEST_WITH(scene, functions_named_by_their_first_address_are_functions_without_a_name)
{
	static const struct {
		const char *stack, *name;
	} calls[] = { { "0x48", "made+0x40" }, { "0x50", "made+0x40" }, { "0x58", "other+0x40" } };

	for (size_t i = 0; i < GG_COUNT(calls); i++) {
		uint32_t stack = made_stack(&scene->made, calls[i].stack);
		struct gg_profile_line line = { .function = calls[i].name };

		made_sample(&scene->made, stack, 64, 1, GG_TIME_NONE);
		/* The frames have the ids 1, 2 and 3. */
		CHECK_EQ_I64(
			gg_profile_put_lines(scene->made.profile, (uint32_t)i + 1, &line, 1, NULL),
			0);
	}
	load(scene);
	ask(scene);
	holds(scene, "made+0x40", 128, 128);
	/* Another module's name is that of a function. */
	holds(scene, "other+0x40 (made)", 64, 64);
	for (size_t i = 0; i < scene->model->function_count; i++) {
		struct gg_model_function function = scene->model->functions[i];

		CHECK_EQ_I64(function.is_named, strcmp(function.name, "made+0x40") != 0 && i > 0);
		CHECK_EQ_I64(function.full_name != NULL, function.is_named);
	}
	CHECK_EQ_U64(gg_model_unresolved(scene->model).frame_count, 2);
}

static void put_sample_of(struct made_profile *made, const char *heap, const char *type,
                          uint64_t size_bytes)
{
	struct gg_profile_sample sample = { .free_ns = GG_TIME_NONE,
		                            .process = made->process,
		                            .thread = made->thread,
		                            .size_bytes = size_bytes,
		                            .usable_bytes = size_bytes,
		                            .address = 64,
		                            .draw = { .sampling_interval = 1,
		                                      .sample_point_count = 1 } };

	if (heap != NULL)
		CHECK_EQ_I64(gg_profile_intern_name(made->profile, GG_NAME_HEAP, heap, &sample.heap,
		                                    NULL),
		             0);
	if (type != NULL)
		CHECK_EQ_I64(gg_profile_intern_name(made->profile, GG_NAME_TYPE, type, &sample.type,
		                                    NULL),
		             0);
	CHECK_EQ_I64(gg_profile_add_sample(made->profile, &sample, NULL, NULL), 0);
}

TEST_WITH(scene, heaps_and_types_have_rows_whose_sums_are_those_of_their_kinds)
{
	struct gg_profile_aggregate aggregate = { .to_ns = 2,
		                                  .size_class = 255,
		                                  .interval_bytes = 1 };

	put_sample_of(&scene->made, NULL, NULL, 1);
	put_sample_of(&scene->made, "young", "pair", 2);
	put_sample_of(&scene->made, "young", "string", 4);
	put_sample_of(&scene->made, "old", "pair", 8);
	put_sample_of(&scene->made, "old", NULL, 16);
	aggregate.process = scene->made.process;
	aggregate.sums = gg_sums_of(
		&(const struct gg_draw){ .sampling_interval = 1, .sample_point_count = 1 }, 32);
	CHECK_EQ_I64(gg_profile_add_aggregate(scene->made.profile, &aggregate, NULL), 0);
	load(scene);
	scene->query.metric = GG_METRIC_ALLOCATED;
	scene->query.by = GG_BY_HEAP;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 4);
	holds(scene, "malloc", 1, 1);
	holds(scene, "young", 6, 6);
	holds(scene, "old", 24, 24);
	holds(scene, "[not kept]", 32, 32);
	scene->query.by = GG_BY_TYPE;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 4);
	holds(scene, "[no type]", 17, 17);
	holds(scene, "pair", 10, 10);
	holds(scene, "string", 4, 4);
	holds(scene, "[not kept]", 32, 32);
	scene->query.by = GG_BY_KIND;
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 6);
	holds(scene, "old: pair", 8, 8);
}

TEST_WITH(scene, aggregates_are_placed_by_their_end_and_named_where_they_are_cut)
{
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	struct gg_profile_aggregate aggregate = {
		.from_ns = 10, .to_ns = 20, .size_class = 255, .interval_bytes = 1, .lost = true
	};

	aggregate.process = scene->made.process;
	aggregate.thread = scene->made.thread;
	aggregate.stack = made_stack(&scene->made, "main>load");
	aggregate.sums = gg_sums_of(&draw, 40);
	CHECK_EQ_I64(gg_profile_add_aggregate(scene->made.profile, &aggregate, &error), 0);
	made_sample(&scene->made, aggregate.stack, 2, 1, GG_TIME_NONE);
	load(scene);
	CHECK_EQ_DOUBLE(total_of(scene), 2);
	scene->query.metric = GG_METRIC_ALLOCATED;
	CHECK_EQ_DOUBLE(total_of(scene), 42);
	scene->query.to_ns = 15;
	ask(scene);
	CHECK(bytes(&scene->result->total) == 2 && bytes(&scene->result->unplaced) == 40);
	scene->query.to_ns = 20;
	ask(scene);
	CHECK(bytes(&scene->result->total) == 42 && bytes(&scene->result->unplaced) == 0);
	holds(scene, "load (made)", 42, 42);
	scene->query.metric = GG_METRIC_LIVE;
	scene->query.to_ns = 12;
	ask(scene);
	CHECK(bytes(&scene->result->total) == 2 && bytes(&scene->result->unplaced) == 40);
}

/* Allocated in [100, 200), freed in [500, 600): folded with a bucket of 100. */
TEST_WITH(scene, folded_rows_are_live_between_their_buckets)
{
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	const int64_t times[] = { 99, 150, 200, 500, 550, 600 };
	const double live[] = { 0, 0, 40, 40, 0, 0 }, unplaced[] = { 0, 40, 0, 0, 40, 0 };
	struct gg_profile_aggregate aggregate = {
		.from_ns = 100, .to_ns = 600, .bucket_ns = 100, .size_class = 6, .interval_bytes = 1
	};
	struct gg_tally tallies[6];
	struct gg_peak peak;

	aggregate.process = scene->made.process;
	aggregate.thread = scene->made.thread;
	aggregate.stack = made_stack(&scene->made, "main>load");
	aggregate.sums = gg_sums_of(&draw, 40);
	CHECK_EQ_I64(gg_profile_add_aggregate(scene->made.profile, &aggregate, &error), 0);
	made_sample(&scene->made, aggregate.stack, 2, 300, 400);
	load(scene);
	CHECK_EQ_I64(gg_query_live_at(scene->model, &scene->query, times, 6, tallies, &error), 0);
	for (int i = 0; i < 6; i++) {
		scene->query.to_ns = times[i];
		ask(scene);
		CHECK_MSG(bytes(&scene->result->total) == live[i], "%d: %g", i,
		          bytes(&scene->result->total));
		CHECK_EQ_DOUBLE(bytes(&scene->result->unplaced), unplaced[i]);
		CHECK_EQ_DOUBLE(bytes(&tallies[i]), live[i]);
	}
	gg_query_init(&scene->query);
	CHECK_EQ_I64(gg_query_peak(scene->model, &scene->query, &peak, &error), 0);
	CHECK_EQ_I64(peak.time_ns, 300);
	CHECK_EQ_DOUBLE(peak.bytes, 42);
	scene->query.metric = GG_METRIC_ALLOCATED;
	scene->query.to_ns = 450;
	CHECK_EQ_DOUBLE(total_of(scene), 42);
	scene->query.metric = GG_METRIC_FREED;
	CHECK_EQ_DOUBLE(total_of(scene), 2);
}

/* Sums of a merge: 1 byte that was freed, 10 that a process left, and 100 that are live. */
static void load_sums_without_times(struct scene *scene)
{
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	struct gg_profile_aggregate sums[] = {
		{ .sums = gg_sums_of(&draw, 1) },
		{ .sums = gg_sums_of(&draw, 10), .to_ns = GG_TIME_NONE, .is_left = true },
		{ .sums = gg_sums_of(&draw, 100), .to_ns = GG_TIME_NONE },
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		sums[i].size_class = 255;
		sums[i].interval_bytes = 1;
		sums[i].process = scene->made.process;
		sums[i].stack = made_stack(&scene->made, "main>load");
		REQUIRE(gg_profile_add_aggregate(scene->made.profile, &sums[i], &error) == 0);
	}
	load(scene);
}

TEST_WITH(scene, any_window_may_have_what_sums_without_times_count)
{
	static const struct {
		enum gg_metric metric;
		int64_t from_ns, to_ns;
		double least, most;
	} windows[] = {
		{ GG_METRIC_ALLOCATED, INT64_MIN, GG_TIME_NONE, 111, 111 },
		{ GG_METRIC_ALLOCATED, 5, 10, 0, 111 },
		{ GG_METRIC_FREED, INT64_MIN, GG_TIME_NONE, 1, 1 },
		{ GG_METRIC_FREED, 5, 10, 0, 1 },
		{ GG_METRIC_LEFT, INT64_MIN, GG_TIME_NONE, 110, 110 },
		{ GG_METRIC_LEFT, 5, GG_TIME_NONE, 100, 110 },
		{ GG_METRIC_LIVE, INT64_MIN, GG_TIME_NONE, 100, 100 },
	};

	load_sums_without_times(scene);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct gg_interval found;

		scene->query.metric = windows[i].metric;
		scene->query.from_ns = windows[i].from_ns;
		scene->query.to_ns = windows[i].to_ns;
		ask(scene);
		found = gg_interval_of(&scene->result->total, GG_BYTES, 0.95, false);
		CHECK_EQ_DOUBLE(found.low, windows[i].least);
		CHECK_EQ_DOUBLE(found.high, windows[i].most);
	}
}

TEST_WITH(scene, a_raised_interval_hides_more_from_groups_without_samples)
{
	scene->made.sampling_interval = 1000;
	made_sample(&scene->made, made_stack(&scene->made, "main>load"), 100, 1, 5);
	scene->made.sampling_interval = 8000;
	made_sample(&scene->made, made_stack(&scene->made, "main>load"), 100, 6, 7);
	load(scene);
	CHECK_EQ_DOUBLE(gg_model_interval(scene->model, 0), 8000);
	ask(scene);
	CHECK(scene->result->row_count == 0 && scene->result->total.reserve_max[GG_BYTES] == 8000);
	scene->query.metric = GG_METRIC_ALLOCATED;
	scene->query.to_ns = 5;
	ask(scene);
	CHECK_EQ_U64(scene->result->rows[0].total->sample_count, 1);
	CHECK_EQ_DOUBLE(scene->result->rows[0].total->reserve_max[GG_BYTES], 8000);
}

/* 150 000 samples, enough for two readers; blocks of the first half are inherited in the second. */
static void make_large(struct made_profile *made, const char *path)
{
	uint32_t stacks[2];
	uint64_t first = 0;

	made_begin(made, path, 1, 1);
	stacks[0] = made_stack(made, "main>load");
	stacks[1] = made_stack(made, "main>draw");
	for (int i = 0; i < 149000; i++) {
		uint64_t id = made_sample(made, stacks[i % 2], (uint64_t)(i % 7), i,
		                          i % 3 == 0 ? i + 500 : GG_TIME_NONE);

		first = i == 0 ? id : first;
	}
	made_process(made, 4712, 500000, GG_TIME_NONE);
	for (uint64_t i = 0; i < 1000; i++)
		made_inherited(made, stacks[i % 2], i % 7, 0, GG_TIME_NONE, first + i);
	made_inherited(made, stacks[0], 5, 0, GG_TIME_NONE, UINT64_C(1) << 40);
	made_inherited(made, stacks[0], 5, 0, GG_TIME_NONE, UINT64_C(1) << 40);
}

static void check_equal(const struct gg_model *a, const struct gg_model *b)
{
	const struct gg_model_sample *left = a->samples;
	const struct gg_model_sample *right = b->samples;
	size_t different = 0;

	if (!CHECK(a->sample_count == b->sample_count && a->sample_count == 150002))
		return;
	for (size_t i = 0; i < a->sample_count; i++)
		different += left[i].alloc_ns != right[i].alloc_ns ||
		             left[i].free_ns != right[i].free_ns ||
		             left[i].size_bytes != right[i].size_bytes ||
		             left[i].stack != right[i].stack || left[i].block != right[i].block ||
		             left[i].kind != right[i].kind || left[i].flags != right[i].flags;
	CHECK_MSG(different == 0, "%zu samples differ", different);
	CHECK(left[149000].block == 0 && left[149999].block == 999);
	CHECK(left[150000].block == 150000 && left[150001].block == 150000);
	CHECK(a->sample_total == 149000 && b->sample_total == 149000);
	CHECK_EQ_I64(a->end_ns, b->end_ns);
}

TEST(two_readers_see_what_one_sees)
{
	const char *path = scratch_path("made.geiger");
	struct gg_model *one = NULL, *two = NULL;
	struct gg_profile *profile;
	struct made_profile made;

	make_large(&made, NULL);
	CHECK_EQ_I64(gg_model_load(&one, &made.profile, 1, NULL, &error), 0);
	gg_profile_close(made.profile);
	make_large(&made, path);
	CHECK_EQ_I64(gg_profile_finish(made.profile, &error), 0);
	gg_profile_close(made.profile);
	CHECK_EQ_I64(gg_profile_open(&profile, path, &error), 0);
	CHECK_EQ_I64(gg_model_load(&two, &profile, 1, NULL, &error), 0);
	gg_profile_close(profile);
	check_equal(one, two);
	gg_model_free(one);
	gg_model_free(two);
}

TEST_WITH(scene, two_profiles_are_one_model)
{
	struct gg_profile *profiles[2];
	struct made_profile made;

	for (int i = 0; i < 2; i++) {
		made_begin(&made, NULL, 1, 1);
		made_sample(&made, made_stack(&made, i ? "main>draw" : "main>load"), 10, 1,
		            GG_TIME_NONE);
		made_sample(&made, made_stack(&made, "main"), 1, 1, GG_TIME_NONE);
		profiles[i] = made.profile;
	}
	CHECK_EQ_I64(gg_model_load(&scene->model, profiles, 2, NULL, &error), 0);
	gg_profile_close(profiles[0]);
	gg_profile_close(profiles[1]);
	ask(scene);
	CHECK_EQ_U64(scene->result->row_count, 3);
	holds(scene, "main (made)", 2, 22);
}
