/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_pinned - shows which blocks of looks the metric pinned adds up, and when it gives no
 * number.
 */
#include <errno.h>
#include <math.h>

#include "made_profile.h"
#include "profile/sql_query.h"
#include "query/diff.h"
#include "query/pinned_comparison.h"
#include "query/pinned_neighbors.h"
#include "query/query.h"
#include "query/tree.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

static struct gg_error error;

enum { BLOCK_MAX = 4096 };

struct scene {
	struct made_profile made;
	struct gg_model *model;
	struct gg_query query;
	struct gg_query_result *result;
	struct gg_profile_look_block blocks[BLOCK_MAX]; /* of the next look */
	size_t block_count;
};

static void scene_setup(struct scene *scene)
{
	made_begin(&scene->made, NULL, 1, 1);
	gg_query_init(&scene->query);
	scene->query.metric = GG_METRIC_PINNED;
	scene->query.by = GG_BY_STACK;
}

static void scene_teardown(struct scene *scene)
{
	gg_profile_close(scene->made.profile);
	gg_query_result_free(scene->result);
	gg_model_free(scene->model);
}

FIXTURE(scene)

/* A live sample, and what the next look finds around it. */
static uint64_t add_block(struct scene *scene, uint32_t stack, uint64_t size_bytes,
                          double pinned_bytes)
{
	uint64_t id = made_sample(&scene->made, stack, size_bytes, 5, GG_TIME_NONE);

	REQUIRE(scene->block_count < BLOCK_MAX);
	scene->blocks[scene->block_count++] = (struct gg_profile_look_block){
		.sample = id, .pinned_bytes = pinned_bytes
	};
	return id;
}

/* A look that chose one of five samples, and walked through the heap. */
static void put_walk(struct scene *scene, int64_t pinned_bytes, int64_t unread_bytes)
{
	const struct gg_profile_look look = {
		.process = scene->made.process,
		.time_ns = 7,
		.rss_bytes = 900,
		.page_bytes = 4096,
		.live_count = 5 * (int64_t)scene->block_count,
		.chosen_count = (int64_t)scene->block_count,
	};
	const struct gg_profile_look_total totals[] = {
		{ .name = "glibc.pinned", .bytes = pinned_bytes },
		{ .name = "glibc.unread", .bytes = unread_bytes },
		{ .name = "glibc.fast", .bytes = 0 },
		{ .name = "glibc.cached", .bytes = 0 },
	};
	const struct gg_profile_look_parts parts = { .blocks = scene->blocks,
		                                     .block_count = scene->block_count,
		                                     .totals = totals,
		                                     .total_count = GG_COUNT(totals) };

	REQUIRE(gg_profile_put_look(scene->made.profile, &look, &parts, &error) == 0);
	scene->block_count = 0;
}

static void put_look(struct scene *scene, int64_t rss_bytes, const char *reason)
{
	const struct gg_profile_look look = {
		.process = scene->made.process,
		.time_ns = 7,
		.rss_bytes = rss_bytes,
		.page_bytes = 4096,
		.live_count = (int64_t)scene->block_count,
		.chosen_count = (int64_t)scene->block_count,
		.reason = reason,
	};
	const struct gg_profile_look_parts parts = { .blocks = scene->blocks,
		                                     .block_count = scene->block_count };

	REQUIRE(gg_profile_put_look(scene->made.profile, &look, &parts, &error) == 0);
	scene->block_count = 0;
}

static void load(struct scene *scene)
{
	struct gg_profile *profile = scene->made.profile;
	int status = gg_model_load(&scene->model, &profile, 1, NULL, &error);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
}

static int ask(struct scene *scene)
{
	gg_query_result_free(scene->result);
	scene->result = NULL;
	return gg_query_rows(scene->model, &scene->query, &scene->result, &error);
}

static double bytes(const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, GG_BYTES).value;
}

static double asked_total(struct scene *scene)
{
	int status = ask(scene);

	REQUIRE_MSG(status == 0, "%s: %s", error.place, error.message);
	return bytes(&scene->result->total);
}

TEST_WITH(scene, rows_add_up_to_the_byte_at_an_interval_of_1)
{
	uint32_t keeper = made_stack(&scene->made, "main>keep");
	uint32_t other = made_stack(&scene->made, "main>other");
	struct gg_interval interval;

	add_block(scene, keeper, 64, 3000.5);
	add_block(scene, keeper, 64, 1000);
	add_block(scene, other, 64, 0);
	made_sample(&scene->made, other, 64, 5, 6);
	put_look(scene, 100, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 4000.5);
	REQUIRE(scene->result->row_count == 2);
	CHECK_EQ_DOUBLE(bytes(scene->result->rows[0].self), 4000.5);
	interval = gg_interval_of(scene->result->rows[0].self, GG_BYTES, 0.95, true);
	CHECK_EQ_U64(interval.method, GG_METHOD_EXACT);
	CHECK_EQ_I64(scene->result->moment_ns, 7);
}

TEST_WITH(scene, rows_trees_and_sums_show_the_same_number)
{
	const struct gg_tree_options options = { 0 };
	struct gg_tree *tree;
	struct gg_sum_up sum;

	add_block(scene, made_stack(&scene->made, "main>keep"), 64, 3000);
	add_block(scene, made_stack(&scene->made, "main>other"), 64, 5);
	put_look(scene, 100, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 3005);
	for (int by = 0; by <= GG_BY_PROCESS; by++) {
		scene->query.by = (enum gg_grouping)by;
		CHECK_EQ_DOUBLE(asked_total(scene), 3005);
	}
	REQUIRE(gg_query_sum(scene->model, &scene->query, &sum, &error) == 0);
	CHECK_EQ_DOUBLE(bytes(&sum.total), 3005);
	REQUIRE(gg_tree_build(&tree, scene->model, &scene->query, &options, &error) == 0);
	CHECK_EQ_DOUBLE(bytes(tree->nodes[0].total), 3005);
	gg_tree_free(tree);
}

TEST_WITH(scene, filters_for_stacks_select_blocks)
{
	add_block(scene, made_stack(&scene->made, "main>keep"), 64, 3000);
	add_block(scene, made_stack(&scene->made, "main>other"), 64, 5);
	put_look(scene, 100, NULL);
	load(scene);
	scene->query.focus = "keep";
	CHECK_EQ_DOUBLE(asked_total(scene), 3000);
	scene->query.focus = NULL;
	scene->query.ignore = "keep";
	CHECK_EQ_DOUBLE(asked_total(scene), 5);
}

TEST_WITH(scene, the_peak_has_a_look_of_its_own)
{
	uint32_t stack = made_stack(&scene->made, "main");

	add_block(scene, stack, 64, 3000);
	put_look(scene, 900, NULL);
	add_block(scene, stack, 64, 10);
	put_look(scene, 200, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 10);
	scene->query.look_moment = GG_LOOK_PEAK;
	CHECK_EQ_DOUBLE(asked_total(scene), 3000);
}

TEST_WITH(scene, an_unknown_block_raises_the_upper_end_alone)
{
	uint32_t stack = made_stack(&scene->made, "main");
	struct gg_interval interval;

	add_block(scene, stack, 64, 3000);
	add_block(scene, stack, 64, -1);
	put_look(scene, 900, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 3000);
	CHECK_EQ_U64(scene->result->pinned.unknown_count, 1);
	interval = gg_interval_of(&scene->result->total, GG_BYTES, 0.95, false);
	CHECK_EQ_DOUBLE(interval.low, 3000);
	CHECK(interval.high >= 6000);
}

/* Both processes have the block; their rows have it twice, and the total once. */
TEST_WITH(scene, a_block_that_processes_share_counts_once)
{
	uint32_t stack = made_stack(&scene->made, "main");
	uint64_t id = add_block(scene, stack, 64, 3000), child;

	put_look(scene, 900, NULL);
	made_process(&scene->made, 5000, 2, 1000000000);
	child = made_inherited(&scene->made, stack, 64, 5, GG_TIME_NONE, id);
	scene->blocks[scene->block_count++] = (struct gg_profile_look_block){
		.sample = child, .pinned_bytes = 3000
	};
	add_block(scene, stack, 64, 7);
	put_look(scene, 900, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 3007);
	CHECK_EQ_U64(scene->result->pinned.look_count, 2);
	scene->query.by = GG_BY_PROCESS;
	CHECK_EQ_DOUBLE(asked_total(scene), 3007);
	REQUIRE(scene->result->row_count == 2);
	CHECK_EQ_DOUBLE(bytes(scene->result->rows[0].self), 3007);
	CHECK_EQ_DOUBLE(bytes(scene->result->rows[1].self), 3000);
	scene->query.pid = 5000;
	CHECK_EQ_DOUBLE(asked_total(scene), 3007);
}

static void check_below(const struct gg_tally *tally, double most)
{
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, 0.95, true);

	CHECK(interval.low <= interval.high);
	CHECK(interval.high <= most);
}

static void check_all_below(struct scene *scene, double most)
{
	const struct gg_tree_options options = { 0 };
	struct gg_tree *tree;

	for (int by = 0; by <= GG_BY_PROCESS; by++) {
		scene->query.by = (enum gg_grouping)by;
		asked_total(scene);
		check_below(&scene->result->total, most);
		for (size_t i = 0; i < scene->result->row_count; i++) {
			check_below(scene->result->rows[i].self, most);
			check_below(scene->result->rows[i].total, most);
		}
	}
	REQUIRE(gg_tree_build(&tree, scene->model, &scene->query, &options, &error) == 0);
	for (size_t i = 0; i < tree->count; i++) {
		check_below(tree->nodes[i].total, most);
		check_below(tree->nodes[i].self, most);
	}
	gg_tree_free(tree);
}

/* One block stands for five, so its unbiased estimate is above the total. */
TEST_WITH(scene, an_exact_total_bounds_every_row_and_sum)
{
	add_block(scene, made_stack(&scene->made, "main>keep"), 64, 3000);
	add_block(scene, made_stack(&scene->made, "main>other"), 64, 0);
	put_walk(scene, 4000, 0);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 15000);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, 4000);
	check_all_below(scene, 4000);
}

TEST_WITH(scene, an_exact_total_of_nothing_is_a_bound)
{
	add_block(scene, made_stack(&scene->made, "main"), 64, 0);
	put_walk(scene, 0, 0);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 0);
	check_all_below(scene, 0);
}

TEST_WITH(scene, a_total_below_what_the_blocks_keep_gives_way)
{
	add_block(scene, made_stack(&scene->made, "main"), 64, 3000);
	put_walk(scene, 2000, 0);
	load(scene);
	asked_total(scene);
	check_all_below(scene, 3000);
}

TEST_WITH(scene, a_walk_that_could_not_read_everything_bounds_nothing)
{
	add_block(scene, made_stack(&scene->made, "main"), 64, 3000);
	put_walk(scene, 4000, 16);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 15000);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, -1);
	CHECK(gg_interval_of(&scene->result->total, GG_BYTES, 0.95, true).high > 15000);
}

/* A look that chose one of five samples, with mappings of 5000 bytes where blocks may lie. */
static void put_mappings(struct scene *scene, const struct gg_profile_look_total *totals,
                         size_t total_count)
{
	const struct gg_profile_look look = {
		.process = scene->made.process,
		.time_ns = 7,
		.rss_bytes = 100000,
		.page_bytes = 4096,
		.live_count = 5 * (int64_t)scene->block_count,
		.chosen_count = (int64_t)scene->block_count,
	};
	const struct gg_profile_look_mapping mappings[] = {
		{ .kind = GG_MAPPING_HEAP, .rss_bytes = 3000 },
		{ .kind = GG_MAPPING_STACK, .rss_bytes = 500 },
		{ .kind = GG_MAPPING_DATA, .name = "/lib/libc.so.6", .rss_bytes = 20000 },
		{ .kind = GG_MAPPING_DATA, .rss_bytes = 700 },
		{ .kind = GG_MAPPING_FILE, .rss_bytes = 40000 },
		{ .kind = GG_MAPPING_SHARED, .rss_bytes = 20000 },
		{ .kind = GG_MAPPING_GEIGER, .rss_bytes = 15000 },
		{ .kind = GG_MAPPING_ANONYMOUS, .rss_bytes = 1500 },
	};
	const struct gg_profile_look_parts parts = { .mappings = mappings,
		                                     .mapping_count = GG_COUNT(mappings),
		                                     .blocks = scene->blocks,
		                                     .block_count = scene->block_count,
		                                     .totals = totals,
		                                     .total_count = total_count };

	REQUIRE(gg_profile_put_look(scene->made.profile, &look, &parts, &error) == 0);
	scene->block_count = 0;
}

TEST_WITH(scene, resident_memory_bounds_every_row_and_sum_without_a_walk)
{
	add_block(scene, made_stack(&scene->made, "main>keep"), 64, 3000);
	add_block(scene, made_stack(&scene->made, "main>other"), 64, 0);
	put_mappings(scene, NULL, 0);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 15000);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, -1);
	CHECK_EQ_I64(scene->result->pinned.limit_bytes, 5700);
	check_all_below(scene, 5700);
}

TEST_WITH(scene, free_memory_of_an_allocator_bounds_every_row_and_sum)
{
	const struct gg_profile_look_total totals[] = {
		{ .name = "jemalloc.active", .bytes = 9000 },
		{ .name = "jemalloc.allocated", .bytes = 5500 },
		{ .name = "jemalloc.changed", .bytes = 400 },
	};

	add_block(scene, made_stack(&scene->made, "main"), 64, 3000);
	put_mappings(scene, totals, GG_COUNT(totals));
	load(scene);
	asked_total(scene);
	CHECK_EQ_I64(scene->result->pinned.limit_bytes, 3900);
	check_all_below(scene, 3900);
}

/* Nodes of a tree and rows of a difference may have what the whole may have. */
static void check_parts_may_have_changed(struct scene *scene, double bytes, double share)
{
	const struct gg_tree_options options = { .fold = 0 };
	const struct gg_diff_query diff_query = { .scale = 1, .confidence = 0.95 };
	struct gg_query query;
	struct gg_tree *tree;
	struct gg_diff *diff;

	gg_query_init(&query);
	query.metric = GG_METRIC_PINNED;
	REQUIRE(gg_tree_build(&tree, scene->model, &query, &options, &error) == 0);
	for (size_t i = 0; i < tree->count; i++) {
		CHECK_EQ_DOUBLE(tree->nodes[i].total->changed_bytes, bytes);
		CHECK_EQ_DOUBLE(tree->nodes[i].self->changed_share, share);
	}
	gg_tree_free(tree);
	REQUIRE(gg_diff_run(scene->model, scene->result, scene->model, scene->result, &diff_query,
	                    &diff, &error) == 0);
	REQUIRE(diff->row_count > 0);
	for (size_t i = 0; i < diff->row_count; i++)
		CHECK_EQ_DOUBLE(diff->rows[i].before.changed_bytes, bytes);
	gg_diff_free(diff);
}

/* 4000 of 55,000 bytes may be other blocks by now. */
TEST_WITH(scene, rows_of_an_old_answer_include_what_changed_since)
{
	const struct gg_profile_look_total totals[] = {
		{ .name = "jemalloc.active", .bytes = 900000 },
		{ .name = "jemalloc.allocated", .bytes = 55000 },
		{ .name = "jemalloc.changed", .bytes = 4000 },
	};
	const double share = 4000.0 / 55000;
	struct gg_interval is, was;
	struct gg_tally row;

	for (int i = 0; i < 40; i++)
		add_block(scene, made_stack(&scene->made, "main"), 64, 300);
	put_mappings(scene, totals, GG_COUNT(totals));
	load(scene);
	asked_total(scene);
	CHECK_EQ_I64(scene->result->pinned.changed_bytes, 4000);
	CHECK_EQ_DOUBLE(scene->result->pinned.changed_share, share);
	row = *scene->result->rows[0].self;
	row.is_limited = false;
	is = gg_interval_of(&row, GG_BYTES, 0.95, true);
	row.changed_bytes = row.changed_share = 0;
	was = gg_interval_of(&row, GG_BYTES, 0.95, true);
	CHECK(is.low == was.low - 4000 && is.high == was.high / (1 - share) + 4000);
	check_parts_may_have_changed(scene, 4000, share);
}

TEST_WITH(scene, limits_of_processes_add_up_if_all_are_known)
{
	uint32_t stack = made_stack(&scene->made, "main");

	add_block(scene, stack, 64, 3000);
	put_walk(scene, 4000, 0);
	made_process(&scene->made, 5000, 2, 1000000000);
	add_block(scene, stack, 64, 100);
	put_mappings(scene, NULL, 0);
	load(scene);
	asked_total(scene);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, -1);
	CHECK_EQ_I64(scene->result->pinned.limit_bytes, 9700);
	check_all_below(scene, 9700);
}

/* Totals of several processes add up; one that was not walked leaves no total of all. */
TEST_WITH(scene, totals_of_processes_add_up_if_all_were_walked)
{
	uint32_t stack = made_stack(&scene->made, "main");

	add_block(scene, stack, 64, 3000);
	put_walk(scene, 4000, 0);
	made_process(&scene->made, 5000, 2, 1000000000);
	add_block(scene, stack, 64, 100);
	put_walk(scene, 200, 0);
	made_process(&scene->made, 5001, 3, 1000000000);
	add_block(scene, stack, 64, 100);
	put_look(scene, 900, NULL);
	load(scene);
	scene->query.pid = 5000;
	asked_total(scene);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, 200);
	check_below(&scene->result->total, 200);
	scene->query.pid = 0;
	asked_total(scene);
	CHECK_EQ_I64(scene->result->pinned.total_bytes, -1);
}

TEST_WITH(scene, a_difference_stays_within_both_totals)
{
	const struct gg_diff_query query = { .scale = 1,
		                             .confidence = 0.95,
		                             .false_discovery_rate = 0.05 };
	struct gg_query_result *after;
	struct gg_diff *diff;

	add_block(scene, made_stack(&scene->made, "main>keep"), 64, 3000);
	add_block(scene, made_stack(&scene->made, "main>other"), 64, 500);
	put_walk(scene, 4000, 0);
	load(scene);
	asked_total(scene);
	scene->query.focus = "other";
	REQUIRE(gg_query_rows(scene->model, &scene->query, &after, &error) == 0);
	REQUIRE(gg_diff_run(scene->model, scene->result, scene->model, after, &query, &diff,
	                    &error) == 0);
	CHECK_EQ_DOUBLE(diff->total.difference.value, -15000);
	CHECK(diff->total.difference.low >= -17500);
	for (size_t i = 0; i < diff->row_count; i++) {
		check_below(&diff->rows[i].before, 4000);
		check_below(&diff->rows[i].after, 4000);
	}
	gg_diff_free(diff);
	gg_query_result_free(after);
}

TEST_WITH(scene, a_profile_without_looks_says_how_to_get_one)
{
	made_sample(&scene->made, made_stack(&scene->made, "main"), 64, 5, GG_TIME_NONE);
	load(scene);
	CHECK_EQ_I64(ask(scene), -ENODATA);
	CHECK(strstr(error.message, "no look") != NULL);
	CHECK(strstr(error.advice, "geiger record") != NULL);
}

TEST_WITH(scene, a_look_that_saw_no_memory_gives_its_reason)
{
	add_block(scene, made_stack(&scene->made, "main"), 64, -1);
	put_look(scene, 900, "the allocator is not known");
	load(scene);
	CHECK_EQ_I64(ask(scene), -ENODATA);
	CHECK(strstr(error.message, "the allocator is not known") != NULL);
}

TEST_WITH(scene, a_look_without_blocks_has_no_rows)
{
	put_look(scene, 900, NULL);
	load(scene);
	CHECK_EQ_DOUBLE(asked_total(scene), 0);
	CHECK_EQ_U64(scene->result->row_count, 0);
}

TEST_WITH(scene, allocations_and_windows_are_refused)
{
	add_block(scene, made_stack(&scene->made, "main"), 64, 3);
	put_look(scene, 900, NULL);
	load(scene);
	scene->query.unit = GG_ALLOCATIONS;
	CHECK_EQ_I64(ask(scene), -EINVAL);
	scene->query.unit = GG_BYTES;
	scene->query.to_ns = 5;
	CHECK_EQ_I64(ask(scene), -EINVAL);
}

/* The first column of the only row. */
static int64_t query_integer(const struct scene *scene, const char *sql)
{
	struct gg_sql_query *query;
	int64_t value;

	REQUIRE(gg_sql_query_new(&query, scene->made.profile, sql, &error) == 0);
	REQUIRE(gg_sql_query_next(query, &error) == 1);
	value = gg_sql_query_integer(query, 0);
	gg_sql_query_free(query);
	return value;
}

/* 200 sampled blocks, of which every twentieth keeps a page; sampled with an interval of 1 KiB. */
TEST_WITH(scene, an_interval_of_a_sampled_heap_holds_the_truth)
{
	uint32_t keeper = made_stack(&scene->made, "main>keep");
	const struct gg_query_row *row;
	struct gg_interval interval;

	scene->made.sampling_interval = 1024;
	for (int i = 0; i < 200; i++)
		add_block(scene, keeper, 64, i % 20 == 0 ? 4000 : 0);
	put_look(scene, 900, NULL);
	load(scene);
	asked_total(scene);
	row = &scene->result->rows[0];
	interval = gg_interval_of(row->self, GG_BYTES, 0.95, true);
	/* 10 samples that keep 4000 bytes, of p = 1 - exp(-1/16). */
	CHECK_MSG(fabs(bytes(row->self) - 40000 / -expm1(-1.0 / 16)) < 1, "%g", bytes(row->self));
	CHECK(interval.low < 0.7 * bytes(row->self));
	CHECK(interval.high > 1.5 * bytes(row->self) && isfinite(interval.high));
	CHECK_EQ_I64(query_integer(scene, "select cast(sum(bytes) as integer) from v_pinned"),
	             (int64_t)bytes(row->self));
	CHECK_EQ_I64(query_integer(scene, "select cast(sum(variance) / 1e6 as integer) "
	                                  "from v_pinned where moments & 1"),
	             (int64_t)(gg_tally_estimate(row->self, GG_BYTES).variance / 1e6));
}

/* --- the comparison with other blocks ------------------------------------------------------- */

static const char *const names[] = { "main>a", "main>b", "main>c", "main>d", "main>e" };

/* Five stacks of 30 blocks of two classes each; blocks of the first keep `factor` times as much. */
static void add_population(struct scene *scene, uint64_t seed, double factor)
{
	struct gg_rng rng;

	gg_rng_seed(&rng, seed, 3);
	for (int i = 0; i < 150; i++) {
		uint32_t stack = made_stack(&scene->made, names[i % 5]);
		double value = gg_rng_uniform(&rng) < 0.5 ? 0 : 1000 * gg_rng_exponential(&rng);

		add_block(scene, stack, i % 2 == 0 ? 64 : 300, i % 5 == 0 ? factor * value : value);
	}
	put_look(scene, 900, NULL);
	load(scene);
	asked_total(scene);
}

static uint64_t count_named(struct scene *scene)
{
	struct gg_pinned_comparison *rows;
	uint64_t named_count = 0;

	REQUIRE(gg_pinned_compare(scene->model, scene->result, &rows, &error) == 0);
	for (size_t i = 0; i < scene->result->row_count; i++) {
		CHECK_EQ_U64(rows[i].block_count, 30);
		CHECK_EQ_DOUBLE(rows[i].age_ns, 2);
		named_count += rows[i].p_value <= 0.05;
	}
	free(rows);
	return named_count;
}

/* 5 % of 500 rows, plus 3 standard deviations. */
TEST(a_population_that_is_all_alike_names_nobody_too_often)
{
	uint64_t named_count = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct scene scene = { 0 };

		scene_setup(&scene);
		add_population(&scene, seed, 1);
		named_count += count_named(&scene);
		scene_teardown(&scene);
	}
	CHECK_MSG(named_count <= 25 + 15, "%d of 500", (int)named_count);
	CHECK_MSG(named_count > 5, "%d of 500", (int)named_count);
}

TEST_WITH(scene, a_stack_that_keeps_more_than_others_of_its_size_is_found)
{
	struct gg_pinned_comparison *rows;

	for (int by = GG_BY_FUNCTION; by <= GG_BY_STACK; by++) {
		add_population(scene, 1, 4);
		scene->query.by = (enum gg_grouping)by;
		asked_total(scene);
		REQUIRE(gg_pinned_compare(scene->model, scene->result, &rows, &error) == 0);
		CHECK_MSG(rows[0].ratio > 1.8 && rows[0].ratio < 3.5, "%g", rows[0].ratio);
		CHECK(rows[0].p_value <= 0.01);
		free(rows);
		gg_model_free(scene->model);
		scene->model = NULL;
		scene->block_count = 0;
	}
}

TEST_WITH(scene, a_row_with_all_blocks_of_its_sizes_is_compared_with_nothing)
{
	struct gg_pinned_comparison *rows;

	for (int i = 0; i < 10; i++) {
		add_block(scene, made_stack(&scene->made, "main>keep"), 64, 100 * i);
		add_block(scene, made_stack(&scene->made, "main>other"), 300, 10 * i);
	}
	put_look(scene, 900, NULL);
	load(scene);
	asked_total(scene);
	REQUIRE(gg_pinned_compare(scene->model, scene->result, &rows, &error) == 0);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ_U64(rows[i].block_count, 10);
		CHECK(isnan(rows[i].ratio) && isnan(rows[i].p_value));
		CHECK_EQ_DOUBLE(rows[i].age_ns, 2);
	}
	free(rows);
}

TEST_WITH(scene, a_row_of_a_process_compares_the_blocks_that_it_shares)
{
	uint32_t stack = made_stack(&scene->made, "main");
	struct gg_pinned_comparison *rows;
	uint64_t ids[10];

	for (int i = 0; i < 10; i++)
		ids[i] = add_block(scene, stack, 64, 1000);
	put_look(scene, 900, NULL);
	made_process(&scene->made, 5000, 2, 1000000000);
	for (int i = 0; i < 10; i++)
		scene->blocks[scene->block_count++] = (struct gg_profile_look_block){
			.sample = made_inherited(&scene->made, stack, 64, 5, GG_TIME_NONE, ids[i]),
			.pinned_bytes = 500
		};
	put_look(scene, 800, NULL);
	load(scene);
	scene->query.by = GG_BY_PROCESS;
	asked_total(scene);
	REQUIRE(scene->result->row_count == 2);
	REQUIRE(gg_pinned_compare(scene->model, scene->result, &rows, &error) == 0);
	for (size_t i = 0; i < 2; i++)
		CHECK_EQ_U64(rows[i].block_count, 10);
	CHECK_MSG(fabs(rows[0].ratio - 4.0 / 3) < 1e-9, "%g", rows[0].ratio);
	CHECK_MSG(fabs(rows[1].ratio - 2.0 / 3) < 1e-9, "%g", rows[1].ratio);
	free(rows);
}

/* --- the neighbors of blocks ---------------------------------------------------------------- */

enum { MS = 1000000 };

/* A live block that keeps memory, or one that was freed. */
static void allocate_at(struct scene *scene, const char *stack, uint64_t size_bytes,
                        int64_t alloc_ns, int64_t lifetime_ns)
{
	uint64_t id = made_sample(&scene->made, made_stack(&scene->made, stack), size_bytes,
	                          alloc_ns,
	                          lifetime_ns > 0 ? alloc_ns + lifetime_ns : GG_TIME_NONE);

	if (lifetime_ns > 0)
		return;
	REQUIRE(scene->block_count < BLOCK_MAX);
	scene->blocks[scene->block_count++] = (struct gg_profile_look_block){
		.sample = id, .pinned_bytes = 1000
	};
}

static void put_look_at(struct scene *scene, int64_t time_ns)
{
	const struct gg_profile_look look = { .process = scene->made.process,
		                              .time_ns = time_ns,
		                              .rss_bytes = 900,
		                              .page_bytes = 4096,
		                              .live_count = (int64_t)scene->block_count,
		                              .chosen_count = (int64_t)scene->block_count };
	const struct gg_profile_look_parts parts = { .blocks = scene->blocks,
		                                     .block_count = scene->block_count };

	REQUIRE(gg_profile_put_look(scene->made.profile, &look, &parts, &error) == 0);
	scene->block_count = 0;
	load(scene);
	asked_total(scene);
}

static struct gg_pinned_neighbors neighbors_of_row(struct scene *scene, size_t row)
{
	struct gg_pinned_neighbors *rows, found;

	REQUIRE(row < scene->result->row_count);
	REQUIRE(gg_pinned_find_neighbors(scene->model, scene->result, SIZE_MAX, &rows, &error) ==
	        0);
	found = rows[row];
	free(rows);
	return found;
}

static void check_neighbor(const struct scene *scene, const struct gg_pinned_neighbor *neighbor,
                           const char *function, double share, double lifetime_ns)
{
	const char *name = scene->model->functions[neighbor->function].name;

	CHECK_MSG(strcmp(name, function) == 0, "%s", name);
	CHECK_MSG(fabs(neighbor->share - share) < 1e-9, "%s: %g", name, neighbor->share);
	CHECK_EQ_DOUBLE(neighbor->median_lifetime_ns, lifetime_ns);
}

/* Two phases of 40 rounds; in each round a function keeps one block among nine short-lived ones. */
static void add_phases(struct scene *scene)
{
	for (int i = 0; i < 80; i++) {
		int64_t now_ns = (int64_t)i * 20 * MS + (i >= 40 ? 3000 * (int64_t)MS : 0);

		allocate_at(scene, i < 40 ? "main>keep" : "main>late", 64, now_ns, 0);
		for (int k = 0; k < 9; k++)
			allocate_at(scene,
			            i >= 40     ? "main>load"
			            : k % 3 > 0 ? "main>parse"
			                        : "main>read",
			            100, now_ns + (k + 1) * MS, (k % 3 > 0 ? 3 : 12) * MS);
	}
}

TEST_WITH(scene, blocks_were_allocated_among_those_of_their_thread_and_time)
{
	uint32_t thread = scene->made.thread;
	struct gg_pinned_neighbors found;

	add_phases(scene);
	scene->made.thread = thread + 1;
	for (int i = 0; i < 1000; i++)
		allocate_at(scene, "main>other_thread", 4000, i * MS, MS / 2);
	put_look_at(scene, 10000 * (int64_t)MS);
	for (int by = GG_BY_FUNCTION; by <= GG_BY_STACK; by++) {
		scene->query.by = (enum gg_grouping)by;
		asked_total(scene);
		for (size_t i = 0; i < scene->result->row_count; i++) {
			const struct gg_query_row *row = &scene->result->rows[i];
			GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

			gg_query_row_label(scene->model, scene->result, row, &label);
			found = neighbors_of_row(scene, i);
			if (strstr(gg_buf_text(&label), "keep") != NULL) {
				REQUIRE(found.count == 2);
				CHECK(fabs(found.functions[0].share - 2.0 / 3) < 0.02);
				CHECK(fabs(found.functions[1].share - 1.0 / 3) < 0.02);
				check_neighbor(scene, &found.functions[0], "parse",
				               found.functions[0].share, 3 * MS);
				check_neighbor(scene, &found.functions[1], "read",
				               found.functions[1].share, 12 * MS);
			} else if (strstr(gg_buf_text(&label), "late") != NULL) {
				REQUIRE(found.count == 1);
				check_neighbor(scene, &found.functions[0], "load", 1, 3 * MS);
			} else {
				CHECK_EQ_U64(found.count, 0);
			}
		}
	}
}

/* Five samples are needed, from the same second, and freed before the look. */
TEST_WITH(scene, few_or_distant_or_living_neighbors_say_nothing)
{
	for (int i = 0; i < 4; i++)
		allocate_at(scene, "main>parse", 64, 2000 * (int64_t)MS + i, 7);
	allocate_at(scene, "main>keep", 64, 2000 * (int64_t)MS + 4, 0);
	allocate_at(scene, "main>parse", 64, 999 * (int64_t)MS, 7);
	allocate_at(scene, "main>parse", 64, 3001 * (int64_t)MS, 7);
	allocate_at(scene, "main>parse", 64, 2000 * (int64_t)MS, 3000 * (int64_t)MS);
	made_sample(&scene->made, made_stack(&scene->made, "main>parse"), 64, 2000 * (int64_t)MS,
	            GG_TIME_NONE);
	put_look_at(scene, 4000 * (int64_t)MS);
	CHECK_EQ_U64(neighbors_of_row(scene, 0).count, 0);
}

TEST_WITH(scene, five_neighbors_are_enough)
{
	struct gg_pinned_neighbors found;

	for (int i = 0; i < 5; i++)
		allocate_at(scene, "main>parse", 64, i, 7 + i);
	allocate_at(scene, "main>keep", 64, 3, 0);
	put_look_at(scene, 1000);
	found = neighbors_of_row(scene, 0);
	REQUIRE(found.count == 1);
	check_neighbor(scene, &found.functions[0], "parse", 1, 9);
}

/* The same five samples around many blocks are still five. */
TEST_WITH(scene, a_neighbor_of_many_blocks_counts_once)
{
	for (int i = 0; i < 4; i++)
		allocate_at(scene, "main>parse", 64, i, 7);
	for (int i = 0; i < 20; i++)
		allocate_at(scene, "main>keep", 64, 4, 0);
	put_look_at(scene, 1000);
	CHECK_EQ_U64(neighbors_of_row(scene, 0).count, 0);
}

TEST_WITH(scene, blocks_without_neighbors_dilute_the_share)
{
	struct gg_pinned_neighbors found;

	for (int i = 0; i < 10; i++)
		allocate_at(scene, "main>parse", 64, i, 7);
	for (int i = 0; i < 3; i++)
		allocate_at(scene, "main>keep", 64, (3 * (int64_t)i) * 1000 * MS, 0);
	put_look_at(scene, 20000 * (int64_t)MS);
	found = neighbors_of_row(scene, 0);
	REQUIRE(found.count == 1);
	check_neighbor(scene, &found.functions[0], "parse", 1.0 / 3, 7);
}

TEST_WITH(scene, a_mix_of_many_functions_names_none)
{
	static const char *const stacks[] = { "main>a", "main>b", "main>c", "main>d", "main>e" };

	for (int i = 0; i < 50; i++)
		allocate_at(scene, stacks[i % 5], 64, i, 7);
	allocate_at(scene, "main>keep", 64, 25, 0);
	put_look_at(scene, 1000);
	CHECK_EQ_U64(neighbors_of_row(scene, 0).count, 0);
}

/* Processes are not threads of each other, even if nobody knows the threads. */
TEST_WITH(scene, unknown_threads_count_as_one_of_their_process)
{
	struct gg_pinned_neighbors found;

	scene->made.thread = 0;
	for (int i = 0; i < 10; i++)
		allocate_at(scene, "main>parse", 64, i, 7);
	allocate_at(scene, "main>keep", 64, 5, 0);
	scene->made.process = made_process(&scene->made, 5000, 2, 1000000000);
	scene->made.thread = 0;
	for (int i = 0; i < 10; i++)
		allocate_at(scene, "main>other", 640, i, 9);
	scene->made.process = 1;
	put_look_at(scene, 1000);
	found = neighbors_of_row(scene, 0);
	REQUIRE(found.count == 1);
	check_neighbor(scene, &found.functions[0], "parse", 1, 7);
}

/* A large block had at most a page beside its neighbor; one sample stands for many small ones. */
TEST_WITH(scene, neighbors_count_by_the_bytes_that_they_had_on_the_page)
{
	struct gg_pinned_neighbors found;
	double small = 64 / -expm1(-64.0 / 8192), large = 4096 / -expm1(-1e6 / 8192);

	scene->made.sampling_interval = 8192;
	for (int i = 0; i < 10; i++) {
		allocate_at(scene, "main>small", 64, i, 7);
		allocate_at(scene, "main>large", 1000000, i, 11);
	}
	allocate_at(scene, "main>keep", 64, 5, 0);
	put_look_at(scene, 1000);
	found = neighbors_of_row(scene, 0);
	REQUIRE(found.count == 2);
	check_neighbor(scene, &found.functions[0], "small", small / (small + large), 7);
	check_neighbor(scene, &found.functions[1], "large", large / (small + large), 11);
}

TEST_WITH(scene, a_row_of_more_blocks_than_are_judged_has_neighbors)
{
	struct gg_pinned_neighbors found;

	for (int i = 0; i < 4000; i++) {
		allocate_at(scene, "main>parse", 64, 2 * i, 7);
		allocate_at(scene, "main>keep", 64, 2 * i + 1, 0);
	}
	put_look_at(scene, 100000);
	found = neighbors_of_row(scene, 0);
	REQUIRE(found.count == 1);
	check_neighbor(scene, &found.functions[0], "parse", 1, 7);
}
