/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_merge - compares sums of merged profiles with sums worked out by hand.
 *
 * With an interval of 1 every allocation is a sample, so the sums are exact.
 */
#include "format/merge/merge.h"

#include <math.h>

#include "made_profile.h"
#include "query/query.h"
#include "scratch.h"
#include "test.h"

static struct gg_error error;

struct scene {
	struct gg_merge *merge;
	struct gg_profile *out;
	struct gg_model *model;
	struct gg_query_result *result;
};

static void scene_setup(struct scene *scene)
{
	static const struct gg_merge_options options;

	REQUIRE(gg_profile_create_whole(&scene->out, scratch_path("out.geiger"), &error) == 0);
	REQUIRE(gg_merge_new(&scene->merge, scene->out, &options, &error) == 0);
}

static void scene_teardown(struct scene *scene)
{
	gg_query_result_free(scene->result);
	gg_model_free(scene->model);
	gg_merge_free(scene->merge);
	gg_profile_close(scene->out);
	remove(scratch_path("out.geiger"));
}

FIXTURE(scene)

static void add(struct scene *scene, struct made_profile *made)
{
	int status = gg_merge_add(scene->merge, made->profile, &error);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	gg_profile_close(made->profile);
}

static void finish(struct scene *scene)
{
	REQUIRE(gg_merge_finish(scene->merge, &error) == 0);
	REQUIRE(gg_profile_finish(scene->out, &error) == 0);
	REQUIRE(gg_model_load(&scene->model, &scene->out, 1, NULL, &error) == 0);
	REQUIRE_MSG(gg_model_validate(scene->model, &error) == 0, "%s", error.message);
}

/* Bytes of the stack by a metric; 0: it has no row. */
static double bytes_of(struct scene *scene, enum gg_metric metric, const char *stack)
{
	struct gg_query query;

	gg_query_init(&query);
	query.metric = metric;
	query.by = GG_BY_STACK;
	gg_query_result_free(scene->result);
	scene->result = NULL;
	REQUIRE(gg_query_rows(scene->model, &query, &scene->result, &error) == 0);
	for (size_t i = 0; i < scene->result->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_query_row_label(scene->model, scene->result, &scene->result->rows[i], &text);
		if (strcmp(gg_buf_text(&text), stack) == 0)
			return gg_tally_estimate(scene->result->rows[i].self, GG_BYTES).value;
	}
	return 0;
}

TEST_WITH(scene, stacks_of_two_profiles_add_up)
{
	struct made_profile made;

	made_begin(&made, NULL, 1, 1);
	made_sample(&made, made_stack(&made, "main>load"), 100, 1, GG_TIME_NONE);
	made_sample(&made, made_stack(&made, "main>load"), 50, 2, 500);
	add(scene, &made);
	made_begin(&made, NULL, 1, 1);
	made_sample(&made, made_stack(&made, "main>draw"), 3, 2, 500);
	made_sample(&made, made_stack(&made, "main>load"), 7, 1, GG_TIME_NONE);
	add(scene, &made);
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_ALLOCATED, "main;load"), 157);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_ALLOCATED, "main;draw"), 3);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "main;load"), 107);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "main;draw"), 0);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LEFT, "main;load"), 107);
}

TEST_WITH(scene, live_is_what_was_live_at_the_end_of_each_session)
{
	struct made_profile made;

	/* The first process left 40 at its exit, before the session ended. */
	made_begin(&made, NULL, 1, 1);
	gg_profile_update_process(made.profile, made.process,
	                          &(struct gg_profile_process){ .pid = 4711, .end_ns = 1 }, &error);
	made.process = made_process(&made, 100, 0, 500);
	made_sample(&made, made_stack(&made, "main>load"), 40, 1, GG_TIME_NONE);
	made.process = made_process(&made, 101, 0, 1000);
	made_sample(&made, made_stack(&made, "main>load"), 2, 1, GG_TIME_NONE);
	add(scene, &made);
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "main;load"), 2);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LEFT, "main;load"), 42);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_ALLOCATED, "main;load"), 42);
}

/* 1000 allocations of 64 bytes, sampled with different intervals: each is weighed by its own. */
TEST_WITH(scene, each_sample_is_scaled_by_its_own_interval)
{
	const double intervals[] = { 512, 4096 };
	double wanted = 0;

	for (int i = 0; i < 2; i++) {
		const struct gg_draw draw = { .sampling_interval = intervals[i],
			                      .sample_point_count = 1 };
		struct made_profile made;

		made_begin(&made, NULL, 1, 1);
		made.sampling_interval = intervals[i];
		made_sample(&made, made_stack(&made, "main>load"), 64, 1, GG_TIME_NONE);
		add(scene, &made);
		wanted += 64 / gg_weight_of(&draw, 64).probability;
	}
	finish(scene);
	CHECK_MSG(fabs(bytes_of(scene, GG_METRIC_ALLOCATED, "main;load") / wanted - 1) < 1e-9,
	          "%g, not %g", bytes_of(scene, GG_METRIC_ALLOCATED, "main;load"), wanted);
}

/* Whichever profile comes first: its machine may have had no symbols. */
TEST_WITH(scene, a_name_wins_over_an_address_of_the_same_frame)
{
	static const char *const names[] = { "liba.so+0x40", "load", "liba.so+0x40" };
	struct made_profile made;

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		struct gg_profile_line line = { .function = names[i] };

		made_begin(&made, NULL, 1, 1);
		made.has_build_ids = true;
		made_sample(&made, made_stack(&made, "[liba.so]0x48"), 5, 1, GG_TIME_NONE);
		CHECK_EQ_I64(gg_profile_put_lines(made.profile, 1, &line, 1, NULL), 0);
		add(scene, &made);
	}
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "load"), 15);
	CHECK_EQ_U64(scene->result->row_count, 1);
}

/* Frames are the same by build-id and address, whatever order the modules were written in. */
TEST_WITH(scene, modules_are_the_same_by_their_build_id)
{
	struct made_profile made;

	for (int i = 0; i < 2; i++) {
		made_begin(&made, NULL, 1, 1);
		made.has_build_ids = true;
		made_module(&made, i == 0 ? "libb.so" : "libc.so");
		made_sample(&made, made_stack(&made, "[liba.so]0x40>[libb.so]0x80"), 5, 1,
		            GG_TIME_NONE);
		add(scene, &made);
	}
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "liba.so+0x40;libb.so+0x80"), 10);
	CHECK_EQ_U64(scene->result->row_count, 1);
}

static void add_collections(struct made_profile *made, int64_t time_ns, int64_t minor_count)
{
	char detail[300];
	struct gg_profile_event event = { .process = made->process,
		                          .time_ns = time_ns,
		                          .kind = GG_PROFILE_COLLECTIONS,
		                          .detail = detail };

	snprintf(detail, sizeof(detail), GG_PROFILE_COLLECTIONS_FORMAT, minor_count, INT64_C(2),
	         INT64_C(3), INT64_C(4), INT64_C(5), INT64_C(6), INT64_C(7), INT64_C(-1),
	         INT64_C(9));
	REQUIRE(gg_profile_add_event(made->profile, &event, &error) == 0);
}

/* The two processes have the same pid, as on two machines, and one set of labels. */
TEST_WITH(scene, what_garbage_collectors_did_stays_a_list_of_each_process)
{
	const struct gg_model_collections *rows;
	const struct gg_profile_process *processes;
	struct made_profile made;

	for (int i = 0; i < 2; i++) {
		made_begin(&made, NULL, 1, 1);
		REQUIRE(gg_profile_put_label(made.profile, made.process, "a", "b", &error) == 0);
		made_sample(&made, made_stack(&made, "main>load"), 100, 1, GG_TIME_NONE);
		add_collections(&made, 700 + i, 10 + i);
		add_collections(&made, 800 + i, 20 + i);
		add(scene, &made);
	}
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "main;load"), 200);
	rows = scene->model->collections;
	processes = scene->model->processes;
	REQUIRE(scene->model->collections_count == 4);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ_I64(rows[i].time_ns, 700 + i % 2 * 100 + i / 2);
		CHECK_EQ_I64(rows[i].minor_count, 10 + i % 2 * 10 + i / 2);
		CHECK_EQ_I64(rows[i].arena_bytes, -1);
		CHECK_EQ_I64(rows[i].large_bytes, 9);
		CHECK_EQ_U64(processes[rows[i].process].pid, 4711);
		CHECK_EQ_STR(gg_model_label(scene->model, rows[i].process, "a"), "b");
	}
	CHECK(rows[0].process == rows[1].process && rows[2].process == rows[3].process);
	CHECK(rows[0].process != rows[2].process);
	/* The group has the samples of both, and a sum has no end. */
	CHECK_EQ_U64(scene->model->process_count, 1 + 1 + 2);
	CHECK_EQ_I64(scene->model->end_ns, 0);
	CHECK(!gg_model_is_collector(scene->model, 1));
	CHECK(gg_model_is_collector(scene->model, rows[0].process));
	CHECK(gg_model_is_collector(scene->model, rows[2].process));
}

/* Merges two profiles of one process each, which have collections, into a profile of that name. */
static struct gg_profile *merge_two(const char *name, const char *command)
{
	static const struct gg_merge_options options;
	const struct gg_profile_process process = {
		.pid = 4711, .end_ns = GG_TIME_NONE, .command = command, .interval_bytes = 1
	};
	struct gg_profile *out;
	struct gg_merge *merge;
	struct made_profile made;

	REQUIRE(gg_profile_create_whole(&out, scratch_path(name), &error) == 0);
	REQUIRE(gg_merge_new(&merge, out, &options, &error) == 0);
	for (int i = 0; i < 2; i++) {
		made_begin(&made, NULL, 1, 1);
		REQUIRE(gg_profile_update_process(made.profile, made.process, &process, &error) ==
		        0);
		made_sample(&made, made_stack(&made, "main>load"), 100, 1, GG_TIME_NONE);
		add_collections(&made, 700, 10);
		REQUIRE(gg_merge_add(merge, made.profile, &error) == 0);
		gg_profile_close(made.profile);
	}
	REQUIRE(gg_merge_finish(merge, &error) == 0);
	gg_merge_free(merge);
	REQUIRE(gg_profile_finish(out, &error) == 0);
	gg_profile_close(out);
	REQUIRE(gg_profile_open(&out, scratch_path(name), &error) == 0);
	return out;
}

/* Processes of collectors are no others, and a group stands for as many as it has. */
TEST_WITH(scene, a_merge_of_merged_profiles_counts_each_process_once)
{
	size_t collector_count = 0;

	for (int i = 0; i < 2; i++) {
		struct gg_profile *part = merge_two("part.geiger", "load (a) it");

		REQUIRE(gg_merge_add(scene->merge, part, &error) == 0);
		gg_profile_close(part);
		remove(scratch_path("part.geiger"));
	}
	finish(scene);
	CHECK_EQ_DOUBLE(bytes_of(scene, GG_METRIC_LIVE, "main;load"), 400);
	CHECK_EQ_STR(scene->model->processes[1].command, "load (a) it (4 processes)");
	for (uint32_t i = 1; i < scene->model->process_count; i++)
		collector_count += gg_model_is_collector(scene->model, i);
	CHECK_EQ_U64(collector_count, 4);
	CHECK_EQ_U64(scene->model->process_count, 1 + 1 + 4);
}

/*
 * A parent has ended before its children, of which the first ends before the second.  Each block
 * has another pair of ends; nobody has a sample of the allocation of the last one.
 */
static void make_family(struct made_profile *made)
{
	const int64_t none = GG_TIME_NONE;
	uint64_t ids[6];
	uint32_t stack;

	made_begin(made, NULL, 1, 1);
	stack = made_stack(made, "main>load");
	gg_profile_update_process(made->profile, made->process,
	                          &(struct gg_profile_process){ .pid = 4711, .end_ns = 100 },
	                          &error);
	ids[0] = made_sample(made, stack, 1, 10, 60);
	ids[1] = made_sample(made, stack, 2, 10, 60);
	ids[2] = made_sample(made, stack, 4, 10, none);
	ids[3] = made_sample(made, stack, 8, 10, 60);
	ids[4] = made_sample(made, stack, 16, 10, none);
	ids[5] = made_sample(made, stack, 32, 10, 60);
	made->process = made_process(made, 4712, 50, 200);
	made_inherited(made, stack, 1, 10, none, ids[0]);
	made_inherited(made, stack, 4, 10, 70, ids[2]);
	made_inherited(made, stack, 8, 10, 70, ids[3]);
	made_inherited(made, stack, 32, 10, none, ids[5]);
	made->process = made_process(made, 4713, 50, 300);
	made_inherited(made, stack, 2, 10, none, ids[1]);
	made_inherited(made, stack, 16, 10, none, ids[4]);
	made_inherited(made, stack, 32, 10, none, ids[5]);
	made_inherited(made, stack, 64, 10, none, ids[5] + 100);
}

static const enum gg_metric metrics[] = { GG_METRIC_ALLOCATED, GG_METRIC_FREED, GG_METRIC_LEFT,
	                                  GG_METRIC_LIVE };

TEST_WITH(scene, a_merge_has_the_sums_of_forked_processes_that_shared_blocks)
{
	static const double sums[] = { 63, 43, 119, 114 };
	struct made_profile made;

	make_family(&made);
	REQUIRE(gg_model_load(&scene->model, &made.profile, 1, NULL, &error) == 0);
	for (size_t i = 0; i < GG_COUNT(metrics); i++)
		CHECK_EQ_DOUBLE(bytes_of(scene, metrics[i], "main;load"), sums[i]);
	gg_model_free(scene->model);
	add(scene, &made);
	finish(scene);
	for (size_t i = 0; i < GG_COUNT(metrics); i++)
		CHECK_EQ_DOUBLE(bytes_of(scene, metrics[i], "main;load"), sums[i]);
}

TEST_WITH(scene, a_merge_of_merges_has_the_sums_of_shared_blocks)
{
	static const double sums[] = { 63, 43, 119, 114 };
	struct gg_profile *part;
	struct gg_merge *merge;
	struct made_profile made;

	make_family(&made);
	REQUIRE(gg_profile_create_whole(&part, scratch_path("part.geiger"), &error) == 0);
	REQUIRE(gg_merge_new(&merge, part, &(struct gg_merge_options){ 0 }, &error) == 0);
	REQUIRE(gg_merge_add(merge, made.profile, &error) == 0);
	gg_profile_close(made.profile);
	REQUIRE(gg_merge_finish(merge, &error) == 0);
	gg_merge_free(merge);
	REQUIRE(gg_profile_finish(part, &error) == 0);
	REQUIRE(gg_merge_add(scene->merge, part, &error) == 0);
	gg_profile_close(part);
	remove(scratch_path("part.geiger"));
	finish(scene);
	for (size_t i = 0; i < GG_COUNT(metrics); i++)
		CHECK_EQ_DOUBLE(bytes_of(scene, metrics[i], "main;load"), sums[i]);
}
