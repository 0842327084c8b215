/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fleet_store - a store on this machine: what goes in comes out as numbers and intervals that
 * a merge, or the samples themselves, have.
 *
 * It starts the system's clickhouse-server once; without one every test is skipped.
 * GG_TEST_FLEET_STORE is the address of another store, such as one of a newer engine
 * (tests/e2e/chdb_server.py).
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fast_exit.h"
#include "fleet/fleet_compare.h"
#include "fleet/fleet_draws.h"
#include "fleet/fleet_extend.h"
#include "fleet/fleet_load.h"
#include "fleet/fleet_model.h"
#include "fleet/fleet_question.h"
#include "fleet/fleet_retention.h"
#include "fleet/fleet_rollup.h"
#include "fleet/fleet_schema.h"
#include "fleet/fleet_services.h"
#include "fleet/fleet_statements.h"
#include "fleet/fleet_wire.h"
#include "fleet/slot_sums.h"
#include "fleet/store_server.h"
#include "format/merge/merge.h"
#include "made_profile.h"
#include "query/query.h"
#include "scratch.h"
#include "stats/estimate/interval.h"
#include "test.h"

enum { PROFILES = 50, MIXED_PROFILES = 10, SLOT_S = 1700000400, SLOT_LENGTH_S = 600, GAP = 4096 };

static struct gg_error error;
static const char *store_dir;
static struct gg_clickhouse store;

static const char *why(void)
{
	static char line[GG_ERROR_LINE_MAX];

	gg_error_format(&error, line, sizeof(line));
	return line;
}

static void stop_store(void)
{
	bool was_running;

	gg_clickhouse_done(&store);
	if (gg_store_server_stop(store_dir, &was_running, &error) < 0)
		printf("stop: %s\n", why());
}

/* Ends a process that may have loaded libchdb. */
static void leave_store(int status)
{
	gg_clickhouse_done(&store);
	scratch_remove();
	gg_fast_exit(status);
}

/* Starts the server with the first test.  It returns false if the machine has no server. */
static bool has_store(void)
{
	const struct gg_store_plan plan = { .memory_bytes = 512 << 20, .wait_seconds = 120 };
	struct gg_store_server server;
	const char *other;
	size_t count;
	int status;

	if (store.host != NULL || store.engine != NULL)
		return true;
	other = getenv("GG_TEST_FLEET_STORE");
	store_dir = scratch_path("store");
	status = other != NULL ? 0 : gg_store_server_start(store_dir, &plan, &server, &error);
	if (status == -ENOENT)
		return false;
	if (status == 0)
		status = gg_store_open(&store, other != NULL ? other : store_dir, &error);
	if (status == 0)
		status = gg_fleet_schema_apply(&store, "default", NULL, &count, &error);
	if (status < 0) {
		printf("%s\n", why());
		exit(1);
	}
	if (other == NULL)
		atexit(stop_store);
	else
		test_ending = leave_store;
	return true;
}

#define NEEDS_STORE                                            \
	do {                                                   \
		if (!has_store())                              \
			SKIP("there is no clickhouse-server"); \
	} while (0)

static struct gg_clickhouse *whole_store(void);

static void must(int status)
{
	if (status < 0)
		printf("%s\n", why());
	REQUIRE(status >= 0);
}

/* --- profiles -------------------------------------------------------------------------------- */

/* Sizes of a stack: one for each, so that a merge need not mix them; the largest is nearly sure. */
static const struct {
	const char *stack;
	uint64_t size, count, mixed_size;
} blocks[] = {
	{ "main>load>parse@p.c:7", 64, 300, 90 },
	{ "main>load>read@r.c:9", 512, 200, 5000 },
	{ "main>cache+insert@c.c:3", 3000, 40, 20000 },
	{ "main>cache>grow", 17000, 9, 40 },
	{ "main>big", 70000, 2, 16000 },
	{ "start>main>load>parse@p.c:8", 100, 100, 200000 },
};

static void make_profile(struct made_profile *made, int number, bool mixed)
{
	made_begin(made, NULL, GAP, 100 + (uint64_t)number);
	made->has_build_ids = true;
	for (size_t i = 0; i < GG_COUNT(blocks); i++) {
		uint32_t stack = made_stack(made, blocks[i].stack);
		uint64_t count = blocks[i].count * (uint64_t)(1 + number % 3);

		made_allocate(made, stack, blocks[i].size, count, 10, GG_TIME_NONE);
		made_allocate(made, stack, blocks[i].size, 2 * count, 20, 500);
		if (mixed)
			made_allocate(made, stack, blocks[i].mixed_size, 7, 30, GG_TIME_NONE);
	}
}

static struct gg_model *load_model(struct gg_profile *profile)
{
	struct gg_model *model;

	must(gg_model_load(&model, &profile, 1, NULL, &error));
	return model;
}

static void put(struct made_profile *made, const char *service, const char *version, int number,
                uint32_t slot_s)
{
	char host[32];
	struct gg_fleet_load_plan plan = { .tenant = "default",
		                           .service = service,
		                           .version = version,
		                           .host = host,
		                           .slot_s = slot_s,
		                           .slot_length_s = SLOT_LENGTH_S,
		                           .selected_ppm = 1000000 };
	struct gg_model *model = load_model(made->profile);

	snprintf(host, sizeof(host), "host-%d", number);
	must(gg_fleet_load(whole_store(), model, &plan, &error));
	gg_model_free(model);
}

static struct gg_fleet_question ask_about(const char *service, enum gg_metric metric)
{
	return (struct gg_fleet_question){ .tenant = "default",
		                           .service = service,
		                           .metric = metric,
		                           .when = metric == GG_METRIC_LIVE ? GG_FLEET_AT_END
		                                                            : GG_FLEET_AVERAGE,
		                           .until_s = UINT32_MAX,
		                           .slot_length_s = SLOT_LENGTH_S };
}

static struct gg_query_result *rows_of(const struct gg_model *model, enum gg_metric metric,
                                       enum gg_quantity unit)
{
	struct gg_query_result *result;
	struct gg_query query;

	gg_query_init(&query);
	query.metric = metric;
	query.unit = unit;
	must(gg_query_rows(model, &query, &result, &error));
	return result;
}

/* --- comparison ------------------------------------------------------------------------------ */

static bool is_equal(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/*
 * The upper end of a number of allocations depends on the largest R/Z of a sample.  A merge has
 * bounds of it alone, so its upper end may be a little higher (`is_merge`).
 */
static void check_figures(const struct gg_tally *actual, const struct gg_tally *expected,
                          enum gg_quantity unit, bool is_merge, const char *label, const char *part)
{
	struct gg_interval a = gg_interval_of(actual, unit, 0.95, true);
	struct gg_interval b = gg_interval_of(expected, unit, 0.95, true);
	double x = gg_tally_estimate(actual, unit).value;
	double y = gg_tally_estimate(expected, unit).value;

	CHECK_MSG(is_equal(x, y), "%s %s: %.17g is not %.17g", label, part, x, y);
	CHECK_MSG(is_equal(a.low, b.low), "%s %s low: %.17g is not %.17g", label, part, a.low,
	          b.low);
	if (is_merge && unit == GG_ALLOCATIONS && a.high < b.high && b.high < 1.01 * a.high)
		return;
	CHECK_MSG(is_equal(a.high, b.high), "%s %s high: %.17g is not %.17g", label, part, a.high,
	          b.high);
}

static const struct gg_query_row *find_label(const struct gg_model *model,
                                             const struct gg_query_result *result,
                                             const char *label)
{
	for (size_t i = 0; i < result->row_count; i++) {
		struct gg_buf text = { 0 };
		bool is_it;

		gg_query_row_label(model, result, &result->rows[i], &text);
		is_it = strcmp(gg_buf_text(&text), label) == 0;
		gg_buf_done(&text);
		if (is_it)
			return &result->rows[i];
	}
	return NULL;
}

static struct gg_model *ask_model(struct gg_fleet_scope *scope,
                                  const struct gg_fleet_question *question, uint64_t groups)
{
	struct gg_model *model;

	must(gg_fleet_scope_of(scope, whole_store(), question, &error));
	must(gg_fleet_model_make(&model, whole_store(), scope, groups, NULL, "", &error));
	return model;
}

/* The questions are about a window of hours, which rollups answer. */
static bool is_window;

/* Every row of the store's answer is a row of `expected`, with the same numbers. */
static void check_rows(const struct gg_model *expected_model, const char *service,
                       enum gg_metric metric, enum gg_quantity unit, bool is_merge)
{
	struct gg_fleet_question question = ask_about(service, metric);
	GG_CLEANUP(gg_fleet_cover_done) struct gg_fleet_cover cover = { 0 };
	struct gg_fleet_scope scope;
	struct gg_query_result *actual, *expected = rows_of(expected_model, metric, unit);
	struct gg_model *model;

	if (is_window)
		question.when = GG_FLEET_AVERAGE;
	model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
	actual = rows_of(model, metric, unit);
	if (is_window) {
		must(gg_fleet_cover_of(&cover, whole_store(), &scope, GG_FLEET_NO_GROUPS, true,
		                       &error));
		CHECK_EQ_U64(cover.days.count, 1);
		CHECK_EQ_U64(cover.raw_to_s, 0);
	}
	CHECK_EQ_U64(scope.host_count, is_merge ? PROFILES : MIXED_PROFILES);
	CHECK_EQ_U64(actual->row_count, expected->row_count);
	CHECK(actual->row_count >= GG_COUNT(blocks));
	for (size_t i = 0; i < actual->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		const struct gg_query_row *row;

		gg_query_row_label(model, actual, &actual->rows[i], &label);
		row = find_label(expected_model, expected, gg_buf_text(&label));
		CHECK_MSG(row != NULL, "%s", gg_buf_text(&label));
		if (row == NULL)
			continue;
		check_figures(actual->rows[i].self, row->self, unit, is_merge, gg_buf_text(&label),
		              "self");
		check_figures(actual->rows[i].total, row->total, unit, is_merge,
		              gg_buf_text(&label), "total");
	}
	check_figures(&actual->total, &expected->total, unit, is_merge, "all", "total");
	gg_query_result_free(actual);
	gg_query_result_free(expected);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
}

static void check_all(const struct gg_model *expected, const char *service, bool is_merge)
{
	static const enum gg_metric metrics[] = { GG_METRIC_LIVE, GG_METRIC_ALLOCATED,
		                                  GG_METRIC_FREED };

	for (size_t i = 0; i < GG_COUNT(metrics); i++)
		for (int unit = 0; unit < GG_QUANTITY_COUNT; unit++)
			check_rows(expected, service, metrics[i], (enum gg_quantity)unit, is_merge);
}

/* --- tests ----------------------------------------------------------------------------------- */

TEST(fifty_profiles_are_what_their_merge_says)
{
	struct gg_profile *merged;
	struct gg_merge *merge;
	struct gg_merge_options options = { 0 };
	const struct gg_fleet_roll_plan plan = { .tenant = "default", .now_s = SLOT_S + 2 * 86400 };
	struct gg_fleet_rolled rolled;
	struct gg_model *model;

	NEEDS_STORE;
	must(gg_profile_create(&merged, NULL, &error));
	must(gg_merge_new(&merge, merged, &options, &error));
	for (int i = 0; i < PROFILES; i++) {
		struct made_profile made;

		make_profile(&made, i, false);
		put(&made, "merged", i % 2 == 0 ? "1" : "2", i, SLOT_S);
		must(gg_merge_add(merge, made.profile, &error));
		gg_profile_close(made.profile);
	}
	must(gg_merge_finish(merge, &error));
	gg_merge_free(merge);
	model = load_model(merged);
	gg_profile_close(merged);
	check_all(model, "merged", true);
	/* The same from a rollup of their hour. */
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK(rolled.hour_count >= 1 && rolled.day_count >= 1);
	is_window = true;
	check_all(model, "merged", true);
	is_window = false;
	gg_model_free(model);
}

/*
 * A merge folds sizes of a stack, and its intervals allow for that.  Those of the store need not,
 * they are those of a profile that has the samples of all.
 */
TEST(stacks_with_mixed_sizes_are_what_their_samples_say)
{
	struct made_profile all;
	struct gg_model *model;

	NEEDS_STORE;
	made_begin(&all, NULL, GAP, 1);
	all.has_build_ids = true;
	for (int i = 0; i < MIXED_PROFILES; i++) {
		struct made_profile made;

		make_profile(&made, i, true);
		put(&made, "mixed", "1", i, SLOT_S);
		gg_profile_close(made.profile);
		/* The same draws again, into one profile. */
		gg_rng_seed(&all.rng, 100 + (uint64_t)i, 0);
		for (size_t j = 0; j < GG_COUNT(blocks); j++) {
			uint32_t stack = made_stack(&all, blocks[j].stack);
			uint64_t count = blocks[j].count * (uint64_t)(1 + i % 3);

			made_allocate(&all, stack, blocks[j].size, count, 10, GG_TIME_NONE);
			made_allocate(&all, stack, blocks[j].size, 2 * count, 20, 500);
			made_allocate(&all, stack, blocks[j].mixed_size, 7, 30, GG_TIME_NONE);
		}
	}
	model = load_model(all.profile);
	gg_profile_close(all.profile);
	check_all(model, "mixed", false);
	gg_model_free(model);
}

static double live_of(const struct gg_fleet_question *question, struct gg_fleet_scope *scope)
{
	struct gg_model *model = ask_model(scope, question, GG_FLEET_NO_GROUPS);
	struct gg_query_result *result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	double bytes = gg_tally_estimate(&result->total, GG_BYTES).value;

	gg_query_result_free(result);
	gg_model_free(model);
	return bytes;
}

/* Blocks that are certain to be samples, so that sums are known. */
static void put_certain(const char *service, int number, uint64_t count, uint32_t slot_s)
{
	struct made_profile made;

	made_begin(&made, NULL, 1, 1);
	made_allocate(&made, made_stack(&made, "main>hold"), 1000, count, 0, GG_TIME_NONE);
	put(&made, service, "1", number, slot_s);
	gg_profile_close(made.profile);
}

static struct gg_model *make_certain(uint64_t size_bytes, uint64_t count)
{
	struct made_profile made;
	struct gg_model *model;

	made_begin(&made, NULL, 1, 1);
	made_allocate(&made, made_stack(&made, "main>hold"), size_bytes, count, 0, GG_TIME_NONE);
	model = load_model(made.profile);
	gg_profile_close(made.profile);
	return model;
}

TEST(live_memory_is_averaged_over_time_and_never_added_up)
{
	struct gg_fleet_question question = ask_about("slots", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	NEEDS_STORE;
	put_certain("slots", 1, 10, SLOT_S);
	put_certain("slots", 1, 40, SLOT_S + 600);
	put_certain("slots", 1, 20, SLOT_S + 1200);
	put_certain("slots", 2, 100, SLOT_S + 600);
	/* At the end: host 1 with its last snapshot, host 2 with the one before. */
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 120000);
	CHECK_EQ_U64(scope.host_count, 2);
	CHECK_EQ_U64(scope.reported_count, 1);
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AT_PEAK;
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 140000);
	gg_fleet_scope_describe(&scope, &text);
	CHECK_EQ_STR(gg_buf_text(&text), "at the peak, 2023-11-14 22:30 UTC");
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AT_TIME;
	question.until_s = SLOT_S + 1;
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 10000);
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AVERAGE;
	question.until_s = UINT32_MAX;
	/* Host 2 is missing in the newest slot, and the one slot that it has counts for it. */
	CHECK_MSG(is_equal(live_of(&question, &scope), 25000 + 100000), "average");
	CHECK_EQ_U64(scope.slot_count, 2);
	CHECK_EQ_U64(scope.lacking_count, 1);
	gg_buf_clear(&text);
	gg_fleet_scope_describe(&scope, &text);
	CHECK_EQ_STR(gg_buf_text(&text), "averaged over 2 slots to 2023-11-14 22:40 UTC");
	gg_fleet_scope_done(&scope);
	/* Two slots later nobody has a snapshot any more. */
	question.when = GG_FLEET_AT_END;
	question.since_s = SLOT_S + 5000;
	CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENODATA);
}

TEST(loading_a_profile_twice_changes_nothing)
{
	struct gg_fleet_question question = ask_about("twice", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	put_certain("twice", 1, 10, SLOT_S);
	put_certain("twice", 1, 10, SLOT_S);
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 10000);
	gg_fleet_scope_done(&scope);
}

TEST(filters_choose_versions_hosts_and_labels)
{
	static const struct gg_fleet_label eu[] = { { "zone", "eu" } }, us[] = { { "zone", "us" } };
	struct gg_fleet_question question = ask_about("filters", GG_METRIC_LIVE);
	struct gg_fleet_load_plan plan = { .tenant = "default",
		                           .service = "filters",
		                           .version = "1",
		                           .host = "a",
		                           .labels = eu,
		                           .label_count = 1,
		                           .slot_s = SLOT_S,
		                           .slot_length_s = SLOT_LENGTH_S,
		                           .selected_ppm = 1000000 };
	struct gg_fleet_scope scope;
	struct gg_model *model;

	NEEDS_STORE;
	model = make_certain(100, 10);
	must(gg_fleet_load(whole_store(), model, &plan, &error));
	plan.version = "2";
	plan.host = "b";
	plan.labels = us;
	must(gg_fleet_load(whole_store(), model, &plan, &error));
	plan.host = "c";
	must(gg_fleet_load(whole_store(), model, &plan, &error));
	gg_model_free(model);
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 3000);
	gg_fleet_scope_done(&scope);
	question.version = "2";
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 2000);
	gg_fleet_scope_done(&scope);
	question.host = "c";
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 1000);
	gg_fleet_scope_done(&scope);
	question.version = question.host = NULL;
	question.labels = eu;
	question.label_count = 1;
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 1000);
	gg_fleet_scope_done(&scope);
	question.version = "2";
	CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENOENT);
	CHECK(strstr(error.advice, "'1', '2'") != NULL);
}

TEST(hostile_names_are_names)
{
	static const char *const names[] = { "'; DROP TABLE live; --",
		                             "\\'",
		                             "a`b\\",
		                             "{db}",
		                             "x\ny\x01",
		                             "\xff\xfe",
		                             "%s%n",
		                             "ü'\"" };

	NEEDS_STORE;
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		const struct gg_fleet_label label = { names[i], names[i] };
		struct gg_fleet_question question = ask_about(names[i], GG_METRIC_LIVE);
		struct gg_fleet_load_plan plan = { .tenant = "default",
			                           .service = names[i],
			                           .version = names[i],
			                           .host = names[i],
			                           .labels = &label,
			                           .label_count = 1,
			                           .slot_s = SLOT_S,
			                           .slot_length_s = SLOT_LENGTH_S,
			                           .selected_ppm = 1000000 };
		struct gg_fleet_scope scope;
		struct gg_model *model = make_certain(100, 10);

		must(gg_fleet_load(whole_store(), model, &plan, &error));
		gg_model_free(model);
		question.version = names[i];
		question.host = names[i];
		question.labels = &label;
		question.label_count = 1;
		CHECK_EQ_DOUBLE(live_of(&question, &scope), 1000);
		gg_fleet_scope_done(&scope);
		question.host = "other";
		CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENOENT);
		CHECK(strstr(error.message, "no host 'other'") != NULL);
	}
	/* A tenant is a name as well. */
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ_I64(gg_fleet_schema_check(whole_store(), names[i], &error), -ENOENT);
}

/* Adds a row to `folded`, for the series, host and a stack that the service has in `live`. */
static void put_folded(const char *service)
{
	static const char statement[] =
		"INSERT INTO {db}.folded (slot, service, stack, series, host, metric, n, sure_n, seen, "
		"sure_seen, bytes, count, bytes_var, count_var, missed_bytes, missed_count, "
		"sure_bytes_var, sure_count_var, bytes_skew, count_skew, bytes_slack, count_slack, "
		"unknown, gap_max, reserve_count, least_size) SELECT slot, service, stack, series, "
		"host, 2, 5, 2, 300, 5000, 9000, 40, 1000000, 64, 100, 0.5, 4096, 0.25, 2000000, 32, "
		"1000, 8, 0, 4096, 64, 16 FROM {db}.live WHERE service = {service} "
		"ORDER BY size LIMIT 1";
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("service", gg_fleet_service_id(service)),
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };

	must(gg_clickhouse_bind(&query, statement, values, GG_COUNT(values), &error));
	must(gg_clickhouse_query(whole_store(), &query, NULL, &error));
}

TEST(folded_sums_count_with_all_of_their_moments)
{
	struct gg_fleet_question question = ask_about("folded", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	struct gg_query_result *result;
	struct gg_tally *total;
	struct gg_model *model;

	NEEDS_STORE;
	put_certain("folded", 1, 10, SLOT_S);
	put_folded("folded");
	model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	total = &result->total;
	CHECK_EQ_U64(total->sample_count, 15);
	/* 10 certain blocks of 1000 bytes, the usual sum, and the nearly certain one. */
	CHECK_EQ_DOUBLE(gg_tally_estimate(total, GG_BYTES).value, 10000 + 9000 + 5100);
	CHECK_EQ_DOUBLE(gg_tally_estimate(total, GG_BYTES).variance, 1000000 + 4096);
	CHECK_EQ_DOUBLE(gg_tally_estimate(total, GG_ALLOCATIONS).value, 10 + 40 + 2.5);
	CHECK_EQ_DOUBLE(gg_tally_seen(total, GG_BYTES), 10000 + 300 + 5000);
	CHECK_EQ_DOUBLE(gg_sum_value(&total->usual[GG_BYTES].skew), 2000000);
	CHECK_EQ_DOUBLE(gg_sum_value(&total->skew_slack[GG_ALLOCATIONS]), 8);
	CHECK_EQ_DOUBLE(total->reserve_max[GG_BYTES], 4096);
	CHECK_EQ_DOUBLE(total->reserve_max[GG_ALLOCATIONS], 64);
	CHECK_EQ_DOUBLE(total->allocations_per_byte_max, 1.0 / 16);
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
}

TEST(drawn_hosts_stand_for_all)
{
	struct gg_fleet_question question = ask_about("drawn", GG_METRIC_LIVE);
	struct gg_fleet_load_plan plan = { .tenant = "default",
		                           .service = "drawn",
		                           .slot_s = SLOT_S,
		                           .slot_length_s = SLOT_LENGTH_S,
		                           .selected_ppm = 250000 };
	struct gg_query_result *result;
	struct gg_fleet_scope scope;
	struct gg_interval interval;
	struct gg_model *model;

	NEEDS_STORE;
	for (int i = 0; i < 16; i++) {
		char host[32];
		struct made_profile made;

		made_begin(&made, NULL, 1, 1);
		made_allocate(&made, made_stack(&made, "main>hold"), 1000, (uint64_t)(10 + i % 4),
		              0, GG_TIME_NONE);
		model = load_model(made.profile);
		gg_profile_close(made.profile);
		snprintf(host, sizeof(host), "d%d", i);
		plan.host = host;
		plan.is_left_out = i >= 4;
		must(gg_fleet_load(whole_store(), model, &plan, &error));
		gg_model_free(model);
	}
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_U64(scope.host_count, 16);
	CHECK_EQ_U64(scope.selected_count, 4);
	CHECK_EQ_U64(gg_fleet_groups_for(&scope), GG_FLEET_EACH_HOST);
	must(gg_fleet_model_make(&model, whole_store(), &scope, GG_FLEET_EACH_HOST, NULL, "",
	                         &error));
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	must(gg_fleet_extend_rows(&scope, GG_FLEET_EACH_HOST, model, result, 0.95, &error));
	/* The drawn hosts hold 10, 11, 12 and 13 blocks, and all others the same in turn. */
	CHECK_MSG(is_equal(gg_tally_estimate(&result->total, GG_BYTES).value, 4 * 46000.0), "%g",
	          gg_tally_estimate(&result->total, GG_BYTES).value);
	interval = gg_interval_of(&result->total, GG_BYTES, 0.95, false);
	/* (N/n)^2 (1-f) G s^2 = 16 * 0.75 * 4 * 5e6/3; t with 3 degrees is 3.18. */
	CHECK_MSG(fabs(interval.high - interval.low - 2 * 3.182 * sqrt(8e7)) < 0.1 * interval.high,
	          "%g to %g", interval.low, interval.high);
	CHECK(interval.low < 184000 && interval.high > 184000);
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
}

/* The versions 1 and 2 of a service, compared. */
struct versions {
	struct gg_fleet_question questions[2];
	struct gg_query_result *results[2];
	struct gg_fleet_side sides[2];
	struct gg_fleet_scope scopes[2];
	struct gg_model *models[2];
	struct gg_diff *diff;
};

static void compare_versions(struct versions *versions, const char *service)
{
	const struct gg_diff_query query = { .scale = 1,
		                             .confidence = 0.95,
		                             .false_discovery_rate = 0.05 };

	for (int i = 0; i < 2; i++) {
		versions->questions[i] = ask_about(service, GG_METRIC_LIVE);
		versions->questions[i].version = i == 0 ? "1" : "2";
		versions->models[i] = ask_model(&versions->scopes[i], &versions->questions[i],
		                                GG_FLEET_EACH_HOST);
		versions->results[i] = rows_of(versions->models[i], GG_METRIC_LIVE, GG_BYTES);
		versions->sides[i] = (struct gg_fleet_side){ &versions->scopes[i],
			                                     versions->models[i],
			                                     versions->results[i] };
		CHECK_EQ_DOUBLE(gg_fleet_side_processes(&versions->scopes[i]), 10);
	}
	must(gg_diff_run(versions->models[0], versions->results[0], versions->models[1],
	                 versions->results[1], &query, &versions->diff, &error));
	must(gg_fleet_compare(versions->diff, &versions->sides[0], &versions->sides[1], &error));
}

static void versions_done(struct versions *versions)
{
	gg_diff_free(versions->diff);
	for (int i = 0; i < 2; i++) {
		gg_query_result_free(versions->results[i]);
		gg_model_free(versions->models[i]);
		gg_fleet_scope_done(&versions->scopes[i]);
	}
}

/*
 * Ten hosts a version with the same sizes, but one function of version 2 holds twice as much: that
 * row grew, and the others did not.
 */
TEST(versions_are_compared_host_by_host)
{
	struct versions versions;
	const struct gg_diff *diff;

	NEEDS_STORE;
	for (int i = 0; i < 20; i++) {
		struct made_profile made;

		made_begin(&made, NULL, 1, 1);
		made_allocate(&made, made_stack(&made, "main>steady"), 1000,
		              (uint64_t)(100 + i % 10), 0, GG_TIME_NONE);
		made_allocate(&made, made_stack(&made, "main>grows"), 1000,
		              (uint64_t)((50 + i % 7) * (1 + i / 10)), 0, GG_TIME_NONE);
		put(&made, "versions", i < 10 ? "1" : "2", i, SLOT_S);
		gg_profile_close(made.profile);
	}
	compare_versions(&versions, "versions");
	diff = versions.diff;
	CHECK_EQ_U64(diff->significant_count, 1);
	CHECK_EQ_U64(diff->grown_count, 1);
	CHECK(strstr(diff->rows[0].label, "grows") != NULL);
	CHECK_EQ_DOUBLE(diff->rows[0].difference.value,
	                gg_tally_estimate(&diff->rows[0].after, GG_BYTES).value -
	                        gg_tally_estimate(&diff->rows[0].before, GG_BYTES).value);
	CHECK(diff->rows[0].difference.low > 0 && !diff->rows[1].is_significant);
	versions_done(&versions);
}

TEST(services_have_their_versions_and_hosts)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	bool is_found = false;

	NEEDS_STORE;
	put_certain("listed", 1, 10, SLOT_S);
	put_certain("listed", 2, 20, SLOT_S);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	for (size_t i = 0; i < services.rows.count; i++) {
		const struct gg_fleet_service_row *row = &services.rows.items[i];

		if (strcmp(row->service, "listed") != 0)
			continue;
		is_found = true;
		CHECK_EQ_STR(row->version, "1");
		CHECK_EQ_U64(row->host_count, 2);
		CHECK_EQ_U64(row->selected_count, 2);
		CHECK_EQ_DOUBLE(row->live_bytes, 30000);
		CHECK_EQ_U64(row->last_slot_s, SLOT_S);
	}
	CHECK(is_found);
}

static const struct gg_fleet_service_row *find_service(const struct gg_fleet_services *services,
                                                       const char *name)
{
	for (size_t i = 0; i < services->rows.count; i++)
		if (strcmp(services->rows.items[i].service, name) == 0)
			return &services->rows.items[i];
	REQUIRE(false);
	return NULL;
}

/* The interval of a service is that of its report, whatever other services have. */
TEST(services_have_the_intervals_of_their_reports)
{
	static const char *const names[] = { "sampled", "sampled-long-ago" };
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };

	NEEDS_STORE;
	for (int i = 0; i < 6; i++) {
		struct made_profile made;

		make_profile(&made, i, true);
		put(&made, names[0], "1", i, SLOT_S);
		put(&made, names[1], "1", i, SLOT_S - 86400);
		gg_profile_close(made.profile);
	}
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		const struct gg_fleet_service_row *row = find_service(&services, names[i]);
		struct gg_fleet_question question = ask_about(names[i], GG_METRIC_LIVE);
		struct gg_fleet_scope scope;
		struct gg_model *model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
		struct gg_query_result *result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
		struct gg_interval interval = gg_interval_of(&result->total, GG_BYTES, 0.95, false);

		CHECK(row->has_live_error);
		CHECK_MSG(is_equal(row->live_low_bytes, interval.low), "%s: %.17g is not %.17g",
		          names[i], row->live_low_bytes, interval.low);
		CHECK_MSG(is_equal(row->live_high_bytes, interval.high), "%s: %.17g is not %.17g",
		          names[i], row->live_high_bytes, interval.high);
		CHECK(interval.low < row->live_bytes && row->live_bytes < interval.high);
		gg_query_result_free(result);
		gg_model_free(model);
		gg_fleet_scope_done(&scope);
	}
}

/* Six hosts hold the same; one of them has the counter of a loss. */
static void check_lacking(const char *service, const char *counter)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	struct gg_fleet_question question = ask_about(service, GG_METRIC_LIVE);
	const struct gg_fleet_service_row *row;
	struct gg_query_result *result;
	struct gg_fleet_scope scope;
	struct gg_model *model;

	for (int i = 0; i < 6; i++) {
		struct made_profile made;

		make_profile(&made, i, true);
		if (i == 3 && counter != NULL)
			must(gg_profile_put_counter(made.profile, made.process, counter, 2,
			                            &error));
		put(&made, service, "1", i, SLOT_S);
		gg_profile_close(made.profile);
	}
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	row = find_service(&services, service);
	model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	CHECK(row->has_live_error && row->live_low_bytes > 0);
	CHECK_EQ_I64(isinf(row->live_high_bytes) != 0, counter != NULL);
	CHECK_EQ_I64(result->total.incomplete > 0, counter != NULL);
	for (size_t i = 0; i < result->row_count; i++)
		CHECK_EQ_I64(result->rows[i].total->incomplete > 0, counter != NULL);
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
}

TEST(one_host_whose_sums_are_lower_bounds_makes_those_of_all_lower_bounds)
{
	NEEDS_STORE;
	check_lacking("lacking-nothing", NULL);
	check_lacking("lacking-samples", "samples dropped: live full");
	check_lacking("lacking-objects", "Java threads at the attach");
}

/* --- senders --------------------------------------------------------------------------------- */

/* A row of `process`: the processes of a series that a sender had in a slot. */
struct sent {
	const char *service, *version, *host, *instance;
	uint32_t slot_s, processes, selected_ppm;
	uint64_t blocks; /* of 1000 bytes, all certain; 0: the stacks are not sent */
	uint64_t rss;
	const char *heap; /* NULL: geiger's own */
};

/*
 * Rows of slots that are on their way.  They go to the store with the next statement of another
 * kind, as a receiver inserts many segments at a time.
 */
static struct sent_rows {
	const char *table, *columns;
	struct gg_buf rows;
} sent_rows[] = {
	{ "series",
	  "month, service, series, service_name, version, kind, heap, type, keys, vals",
	  { 0 } },
	{ "host", "month, host, name, keys, vals", { 0 } },
	{ "live", "slot, service, stack, series, host, size, gap, n, flags", { 0 } },
	{ "process",
	  "slot, service, series, host, processes, selected_ppm, gap_max, scheme, rss, live_bytes, "
	  "allocated_bytes, covered_s, dropped",
	  { 0 } },
};

static void flush_sent(void)
{
	for (size_t i = 0; i < GG_COUNT(sent_rows); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
		struct sent_rows *sent = &sent_rows[i];

		if (sent->rows.length == 0)
			continue;
		gg_buf_printf(&query, "INSERT INTO default.%s (%s) VALUES %s", sent->table,
		              sent->columns, gg_buf_text(&sent->rows));
		gg_buf_done(&sent->rows);
		must(gg_clickhouse_query(&store, &query, NULL, &error));
	}
}

/* The store with all rows that were sent. */
static struct gg_clickhouse *whole_store(void)
{
	flush_sent();
	return &store;
}

static void run_statement(const char *text, const struct gg_clickhouse_value *values, size_t count)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };

	must(gg_clickhouse_bind(&query, text, values, count, &error));
	must(gg_clickhouse_query(whole_store(), &query, NULL, &error));
}

/*
 * True if a row with this beginning is on its way.  A row that replaces it belongs to a later part
 * of the table, as if its sender had repeated the slot.
 */
static bool is_on_its_way(const char *row)
{
	const struct gg_buf *rows = &sent_rows[GG_COUNT(sent_rows) - 1].rows;

	return rows->length > 0 && strstr(gg_buf_text(rows), row) != NULL;
}

/* Writes the rows that a receiver writes of a slot of that length. */
static void send_slot_of(const struct sent *sent, uint32_t length_s)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf key = { 0 };
	const struct gg_fleet_series series = { .service = sent->service,
		                                .version = sent->version,
		                                .kind = "native",
		                                .heap = sent->heap };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_text("heap", sent->heap != NULL ? sent->heap : ""),
		gg_clickhouse_u64("slot", sent->slot_s),
		gg_clickhouse_u64("service", gg_fleet_service_id(sent->service)),
		gg_clickhouse_u64("series", gg_fleet_series_id(&series)),
		gg_clickhouse_u64("host", gg_fleet_sender_id(sent->host, sent->instance)),
		gg_clickhouse_text("service_name", sent->service),
		gg_clickhouse_text("version", sent->version),
		gg_clickhouse_text("host_name", sent->host),
		gg_clickhouse_u64("processes", sent->processes),
		gg_clickhouse_u64("selected", sent->selected_ppm),
		gg_clickhouse_u64("rss", sent->rss),
		gg_clickhouse_u64("blocks", sent->blocks),
		/* A row that only says that the sender has ended covers nothing. */
		gg_clickhouse_u64("covered", sent->processes > 0 ? length_s : 0),
	};
	static const char *const rows[GG_COUNT(sent_rows)] = {
		"(202311, {service}, {series}, {service_name}, {version}, 'native', {heap}, '', [], []) ",
		"(202311, {host}, {host_name}, [], []) ",
		"({slot}, {service}, 'stack of 16 byte', {series}, {host}, 1000, 1, {blocks}, 0) ",
		"({slot}, {service}, {series}, {host}, {processes}, {selected}, 1, 0, {rss}, 1000 * "
		"{blocks}, 0, {covered}, 0) ",
	};

	must(gg_clickhouse_bind(&key, "({slot}, {service}, {series}, {host}, ", values,
	                        GG_COUNT(values), &error));
	if (is_on_its_way(gg_buf_text(&key)))
		flush_sent();
	for (size_t i = 0; i < GG_COUNT(rows); i++)
		if (i != 2 || sent->blocks > 0)
			must(gg_clickhouse_bind(&sent_rows[i].rows, rows[i], values,
			                        GG_COUNT(values), &error));
}

static void send_slot(const struct sent *sent)
{
	send_slot_of(sent, SLOT_LENGTH_S);
}

/* Ten recordings on a machine, each of one slot, and each with a mark in the slot after its end. */
TEST(recordings_one_after_the_other_are_one_host)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	struct gg_fleet_question question = ask_about("runs", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	for (uint32_t i = 0; i < 10; i++) {
		char instance[16];
		struct sent sent = { "runs", "1",     "machine", instance, SLOT_S + 600 * i,
			             1,      1000000, 10 + i,    0,        NULL };

		snprintf(instance, sizeof(instance), "run %u", i);
		send_slot(&sent);
		sent.slot_s += 600;
		sent.processes = 0;
		sent.blocks = 0;
		send_slot(&sent);
	}
	/* The last mark is a slot later; the moment is the last slot with a process. */
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 19000);
	CHECK_EQ_U64(scope.host_count, 1);
	CHECK_EQ_DOUBLE(scope.process_count, 1);
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AVERAGE;
	question.until_s = SLOT_S + 6000;
	CHECK_MSG(is_equal(live_of(&question, &scope), 14500), "average");
	CHECK_EQ_U64(scope.host_count, 1);
	CHECK(is_equal(scope.process_count, 1));
	gg_fleet_scope_done(&scope);
	/* After its end a recording held nothing. */
	question.until_s = UINT32_MAX;
	CHECK_MSG(is_equal(live_of(&question, &scope), 145000.0 / 11), "average with the end");
	gg_fleet_scope_done(&scope);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	for (size_t i = 0; i < services.rows.count; i++) {
		const struct gg_fleet_service_row *row = &services.rows.items[i];

		if (strcmp(row->service, "runs") != 0)
			continue;
		CHECK_EQ_U64(row->host_count, 0);
		CHECK_EQ_DOUBLE(row->live_bytes, 0);
		CHECK_EQ_U64(row->last_slot_s, SLOT_S + 5400);
	}
}

/* Pods that follow each other: each is a host of its own, and no agent says that it ended. */
static void send_pod(const char *service, uint32_t number, uint32_t slot, uint64_t block_count)
{
	char host[16];
	struct sent sent = { service, "1",     host,        "",     SLOT_S + 600 * slot,
		             1,       1000000, block_count, 100000, "pprof" };

	snprintf(host, sizeof(host), "pod %u", number);
	send_slot(&sent);
}

TEST(pods_that_follow_each_other_do_not_add_up)
{
	struct gg_fleet_question question = ask_about("pods", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	question.when = GG_FLEET_AVERAGE;
	/* Each has three slots: a rollout of ten versions. */
	for (uint32_t slot = 0; slot < 30; slot++)
		send_pod("pods", slot / 3, slot, 10);
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000), "all pods");
	CHECK_EQ_U64(scope.slot_count, 30);
	CHECK_EQ_U64(scope.host_count, 10);
	CHECK_EQ_U64(scope.lacking_count, 0);
	CHECK_EQ_U64(scope.ended_count, 9);
	CHECK(is_equal(scope.process_count, 1));
	CHECK(is_equal(scope.rss_bytes, 100000));
	gg_fleet_scope_done(&scope);
	/* A window that begins and ends within lives. */
	question.since_s = SLOT_S + 600 * 4;
	question.until_s = SLOT_S + 600 * 26;
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000), "some pods");
	CHECK_EQ_U64(scope.slot_count, 22);
	gg_fleet_scope_done(&scope);
	/* Two pods at one time, until one of them is silent: it has ended. */
	question.until_s = UINT32_MAX;
	question.since_s = 0;
	for (uint32_t slot = 0; slot < 15; slot++)
		send_pod("pods", 100, slot, 20);
	CHECK_MSG(is_equal(live_of(&question, &scope), 20000), "a pod of the first half");
	gg_fleet_scope_done(&scope);
}

TEST(a_process_of_another_agent_that_missed_slots_has_not_ended)
{
	struct gg_fleet_question question = ask_about("gaps", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	question.when = GG_FLEET_AVERAGE;
	/* Pod 1 always runs, pod 2 is not heard in four of ten slots, pod 3 has the last five. */
	for (uint32_t slot = 0; slot < 10; slot++) {
		send_pod("gaps", 1, slot, 10);
		if (slot < 3 || slot >= 7)
			send_pod("gaps", 2, slot, 20);
		if (slot >= 5)
			send_pod("gaps", 3, slot, 40);
	}
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 20000 + 20000), "average");
	CHECK_EQ_U64(scope.lacking_count, 1);
	gg_fleet_scope_done(&scope);
	/* The window ends while pod 2 is silent, but the store knows that it came back. */
	question.until_s = SLOT_S + 600 * 6;
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 20000 + 40000.0 / 6), "the edge");
	CHECK_EQ_U64(scope.ended_count, 0);
	gg_fleet_scope_done(&scope);
	/* A host with a sender of geiger keeps the rule of its own: that one would say its end. */
	question = ask_about("both", GG_METRIC_LIVE);
	question.when = GG_FLEET_AVERAGE;
	for (uint32_t slot = 0; slot < 6; slot++)
		send_pod("both", 1, slot, 10);
	for (uint32_t slot = 0; slot < 3; slot++) {
		struct sent own = { "both", "1",     "pod 2", "own",  SLOT_S + 600 * slot,
			            1,      1000000, 10,      100000, NULL };

		send_pod("both", 2, slot, 10);
		send_slot(&own);
	}
	question.until_s = SLOT_S + 600 * 6;
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 20000), "both");
	CHECK_EQ_U64(scope.lacking_count, 1);
	gg_fleet_scope_done(&scope);
}

/* A slot that one sender missed is not known because another one of its host reported it. */
TEST(each_sender_of_a_host_has_slots_of_its_own)
{
	struct gg_fleet_question question = ask_about("two senders", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	question.when = GG_FLEET_AVERAGE;
	for (uint32_t slot = 0; slot < 8; slot++) {
		struct sent sent = { "two senders", "1", "machine", "a", SLOT_S + 600 * slot, 1,
			             1000000,       10,  1000,      NULL };

		send_slot(&sent);
		/* The other one misses half of its life. */
		sent.instance = "b";
		sent.blocks = 40;
		sent.rss = 4000;
		if (slot < 2 || slot >= 6)
			send_slot(&sent);
		/* One came later, and was killed: it has no mark. */
		sent.instance = "c";
		sent.blocks = 80;
		if (slot == 3 || slot == 4)
			send_slot(&sent);
		/* One ended with a mark, and came again. */
		sent.instance = "d";
		sent.blocks = slot == 1 || slot == 5 ? 0 : 16;
		sent.processes = slot == 1 || slot == 5 ? 0 : 1;
		if (slot % 4 < 2)
			send_slot(&sent);
	}
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 40000 + 20000 + 4000), "average");
	CHECK_EQ_U64(scope.slot_count, 8);
	CHECK_EQ_U64(scope.host_count, 1);
	CHECK_EQ_U64(scope.lacking_count, 1);
	CHECK_MSG(is_equal(scope.rss_bytes, 1000 + 4000 + 1000 + 1000), "%g", scope.rss_bytes);
	CHECK_MSG(is_equal(scope.process_count, 1 + 1 + 0.25 + 0.25), "%g", scope.process_count);
	gg_fleet_scope_done(&scope);
	/* The window ends while b is silent, and b is heard again after it. */
	question.until_s = SLOT_S + 600 * 4;
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 40000 + 20000 + 4000), "edge");
	CHECK_EQ_U64(scope.lacking_count, 1);
	gg_fleet_scope_done(&scope);
	/* It begins while b is silent. */
	question.until_s = UINT32_MAX;
	question.since_s = SLOT_S + 600 * 4;
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 40000 + 20000 + 4000), "begin");
	gg_fleet_scope_done(&scope);
}

/* Notes which receiver took the profiles of a pod, and when that one was last heard. */
static void note_receiver(uint32_t pod, uint32_t receiver, uint32_t heard_s)
{
	char host[16];
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_text("host_name", host),
		gg_clickhouse_u64("receiver", receiver),
		gg_clickhouse_u64("heard", heard_s),
		gg_clickhouse_u64("host", (snprintf(host, sizeof(host), "pod %u", pod),
		                           gg_fleet_sender_id(host, ""))),
	};

	run_statement(
		"INSERT INTO {db}.host (month, host, name, keys, vals) SELECT 202311, {host}, "
		"{host_name}, ['geiger.receiver'], [toString({receiver})]",
		values, GG_COUNT(values));
	run_statement("INSERT INTO {db}.batch (day, receiver, segment, rows, bytes, at) SELECT "
	              "toDate(toDateTime({heard})), {receiver}, 1, 0, 0, toDateTime({heard})",
	              values, GG_COUNT(values));
}

TEST(processes_of_a_receiver_that_is_away_have_not_ended)
{
	struct gg_fleet_question question = ask_about("away", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	question.when = GG_FLEET_AVERAGE;
	/* Pods 51 to 53 fall silent after four of ten slots, and so does the receiver of 52. */
	for (uint32_t slot = 0; slot < 10; slot++) {
		send_pod("away", 50, slot, 10);
		for (uint32_t pod = 51; pod <= 53 && slot < 4; pod++)
			send_pod("away", pod, slot, 20);
	}
	note_receiver(50, 901, SLOT_S + 600 * 11);
	note_receiver(51, 901, SLOT_S + 600 * 11);
	note_receiver(52, 902, SLOT_S + 600 * 4 + 30);
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 8000 + 20000 + 8000), "average");
	CHECK_EQ_U64(scope.lacking_count, 1);
	gg_fleet_scope_done(&scope);
	/* It is there again, and does not hear the pod: that one has ended. */
	note_receiver(52, 902, SLOT_S + 600 * 11);
	CHECK_MSG(is_equal(live_of(&question, &scope), 10000 + 8000 + 8000 + 8000), "back");
	CHECK_EQ_U64(scope.lacking_count, 0);
	gg_fleet_scope_done(&scope);
}

/* A host that changed to version 2 holds nothing of version 1 any more. */
TEST(a_series_that_its_sender_no_longer_reports_has_ended)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	struct gg_fleet_question question = ask_about("rolled", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	const struct sent old = { "rolled", "1", "machine", "", SLOT_S, 1, 1000000, 10, 0, NULL };
	const struct sent new = { "rolled", "2",     "machine", "", SLOT_S + 600,
		                  1,        1000000, 30,        0,  NULL };
	size_t found = 0;

	NEEDS_STORE;
	send_slot(&old);
	send_slot(&new);
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 30000);
	CHECK_EQ_DOUBLE(scope.process_count, 1);
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AVERAGE;
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 20000);
	CHECK_EQ_U64(scope.lacking_count, 0);
	gg_fleet_scope_done(&scope);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	for (size_t i = 0; i < services.rows.count; i++) {
		const struct gg_fleet_service_row *row = &services.rows.items[i];
		bool is_old = strcmp(row->version, "1") == 0;

		if (strcmp(row->service, "rolled") != 0)
			continue;
		found++;
		CHECK_EQ_U64(row->host_count, is_old ? 0 : 1);
		CHECK_EQ_DOUBLE(row->live_bytes, is_old ? 0 : 30000);
		CHECK_EQ_U64(row->last_slot_s, SLOT_S + (is_old ? 0 : 600));
	}
	CHECK_EQ_U64(found, 2);
}

TEST(long_slots_of_a_service_bring_no_version_of_another_one_back)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	struct sent sent[] = {
		{ "replaced", "1", "machine-1", "", SLOT_S, 1, 1000000, 10, 0, NULL },
		{ "replaced", "2", "machine-2", "", SLOT_S + 36000, 1, 1000000, 30, 0, NULL },
		{ "daily", "1", "machine-3", "", SLOT_S + 36000, 1, 1000000, 5, 0, NULL },
	};
	size_t found = 0;

	NEEDS_STORE;
	for (size_t i = 0; i < GG_COUNT(sent); i++)
		send_slot_of(&sent[i], i < 2 ? SLOT_LENGTH_S : 86400);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	for (size_t i = 0; i < services.rows.count; i++) {
		const struct gg_fleet_service_row *row = &services.rows.items[i];
		bool is_old = strcmp(row->version, "1") == 0;

		if (strcmp(row->service, "replaced") != 0)
			continue;
		found++;
		CHECK_EQ_U64(row->host_count, is_old ? 0 : 1);
		CHECK_EQ_DOUBLE(row->live_bytes, is_old ? 0 : 30000);
	}
	CHECK_EQ_U64(found, 2);
}

/* The estimate and the interval of a service are from the same snapshots. */
TEST(a_row_that_was_replaced_makes_no_snapshot_old)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	const struct sent sent[] = {
		{ "corrected", "1", "machine-1", "", SLOT_S, 1, 1000000, 10, 0, NULL },
		{ "corrected", "1", "machine-2", "", SLOT_S + 36000, 1, 1000000, 0, 0, NULL },
		{ "corrected", "1", "machine-2", "", SLOT_S + 36000, 0, 1000000, 0, 0, NULL },
	};
	const struct gg_fleet_service_row *row;

	NEEDS_STORE;
	for (size_t i = 0; i < GG_COUNT(sent); i++)
		send_slot(&sent[i]);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	row = find_service(&services, "corrected");
	CHECK_EQ_DOUBLE(row->live_bytes, 10000);
	CHECK(row->has_live_error);
	CHECK(is_equal(row->live_low_bytes, 10000));
	CHECK(is_equal(row->live_high_bytes, 10000));
}

/* Ten recordings of each version on one machine say nothing about the next machine. */
TEST(recordings_of_one_machine_are_one_unit)
{
	struct gg_fleet_question question = ask_about("machine", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	struct versions versions;

	NEEDS_STORE;
	for (int i = 0; i < 20; i++) {
		char instance[16];
		struct sent sent = { "machine", i < 10 ? "1" : "2",
			             "machine", instance,
			             SLOT_S,    1,
			             1000000,   (uint64_t)(i < 10 ? 100 : 200) + (uint64_t)i % 3,
			             0,         NULL };

		snprintf(instance, sizeof(instance), "run %d", i);
		send_slot(&sent);
	}
	compare_versions(&versions, "machine");
	CHECK_EQ_U64(versions.scopes[0].host_count, 1);
	CHECK_EQ_U64(versions.scopes[1].host_count, 1);
	CHECK_EQ_U64(versions.diff->significant_count, 0);
	CHECK(!versions.diff->total.is_significant);
	versions_done(&versions);
	/* The recordings of the machine are found by its name. */
	question.host = "machine";
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_DOUBLE(scope.process_count, 20);
	gg_fleet_scope_done(&scope);
}

TEST(a_question_without_a_drawn_host_is_refused)
{
	struct gg_fleet_question question = ask_about("undrawn", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	const struct sent sent = { "undrawn", "1", "machine", "", SLOT_S, 1, 0, 0, 5000, NULL };

	NEEDS_STORE;
	send_slot(&sent);
	CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENODATA);
	CHECK(strstr(error.message, "none of 1 host was drawn") != NULL);
}

/* Two sessions of one host in one slot are two senders; a session that comes again is the same. */
TEST(two_profiles_of_a_host_and_slot_add_up)
{
	struct gg_fleet_question question = ask_about("sessions", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	for (uint32_t i = 0; i < 3; i++) {
		struct gg_fleet_load_plan plan = { .tenant = "default",
			                           .service = "sessions",
			                           .host = "machine",
			                           .slot_s = SLOT_S,
			                           .slot_length_s = SLOT_LENGTH_S,
			                           .selected_ppm = 1000000 };
		/* The third one is the second one again. */
		const struct gg_profile_session session = { .command = "made --by test",
			                                    .start_wall_ns = i > 0 };
		struct made_profile made;
		struct gg_model *model;

		made_begin(&made, NULL, 1, 1);
		made_allocate(&made, made_stack(&made, "main>hold"), 1000, 10, 0, GG_TIME_NONE);
		must(gg_profile_set_session(made.profile, &session, &error));
		model = load_model(made.profile);
		gg_profile_close(made.profile);
		must(gg_fleet_load(whole_store(), model, &plan, &error));
		gg_model_free(model);
	}
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 20000);
	CHECK_EQ_U64(scope.host_count, 1);
	CHECK_EQ_DOUBLE(scope.process_count, 2);
	gg_fleet_scope_done(&scope);
}

TEST(many_series_fit_into_a_question)
{
	struct gg_fleet_question question = ask_about("many", GG_METRIC_LIVE);
	struct gg_fleet_scope scope;
	const struct sent first = { "many", "1", "machine", "", SLOT_S, 1, 1000000, 10, 0, NULL };
	const struct sent other = {
		"many", "other", "machine", "", SLOT_S, 1, 1000000, 7, 0, NULL
	};
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("service", gg_fleet_service_id("many")),
	};

	NEEDS_STORE;
	send_slot(&first);
	run_statement("INSERT INTO {db}.series (month, service, series, service_name, version, "
	              "kind, heap, type, keys, vals) SELECT 202311, {service}, "
	              "18000000000000000000 + number, 'many', '1', 'native', '', '', "
	              "emptyArrayString(), emptyArrayString() FROM system.numbers LIMIT 20000",
	              values, GG_COUNT(values));
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 10000);
	CHECK(scope.has_all_series);
	gg_fleet_scope_done(&scope);
	/* Some of them need a list of 20 001 numbers, which is larger than the server's default. */
	send_slot(&other);
	question.version = "1";
	CHECK_EQ_DOUBLE(live_of(&question, &scope), 10000);
	CHECK(!scope.has_all_series);
	gg_fleet_scope_done(&scope);
}

/* How many statements the server has had; 0: it does not count them. */
static uint64_t count_statements(void)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	struct gg_clickhouse_rows rows;

	gg_buf_append_text(&query, "SELECT toUInt64(value) FROM system.events WHERE event = "
	                           "'Query' FORMAT RowBinary");
	must(gg_clickhouse_query(whole_store(), &query, &reply, &error));
	rows = gg_clickhouse_rows_of(&reply);
	return gg_clickhouse_rows_more(&rows) ? gg_clickhouse_read_u64(&rows) : 0;
}

/* Batch jobs, each a service of its own that was last seen at another time. */
TEST(services_of_many_times_take_few_statements)
{
	enum { JOBS = 300 };
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	uint64_t first, before, after;
	size_t found = 0;

	NEEDS_STORE;
	for (uint32_t i = 0; i < JOBS; i++) {
		char name[16];
		struct sent sent = { name, "1",     "machine",  name, SLOT_S + 60 * i,
			             1,    1000000, 10 + i % 3, 0,    NULL };

		snprintf(name, sizeof(name), "job-%u", i);
		send_slot(&sent);
	}
	first = count_statements();
	before = count_statements();
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	after = count_statements();
	if (before == first + 1) /* an engine in a process counts other things as well */
		CHECK(after - before < 12);
	else
		printf("the count of statements was skipped: the server counts other things\n");
	for (size_t i = 0; i < services.rows.count; i++) {
		const struct gg_fleet_service_row *row = &services.rows.items[i];
		unsigned number;

		if (sscanf(row->service, "job-%u", &number) != 1)
			continue;
		found++;
		CHECK_EQ_DOUBLE(row->live_bytes, 1000 * (10 + number % 3));
		CHECK(row->has_live_error);
		CHECK(is_equal(row->live_low_bytes, row->live_bytes));
		CHECK(is_equal(row->live_high_bytes, row->live_bytes));
	}
	CHECK_EQ_U64(found, JOBS);
}

/* --- rollups --------------------------------------------------------------------------------- */

/* A tenant of their own, since a roll is about all services. */
enum {
	ROLLED_DAY_S = 1700006400, /* 2023-11-15 00:00 */
	ROLLED_FROM_S = ROLLED_DAY_S - 5400,
	ROLLED_SLOTS = 170, /* until 02:50 of the next day */
	/* Nobody reports from 04:00 to 20:00: the hours of a day are alike, and each costs time. */
	ROLLED_GAP_S = 16 * 3600,
	ROLLED_GAP_FROM_S = ROLLED_DAY_S + 4 * 3600,
	ROLLED_REPORTED = ROLLED_SLOTS - ROLLED_GAP_S / 600,
	ROLLED_HOSTS = 4,
};

struct rolled_service {
	const char *tenant, *name;
	uint32_t from_s, slot_count, host_count;
	uint32_t first_host;
	uint64_t seed;
	bool is_drawn; /* every other host is */
	bool has_gap;
};

static void insert_rolled(const struct rolled_service *service, const char *text)
{
	uint64_t hosts[256];
	const struct gg_fleet_series series = { .service = service->name,
		                                .version = "1",
		                                .kind = "native" };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", service->tenant),
		gg_clickhouse_u64("service", gg_fleet_service_id(service->name)),
		gg_clickhouse_text("service_name", service->name),
		gg_clickhouse_u64("series", gg_fleet_series_id(&series)),
		gg_clickhouse_u64s("hosts", hosts, service->host_count),
		gg_clickhouse_u64("host_count", service->host_count),
		gg_clickhouse_u64("rows", service->slot_count * service->host_count),
		gg_clickhouse_u64("samples", 30 * service->slot_count * service->host_count),
		gg_clickhouse_u64("from", service->from_s),
		gg_clickhouse_u64("seed", service->seed),
		gg_clickhouse_u64("first", service->first_host),
		gg_clickhouse_u64("drawn", service->is_drawn ? 2 : 1),
		gg_clickhouse_u64("gap_from", ROLLED_GAP_FROM_S),
		gg_clickhouse_u64("gap", service->has_gap ? ROLLED_GAP_S : 0),
	};

	for (uint32_t i = 0; i < service->host_count; i++) {
		char name[24];

		snprintf(name, sizeof(name), "u%u", service->first_host + i);
		hosts[i] = gg_fleet_sender_id(name, "");
	}
	run_statement(text, values, GG_COUNT(values));
}

/* The time of slot `number`, which nobody reports in the gap. */
#define ROLLED_TIME(number)                                                \
	"toDateTime({from} + 600 * " number " + if({from} + 600 * " number \
	" < {gap_from}, 0, {gap})) "

/* Thirty samples a host and slot, of seven stacks; sizes are from tiny to nearly certain. */
#define ROLLED_SAMPLE                                                                           \
	ROLLED_TIME("intDiv(number, 30 * {host_count})")                                        \
	"AS t, toUInt64({service}) "                                                            \
	"AS sv, toFixedString(concat('stack of 16 byt', toString(number * 5 % 7)), 16) AS st, " \
	"toUInt64({series}) AS se, arrayElement([{hosts}], toUInt32(intDiv(number, 30) % "      \
	"{host_count}) + 1) AS h, toUInt64(1 + exp2((number * 7919 + {seed}) % 22)) AS z, "     \
	"if(number % 3 = 0, 4096., 524288.) AS g"

static void put_rolled(const struct rolled_service *service)
{
	insert_rolled(service,
	              "INSERT INTO {db}.series (month, service, series, service_name, version, "
	              "kind, heap, type, keys, vals) VALUES (202311, {service}, {series}, "
	              "{service_name}, '1', 'native', '', '', [], [])");
	insert_rolled(service, "INSERT INTO {db}.stack (month, service, stack, frames) SELECT "
	                       "202311, toUInt64({service}), toFixedString(concat('stack of 16 "
	                       "byt', toString(number)), 16), [number + 4096, toUInt64(77)] FROM "
	                       "system.numbers LIMIT 7");
	insert_rolled(service, "INSERT INTO {db}.live (slot, service, stack, series, host, size, "
	                       "gap, n, flags) SELECT t, sv, st, se, h, z, g, toUInt32(1 + number "
	                       "% 4), 0 FROM (SELECT number, " ROLLED_SAMPLE " FROM system.numbers "
	                       "WHERE intDiv(number, 30) % {drawn} = 0 LIMIT {samples}) WHERE "
	                       "number < {samples}");
	insert_rolled(
		service,
		"INSERT INTO {db}.draw (slot, service, stack, series, host, size, "
		"gap, allocated, freed, flags) SELECT t, sv, st, se, h, z, g, "
		"toUInt32(number % 5), toUInt32(number % 3), 0 FROM (SELECT number, " ROLLED_SAMPLE
		" FROM system.numbers WHERE intDiv(number, 30) % "
		"{drawn} = 0 LIMIT {samples}) WHERE number < {samples}");
	/* Three stacks of each slot are folded, one for each metric. */
	insert_rolled(service,
	              "INSERT INTO {db}.folded SELECT t, sv, st, se, h, toUInt8(number % "
	              "3), 5, 2, 300, 5000, 9000, 40, 1000000, 64, 100, 0.5, 4096, 0.25, "
	              "2000000, 32, 1000, 8, 0, 4096, 64, 16 FROM (SELECT number, " ROLLED_SAMPLE
	              " FROM system.numbers WHERE number % 30 < 3 AND "
	              "intDiv(number, 30) % {drawn} = 0 LIMIT {samples}) WHERE number < "
	              "{samples}");
	insert_rolled(
		service,
		"INSERT INTO {db}.process (slot, service, series, host, processes, "
		"selected_ppm, gap_max, scheme, rss, live_bytes, allocated_bytes, "
		"covered_s, dropped) SELECT " ROLLED_TIME(
			"intDiv(number, {host_count})") ", toUInt64({service}), "
							"toUInt64({series}), arrayElement([{hosts}], toUInt32(number % "
							"{host_count}) + 1), 1, if(number % {drawn} = 0, "
							"toUInt32(intDiv(1000000, {drawn})), toUInt32(0)), 524288, 0, "
							"5000000, 1000, 0, 600, 0 FROM system.numbers LIMIT {rows}");
	insert_rolled(service, "INSERT INTO {db}.host (month, host, name, keys, vals) SELECT "
	                       "202311, arrayElement([{hosts}], toUInt32(number + 1)), concat('u', "
	                       "toString(number + {first})), emptyArrayString(), "
	                       "emptyArrayString() FROM system.numbers LIMIT {host_count}");
}

/* The answer to one question. */
struct said {
	struct gg_fleet_question question;
	struct gg_model *model;
	struct gg_query_result *results[GG_QUANTITY_COUNT];
	size_t hours, days; /* rollups that were read */
	uint32_t raw_slots;
};

static void ask_said(struct said *said)
{
	GG_CLEANUP(gg_fleet_cover_done) struct gg_fleet_cover cover = { 0 };
	struct gg_fleet_scope scope;
	uint64_t groups;

	must(gg_fleet_scope_of(&scope, whole_store(), &said->question, &error));
	groups = gg_fleet_groups_for(&scope);
	must(gg_fleet_model_make(&said->model, whole_store(), &scope, groups, NULL, "", &error));
	must(gg_fleet_cover_of(&cover, whole_store(), &scope, groups,
	                       said->question.metric != GG_METRIC_LIVE || scope.lacking_count == 0,
	                       &error));
	said->hours = cover.hours.count;
	said->days = cover.days.count;
	said->raw_slots = (cover.raw_to_s - cover.raw_from_s + 599) / 600;
	for (int unit = 0; unit < GG_QUANTITY_COUNT; unit++) {
		said->results[unit] = rows_of(said->model, said->question.metric,
		                              (enum gg_quantity)unit);
		must(gg_fleet_extend_rows(&scope, groups, said->model, said->results[unit], 0.95,
		                          &error));
	}
	gg_fleet_scope_done(&scope);
}

static void said_done(struct said *said)
{
	for (int unit = 0; unit < GG_QUANTITY_COUNT; unit++)
		gg_query_result_free(said->results[unit]);
	gg_model_free(said->model);
	*said = (struct said){ .question = said->question };
}

static void check_unit(const struct said *actual_said, const struct said *expected_said,
                       enum gg_quantity unit)
{
	const struct gg_query_result *actual = actual_said->results[unit];
	const struct gg_query_result *expected = expected_said->results[unit];

	CHECK_EQ_U64(actual->row_count, expected->row_count);
	CHECK(expected->row_count > 1);
	for (size_t i = 0; i < expected->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		const struct gg_query_row *row;

		gg_query_row_label(expected_said->model, expected, &expected->rows[i], &label);
		row = find_label(actual_said->model, actual, gg_buf_text(&label));
		CHECK_MSG(row != NULL, "%s", gg_buf_text(&label));
		if (row == NULL)
			continue;
		check_figures(row->self, expected->rows[i].self, unit, false, gg_buf_text(&label),
		              "self");
		CHECK_EQ_U64(row->self->sample_count, expected->rows[i].self->sample_count);
	}
	check_figures(&actual->total, &expected->total, unit, false, "all", "total");
}

static void check_said(const struct said *actual, const struct said *expected)
{
	for (int unit = 0; unit < GG_QUANTITY_COUNT; unit++)
		check_unit(actual, expected, (enum gg_quantity)unit);
}

enum { ROLLED_WINDOWS = 4, ROLLED_SAID = ROLLED_WINDOWS * 3 };

/* All windows and metrics: the whole time, whole hours, ragged ends, and a part of an hour. */
static void begin_said(struct said *said, const char *tenant, const char *service)
{
	static const uint32_t windows[ROLLED_WINDOWS][2] = {
		{ 0, UINT32_MAX },
		{ ROLLED_DAY_S - 3600, ROLLED_DAY_S + 86400 + 3600 },
		{ ROLLED_DAY_S + 1800, ROLLED_DAY_S + 76000 },
		{ ROLLED_DAY_S + 600, ROLLED_DAY_S + 3000 },
	};
	static const enum gg_metric metrics[] = { GG_METRIC_LIVE, GG_METRIC_ALLOCATED,
		                                  GG_METRIC_FREED };

	for (size_t i = 0; i < ROLLED_SAID; i++) {
		said[i] = (struct said){ .question = ask_about(service, metrics[i % 3]) };
		said[i].question.tenant = tenant;
		said[i].question.when = GG_FLEET_AVERAGE;
		said[i].question.since_s = windows[i / 3][0];
		said[i].question.until_s = windows[i / 3][1];
		ask_said(&said[i]);
	}
}

static void end_said(struct said *said)
{
	for (size_t i = 0; i < ROLLED_SAID; i++)
		said_done(&said[i]);
}

/* Asks again, and compares. */
static void repeat_said(const struct said *said, struct said *last)
{
	for (size_t i = 0; i < ROLLED_SAID; i++) {
		*last = (struct said){ .question = said[i].question };
		ask_said(last);
		check_said(last, &said[i]);
		if (i + 1 < ROLLED_SAID)
			said_done(last);
	}
	said_done(last);
}

static struct said ask_again(const struct said *said)
{
	struct said again = { .question = said->question };

	ask_said(&again);
	return again;
}

/* `chunk_rows`: 0 for one statement an hour, which makes the fewest files. */
static struct gg_fleet_rolled roll_in_chunks(const char *tenant, uint32_t now_s,
                                             uint64_t chunk_rows)
{
	const struct gg_fleet_roll_plan plan = {
		.tenant = tenant, .now_s = now_s, .settle_s = 1200, .chunk_rows = chunk_rows
	};
	struct gg_fleet_rolled rolled;

	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	return rolled;
}

static struct gg_fleet_rolled roll(const char *tenant, uint32_t now_s)
{
	return roll_in_chunks(tenant, now_s, 0);
}

static void make_tenant(const char *tenant)
{
	size_t count;

	must(gg_fleet_schema_apply(whole_store(), tenant, NULL, &count, &error));
}

/* The days whose raw rows a question need not read, by the note of the roll. */
static uint64_t count_clean_days(const char *tenant)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	const struct gg_fleet_question question = { .tenant = tenant };
	const struct gg_fleet_scope scope = { .question = &question, .to_s = UINT32_MAX };

	must(gg_fleet_scope_ask(&scope, whole_store(), GG_FLEET_CLEAN_DAYS, 0, &reply, &error));
	return reply.length / 12;
}

TEST(rollups_say_what_their_raw_rows_say)
{
	const struct rolled_service service = { .tenant = "rollups",
		                                .name = "steady",
		                                .from_s = ROLLED_FROM_S,
		                                .slot_count = ROLLED_REPORTED,
		                                .host_count = ROLLED_HOSTS,
		                                .has_gap = true };
	/* A host that comes late, with slots of two hours of the day. */
	const struct rolled_service late = { .tenant = "rollups",
		                             .name = "steady",
		                             .from_s = ROLLED_DAY_S + 3000,
		                             .slot_count = 3,
		                             .host_count = 1,
		                             .first_host = 9,
		                             .seed = 5 };
	struct said before[ROLLED_SAID], again;
	struct gg_fleet_rolled rolled;

	NEEDS_STORE;
	make_tenant("rollups");
	put_rolled(&service);
	begin_said(before, "rollups", "steady");
	CHECK_EQ_U64(before[0].hours + before[0].days, 0);
	CHECK_EQ_U64(before[0].raw_slots, ROLLED_SLOTS);
	/* At 02:50 the hour that began at 02:00 is not over. */
	rolled = roll_in_chunks("rollups", ROLLED_DAY_S + 86400 + 10200, 1000);
	CHECK_EQ_U64(rolled.hour_count, 28 - 16);
	CHECK_EQ_U64(rolled.day_count, 2);
	CHECK_EQ_U64(count_clean_days("rollups"), 0);
	repeat_said(before, &again);
	again = ask_again(&before[0]);
	/* The window has a day more, of which the store has two hours, and two hours after. */
	CHECK_EQ_U64(again.days, 2);
	CHECK_EQ_U64(again.hours, 2);
	CHECK_EQ_U64(again.raw_slots, 5);
	said_done(&again);
	again = ask_again(&before[3]);
	CHECK_EQ_U64(again.days, 1);
	CHECK_EQ_U64(again.hours, 2);
	CHECK_EQ_U64(again.raw_slots, 0);
	said_done(&again);
	/* A second roll finds nothing to do, and notes the days. */
	rolled = roll("rollups", ROLLED_DAY_S + 86400 + 10200);
	CHECK_EQ_U64(rolled.hour_count + rolled.day_count, 0);
	CHECK_EQ_U64(count_clean_days("rollups"), 2);
	repeat_said(before, &again);
	end_said(before);

	/* Late rows: their hours are read raw, until they are rolled again. */
	put_rolled(&late);
	CHECK_EQ_U64(count_clean_days("rollups"), 1);
	begin_said(before, "rollups", "steady");
	/* Sums of allocations come from all other hours; averages need each host. */
	CHECK_EQ_U64(before[1].days, 1);
	CHECK_EQ_U64(before[1].hours, 2 + 22 - 16);
	CHECK_EQ_U64(before[0].days + before[0].hours, 0);
	rolled = roll_in_chunks("rollups", ROLLED_DAY_S + 86400 + 10200, 1000);
	CHECK_EQ_U64(rolled.hour_count, 2);
	CHECK_EQ_U64(rolled.day_count, 1);
	CHECK_EQ_U64(count_clean_days("rollups"), 1);
	repeat_said(before, &again);
	again = ask_again(&before[1]);
	CHECK_EQ_U64(again.days, 2);
	said_done(&again);
	end_said(before);
}

static struct gg_fleet_retention keep_raw(const char *tenant)
{
	return (struct gg_fleet_retention){ .tenant = tenant,
		                            .now_s = ROLLED_DAY_S + 4 * 86400,
		                            .keep_s = { [GG_FLEET_RAW] = 2 * 86400 } };
}

TEST(rollups_stand_for_raw_rows_that_were_dropped)
{
	const struct rolled_service service = { .tenant = "kept",
		                                .name = "old",
		                                .from_s = ROLLED_FROM_S,
		                                .slot_count = ROLLED_REPORTED,
		                                .host_count = ROLLED_HOSTS,
		                                .has_gap = true };
	const struct rolled_service late = { .tenant = "kept",
		                             .name = "old",
		                             .from_s = ROLLED_DAY_S + 3000,
		                             .slot_count = 3,
		                             .host_count = 1,
		                             .first_host = 9,
		                             .seed = 5 };
	struct gg_fleet_retention plan = keep_raw("kept");
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped would = { 0 };
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped dropped = { 0 };
	struct said before[ROLLED_SAID], again;
	struct gg_fleet_question question;
	struct gg_fleet_scope scope;
	struct gg_fleet_rolled rolled;
	struct gg_model *model;

	NEEDS_STORE;
	make_tenant("kept");
	put_rolled(&service);
	rolled = roll("kept", plan.now_s);
	CHECK_EQ_U64(rolled.hour_count, 29 - 16);
	begin_said(before, "kept", "old");
	plan.is_dry_run = true;
	must(gg_fleet_retain(whole_store(), &plan, &would, &error));
	/* Three days of draw, live and folded. */
	CHECK_EQ_U64(would.partitions.count, 9);
	again = ask_again(&before[6]);
	check_said(&again, &before[6]);
	said_done(&again);
	plan.is_dry_run = false;
	must(gg_fleet_retain(whole_store(), &plan, &dropped, &error));
	CHECK_EQ_U64(dropped.partitions.count, 9);
	CHECK_EQ_U64(dropped.bytes, would.bytes);
	/* The whole time and whole hours are as before. */
	for (size_t i = 0; i < 6; i++) {
		again = ask_again(&before[i]);
		CHECK_EQ_U64(again.raw_slots, 0);
		check_said(&again, &before[i]);
		said_done(&again);
	}
	/* Parts of hours, moments and single hosts are not there any more. */
	question = before[7].question;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_I64(gg_fleet_model_make(&model, whole_store(), &scope, GG_FLEET_NO_GROUPS, NULL,
	                                 "", &error),
	             -ENODATA);
	CHECK(strstr(error.message, "were dropped") != NULL);
	gg_fleet_scope_done(&scope);
	question = before[0].question;
	question.when = GG_FLEET_AT_END;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_I64(gg_fleet_model_make(&model, whole_store(), &scope, GG_FLEET_NO_GROUPS, NULL,
	                                 "", &error),
	             -ENODATA);
	gg_fleet_scope_done(&scope);
	question = before[1].question;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_I64(gg_fleet_model_make(&model, whole_store(), &scope, GG_FLEET_EACH_HOST, NULL,
	                                 "", &error),
	             -ENODATA);
	gg_fleet_scope_done(&scope);
	/* Rows that come now do not replace what was rolled, and a roll leaves it alone. */
	put_rolled(&late);
	rolled = roll("kept", plan.now_s);
	CHECK_EQ_U64(rolled.hour_count + rolled.day_count, 0);
	again = ask_again(&before[1]);
	check_said(&again, &before[1]);
	said_done(&again);
	end_said(before);
}

TEST(the_oldest_rows_make_room)
{
	enum { ROOM_TRIES = 20 };
	const struct rolled_service service = { .tenant = "room",
		                                .name = "large",
		                                .from_s = ROLLED_FROM_S,
		                                .slot_count = ROLLED_REPORTED,
		                                .host_count = ROLLED_HOSTS,
		                                .has_gap = true };
	struct gg_fleet_retention plan = keep_raw("room");
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped some = { 0 };
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped most = { 0 };
	bool is_quiet = false;

	NEEDS_STORE;
	make_tenant("room");
	put_rolled(&service);
	roll("room", plan.now_s);
	plan.keep_s[GG_FLEET_RAW] = 0;
	plan.is_dry_run = true;
	/* A merge between the two would change the bytes, so a few tries are allowed. */
	for (int try = 0; try < ROOM_TRIES && !is_quiet; try++) {
		GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped again = { 0 };

		gg_fleet_dropped_done(&some);
		gg_fleet_dropped_done(&most);
		some = most = again;
		plan.free_bytes = 1;
		must(gg_fleet_retain(whole_store(), &plan, &some, &error));
		plan.free_bytes = UINT64_MAX;
		must(gg_fleet_retain(whole_store(), &plan, &most, &error));
		must(gg_fleet_retain(whole_store(), &plan, &again, &error));
		is_quiet = again.bytes == most.bytes && again.kept_bytes == most.kept_bytes &&
		           some.kept_bytes + some.bytes == most.kept_bytes + most.bytes;
	}
	CHECK_MSG(is_quiet, "%llu and %llu bytes are not %llu and %llu",
	          (unsigned long long)some.kept_bytes, (unsigned long long)some.bytes,
	          (unsigned long long)most.kept_bytes, (unsigned long long)most.bytes);
	/* The first day of raw rows suffices. */
	CHECK_EQ_U64(some.partitions.count, 3);
	CHECK(!some.is_short);
	for (size_t i = 0; i < some.partitions.count; i++)
		CHECK_EQ_U64(some.partitions.items[i].end_s, ROLLED_DAY_S);
	CHECK(most.is_short);
	/* Impossible orders are refused. */
	plan.keep_s[GG_FLEET_HOURS] = 5 * 86400;
	CHECK_EQ_I64(gg_fleet_retain(whole_store(), &plan, &most, &error), -EINVAL);
	plan.keep_s[GG_FLEET_RAW] = 7 * 86400;
	CHECK_EQ_I64(gg_fleet_retain(whole_store(), &plan, &most, &error), -EINVAL);
	plan.keep_s[GG_FLEET_RAW] = 3600;
	CHECK_EQ_I64(gg_fleet_retain(whole_store(), &plan, &most, &error), -EINVAL);
}

/* One hour cannot be added up: the others are, and rows before it may go. */
TEST(an_hour_that_fails_keeps_its_rows)
{
	const struct rolled_service service = { .tenant = "failing",
		                                .name = "large",
		                                .from_s = ROLLED_FROM_S,
		                                .slot_count = ROLLED_REPORTED,
		                                .host_count = ROLLED_HOSTS,
		                                .has_gap = true };
	struct gg_fleet_retention plan = keep_raw("failing");
	const struct gg_fleet_roll_plan roll_plan = { .tenant = "failing", .now_s = plan.now_s };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "failing"),
		gg_clickhouse_u64("hour", ROLLED_DAY_S + 3600),
	};
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped dropped = { 0 };
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped most = { 0 };
	struct gg_fleet_rolled rolled;

	NEEDS_STORE;
	make_tenant("failing");
	put_rolled(&service);
	run_statement(
		"ALTER TABLE {db}.rollup_hour ADD COLUMN broken UInt8 DEFAULT throwIf(start = {hour})",
		values, GG_COUNT(values));
	CHECK(gg_fleet_roll(whole_store(), &roll_plan, &rolled, &error) < 0);
	CHECK(strstr(error.message, "throwIf") != NULL);
	CHECK_EQ_U64(rolled.hour_count, 28 - 16);
	CHECK_EQ_U64(rolled.failed_count, 1);
	CHECK_EQ_U64(rolled.first_hour_s, ROLLED_DAY_S + 3600);
	CHECK_EQ_U64(rolled.first_day_s, ROLLED_DAY_S);
	/* A run that rolls nothing notes the other two days, and not that of the hour. */
	CHECK_EQ_U64(count_clean_days("failing"), 0);
	CHECK(gg_fleet_roll(whole_store(), &roll_plan, &rolled, &error) < 0);
	CHECK_EQ_U64(rolled.hour_count + rolled.day_count, 0);
	CHECK_EQ_U64(rolled.failed_count, 1);
	CHECK_EQ_U64(count_clean_days("failing"), 2);
	plan.unrolled_hour_s = rolled.first_hour_s;
	plan.unrolled_day_s = rolled.first_day_s;
	plan.is_dry_run = true;
	plan.free_bytes = UINT64_MAX;
	must(gg_fleet_retain(whole_store(), &plan, &most, &error));
	/* The raw rows and the hours of the first day, and no days. */
	CHECK(most.is_short);
	CHECK_EQ_U64(most.partitions.count, 3 + 2);
	plan.is_dry_run = false;
	plan.free_bytes = 0;
	must(gg_fleet_retain(whole_store(), &plan, &dropped, &error));
	CHECK_EQ_U64(dropped.partitions.count, 3);
	for (size_t i = 0; i < dropped.partitions.count; i++)
		CHECK_EQ_U64(dropped.partitions.items[i].end_s, ROLLED_DAY_S);
	run_statement("ALTER TABLE {db}.rollup_hour DROP COLUMN broken", values, GG_COUNT(values));
	must(gg_fleet_roll(whole_store(), &roll_plan, &rolled, &error));
	CHECK_EQ_U64(rolled.hour_count, 1);
	CHECK_EQ_U64(rolled.failed_count, 0);
}

/* The day is as before, although its hours have late rows: questions must not read it. */
TEST(a_day_that_fails_lacks_no_late_rows)
{
	struct rolled_service service = { .tenant = "failing_day",
		                          .name = "small",
		                          .from_s = ROLLED_DAY_S,
		                          .slot_count = 12,
		                          .host_count = 2 };
	const struct gg_fleet_roll_plan plan = { .tenant = "failing_day",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "failing_day"),
		gg_clickhouse_u64("day", ROLLED_DAY_S),
	};
	struct gg_fleet_rolled rolled;
	struct said before, after;

	NEEDS_STORE;
	make_tenant("failing_day");
	put_rolled(&service);
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	/* The next run that changes nothing notes the day. */
	CHECK_EQ_U64(count_clean_days("failing_day"), 0);
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK_EQ_U64(rolled.hour_count + rolled.day_count, 0);
	CHECK_EQ_U64(count_clean_days("failing_day"), 1);
	service.slot_count = 3;
	service.host_count = 1;
	service.first_host = 9;
	put_rolled(&service);
	before = (struct said){ .question = ask_about("small", GG_METRIC_ALLOCATED) };
	before.question.tenant = "failing_day";
	ask_said(&before);
	run_statement(
		"ALTER TABLE {db}.rollup_day ADD COLUMN broken UInt8 DEFAULT throwIf(start = {day})",
		values, GG_COUNT(values));
	for (int i = 0; i < 2; i++) {
		CHECK(gg_fleet_roll(whole_store(), &plan, &rolled, &error) < 0);
		CHECK_EQ_U64(rolled.hour_count, i == 0 ? 1 : 0);
		CHECK_EQ_U64(rolled.failed_count, 1);
		after = ask_again(&before);
		CHECK_EQ_U64(after.days, 0);
		CHECK_EQ_U64(after.hours, 2);
		check_said(&after, &before);
		said_done(&after);
	}
	run_statement("ALTER TABLE {db}.rollup_day DROP COLUMN broken", values, GG_COUNT(values));
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK_EQ_U64(rolled.day_count, 1);
	after = ask_again(&before);
	CHECK_EQ_U64(after.days, 1);
	check_said(&after, &before);
	said_done(&after);
	said_done(&before);
}

/*
 * A statement about parts fails, as it does for a user who may not read system.parts: here the name
 * of a partition is no date.
 */
TEST(a_roll_needs_no_parts)
{
	const struct rolled_service service = { .tenant = "partless",
		                                .name = "small",
		                                .from_s = ROLLED_DAY_S,
		                                .slot_count = 12,
		                                .host_count = 2 };
	const struct gg_fleet_roll_plan plan = { .tenant = "partless",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	const struct gg_clickhouse_value values[] = { gg_clickhouse_name("db", "partless") };
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	const struct gg_fleet_question question = { .tenant = "partless" };
	const struct gg_fleet_scope scope = { .question = &question, .to_s = UINT32_MAX };
	struct gg_fleet_rolled rolled;
	struct said before, after;

	NEEDS_STORE;
	make_tenant("partless");
	/* Newer servers take the partitions of the other table, unless the statement has some. */
	run_statement("CREATE TABLE {db}.other AS {db}.folded ENGINE = ReplacingMergeTree() "
	              "PARTITION BY tuple() ORDER BY (service, metric, stack, series, host, slot)",
	              values, GG_COUNT(values));
	run_statement("DROP TABLE {db}.folded", values, GG_COUNT(values));
	run_statement("RENAME TABLE {db}.other TO {db}.folded", values, GG_COUNT(values));
	put_rolled(&service);
	before = (struct said){ .question = ask_about("small", GG_METRIC_ALLOCATED) };
	before.question.tenant = "partless";
	ask_said(&before);
	CHECK(gg_fleet_scope_ask(&scope, whole_store(), GG_FLEET_CLEAN_DAYS, 0, &reply, &error) <
	      0);
	for (int i = 0; i < 2; i++) {
		must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
		CHECK_EQ_U64(rolled.hour_count, i == 0 ? 2 : 0);
		CHECK_EQ_U64(rolled.day_count, i == 0 ? 1 : 0);
	}
	after = ask_again(&before);
	CHECK_EQ_U64(after.days, 1);
	check_said(&after, &before);
	said_done(&after);
	said_done(&before);
}

/* --- rows on their way ----------------------------------------------------------------------- */

/* Sixty pushes in an hour, each in a second of its own, as agents make that send differences. */
static void put_differences(const char *service, uint32_t hour_s)
{
	const struct sent sent = { service, "1", "machine", "", hour_s, 1, 1000000, 0, 5000, NULL };
	const struct gg_fleet_series series = { .service = service,
		                                .version = "1",
		                                .kind = "native" };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_u64("hour", hour_s),
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("host", gg_fleet_sender_id("machine", "")),
		gg_clickhouse_u64("series", gg_fleet_series_id(&series)),
		gg_clickhouse_u64("service", gg_fleet_service_id(service)),
	};

	for (uint32_t slot = 0; slot < 6; slot++) {
		struct sent one = sent;

		one.slot_s = hour_s + 600 * slot;
		send_slot(&one);
	}
	run_statement("INSERT INTO {db}.draw (slot, service, stack, series, host, size, gap, "
	              "allocated, freed, flags) SELECT toDateTime({hour} + 7 + 60 * number), "
	              "toUInt64({service}), 'stack of 16 byte', toUInt64({series}), "
	              "toUInt64({host}), 1000, 1, 100, 50, 0 FROM system.numbers LIMIT 60",
	              values, GG_COUNT(values));
}

static double sum_in(const struct gg_fleet_question *question, uint64_t groups)
{
	struct gg_fleet_scope scope;
	struct gg_model *model = ask_model(&scope, question, groups);
	struct gg_query_result *result = rows_of(model, question->metric, GG_BYTES);
	double bytes = gg_tally_estimate(&result->total, GG_BYTES).value;

	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
	return bytes;
}

static double sum_of(const struct gg_fleet_question *question)
{
	return sum_in(question, GG_FLEET_NO_GROUPS);
}

TEST(allocations_between_the_slots_of_processes_count)
{
	struct gg_fleet_question question = ask_about("differences", GG_METRIC_ALLOCATED);
	const struct gg_fleet_roll_plan plan = { .tenant = "default",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	struct gg_fleet_rolled rolled;

	NEEDS_STORE;
	put_differences("differences", ROLLED_DAY_S);
	CHECK_EQ_DOUBLE(sum_of(&question), 6e6);
	question.metric = GG_METRIC_FREED;
	CHECK_EQ_DOUBLE(sum_of(&question), 3e6);
	question.metric = GG_METRIC_ALLOCATED;
	question.since_s = ROLLED_DAY_S + 600;
	question.until_s = ROLLED_DAY_S + 1200;
	CHECK_EQ_DOUBLE(sum_of(&question), 1e6);
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK_EQ_DOUBLE(sum_of(&question), 1e6);
	question.since_s = 0;
	question.until_s = UINT32_MAX;
	CHECK_EQ_DOUBLE(sum_of(&question), 6e6);
	/* An hour that is rolled, and one that is not: every row once. */
	put_differences("differences", ROLLED_DAY_S + 3600);
	CHECK_EQ_DOUBLE(sum_of(&question), 12e6);
}

/*
 * A program that began and ended within a slot: it allocated `count` blocks of 1000 bytes and freed
 * all but one.
 */
static void send_short(const char *service, const char *host, uint32_t slot_s,
                       uint32_t selected_ppm, uint64_t count)
{
	const struct gg_fleet_series series = { .service = service,
		                                .version = "short",
		                                .kind = "native" };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_u64("slot", slot_s),
		gg_clickhouse_u64("service", gg_fleet_service_id(service)),
		gg_clickhouse_u64("series", gg_fleet_series_id(&series)),
		gg_clickhouse_u64("host", gg_fleet_sender_id(host, "short")),
		gg_clickhouse_text("service_name", service),
		gg_clickhouse_text("host_name", host),
		gg_clickhouse_u64("selected", selected_ppm),
		gg_clickhouse_u64("count", count),
	};

	run_statement("INSERT INTO default.series VALUES (202311, {service}, {series}, "
	              "{service_name}, 'short', 'native', '', '', [], [])",
	              values, GG_COUNT(values));
	run_statement("INSERT INTO default.host VALUES (202311, {host}, {host_name}, [], [])",
	              values, GG_COUNT(values));
	if (selected_ppm > 0)
		run_statement("INSERT INTO default.draw VALUES ({slot}, {service}, 'stack of 16 "
		              "byte', {series}, {host}, 1000, 1, {count}, {count} - 1, 0)",
		              values, GG_COUNT(values));
	run_statement("INSERT INTO default.process VALUES ({slot}, {service}, {series}, {host}, 0, "
	              "{selected}, 1, 0, 0, 0, 1000 * {count}, 3, 0), ({slot} + 600, {service}, "
	              "{series}, {host}, 0, {selected}, 1, 0, 0, 0, 0, 0, 0)",
	              values, GG_COUNT(values));
}

/* With the rows of each host apart. */
static double sum_by_host(const struct gg_fleet_question *question)
{
	return sum_in(question, GG_FLEET_EACH_HOST);
}

static const struct gg_fleet_service_row *find_version(const struct gg_fleet_services *services,
                                                       const char *service, const char *version)
{
	for (size_t i = 0; i < services->rows.count; i++)
		if (strcmp(services->rows.items[i].service, service) == 0 &&
		    strcmp(services->rows.items[i].version, version) == 0)
			return &services->rows.items[i];
	return NULL;
}

TEST(programs_that_begin_and_end_within_a_slot_count)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	struct gg_fleet_question question = ask_about("brief", GG_METRIC_ALLOCATED);
	struct gg_fleet_question mixed = ask_about("mixed ends", GG_METRIC_ALLOCATED);
	const struct sent long_one = { "mixed ends", "long", "a", "",  ROLLED_DAY_S, 1,
		                       1000000,      7,      500, NULL };
	const struct gg_fleet_roll_plan plan = { .tenant = "default",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	const struct gg_fleet_service_row *row;
	struct gg_fleet_rolled rolled;
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	send_short("brief", "a", ROLLED_DAY_S, 1000000, 5);
	send_short("brief", "b", ROLLED_DAY_S + 1200, 1000000, 9);
	send_slot(&long_one);
	send_short("mixed ends", "a", ROLLED_DAY_S, 1000000, 20);
	send_short("mixed ends", "b", ROLLED_DAY_S, 1000000, 30);
	must(gg_fleet_services_of(&services, whole_store(), "default", 0, UINT32_MAX, 0.95,
	                          &error));
	row = find_version(&services, "brief", "short");
	REQUIRE(row != NULL);
	CHECK_EQ_U64(row->host_count, 0);
	CHECK_EQ_DOUBLE(row->process_count, 0);
	CHECK_EQ_DOUBLE(row->live_bytes, 0);
	CHECK_EQ_DOUBLE(row->allocated_bytes, 14000);
	CHECK_EQ_U64(row->last_slot_s, ROLLED_DAY_S + 1200);
	row = find_version(&services, "mixed ends", "short");
	REQUIRE(row != NULL);
	CHECK_EQ_DOUBLE(row->allocated_bytes, 50000);
	row = find_version(&services, "mixed ends", "long");
	REQUIRE(row != NULL);
	CHECK_EQ_U64(row->host_count, 1);
	CHECK_EQ_DOUBLE(row->live_bytes, 7000);
	for (int i = 0; i < 2; i++) {
		question.metric = mixed.metric = GG_METRIC_ALLOCATED;
		CHECK_EQ_DOUBLE(sum_of(&question), 14000);
		CHECK_EQ_DOUBLE(sum_by_host(&question), 14000);
		CHECK_EQ_DOUBLE(sum_of(&mixed), 50000);
		CHECK_EQ_DOUBLE(sum_by_host(&mixed), 50000);
		question.metric = mixed.metric = GG_METRIC_FREED;
		CHECK_EQ_DOUBLE(sum_of(&question), 12000);
		CHECK_EQ_DOUBLE(sum_of(&mixed), 48000);
		CHECK_EQ_DOUBLE(sum_by_host(&mixed), 48000);
		must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	}
	/* Their blocks are not live after them. */
	mixed.metric = question.metric = GG_METRIC_LIVE;
	CHECK_EQ_DOUBLE(live_of(&mixed, &scope), 7000);
	CHECK_EQ_U64(scope.host_count, 1);
	gg_fleet_scope_done(&scope);
	CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENODATA);
	CHECK(strstr(error.message, "ran at the end of a slot") != NULL);
}

/* Two of four senders were drawn, and no process ran at the end of a slot. */
TEST(senders_whose_programs_ended_are_part_of_the_draw)
{
	struct gg_fleet_question question = ask_about("brief draw", GG_METRIC_ALLOCATED);
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	send_short("brief draw", "a", ROLLED_DAY_S, 500000, 4);
	send_short("brief draw", "b", ROLLED_DAY_S, 500000, 6);
	send_short("brief draw", "c", ROLLED_DAY_S, 0, 4);
	send_short("brief draw", "d", ROLLED_DAY_S, 0, 6);
	question.until_s = ROLLED_DAY_S + 3600;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_U64(scope.sender_count, 4);
	CHECK_EQ_U64(scope.selected_sender_count, 2);
	CHECK(gg_fleet_is_drawn(&scope));
	CHECK_EQ_U64(scope.lacking_count, 0);
	gg_fleet_scope_done(&scope);
}

/* A sender's live rows may come before its row in `process`. */
TEST(live_rows_count_with_their_row_of_process)
{
	struct gg_fleet_question question = ask_about("early", GG_METRIC_LIVE);
	const struct sent first = { "early", "1",     "machine", "", ROLLED_DAY_S,
		                    1,       1000000, 10,        0,  NULL };
	const struct gg_fleet_roll_plan plan = { .tenant = "default",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("service", gg_fleet_service_id("early")),
		gg_clickhouse_u64("slot", ROLLED_DAY_S + 600),
	};
	struct gg_fleet_rolled rolled;
	struct sent next = first;

	NEEDS_STORE;
	question.when = GG_FLEET_AVERAGE;
	send_slot(&first);
	next.slot_s += 1200;
	send_slot(&next);
	run_statement("INSERT INTO {db}.live SELECT toDateTime({slot}), service, stack, series, "
	              "host, size, gap, n, flags FROM {db}.live WHERE service = {service} LIMIT 1",
	              values, GG_COUNT(values));
	CHECK_EQ_DOUBLE(sum_of(&question), 10000);
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK_EQ_DOUBLE(sum_of(&question), 10000);
	run_statement("INSERT INTO {db}.process SELECT toDateTime({slot}), service, series, host, "
	              "processes, selected_ppm, gap_max, scheme, rss, live_bytes, "
	              "allocated_bytes, covered_s, dropped FROM {db}.process WHERE service = "
	              "{service} LIMIT 1",
	              values, GG_COUNT(values));
	CHECK_EQ_DOUBLE(sum_of(&question), 10000);
	must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	CHECK(rolled.hour_count > 0);
	CHECK_EQ_DOUBLE(sum_of(&question), 10000);
}

TEST(every_statement_runs)
{
	const struct rolled_service service = { .tenant = "statements",
		                                .name = "every",
		                                .from_s = ROLLED_DAY_S,
		                                .slot_count = 6,
		                                .host_count = 2 };
	struct gg_fleet_question question = ask_about("every", GG_METRIC_LIVE);
	GG_CLEANUP(gg_fleet_cover_done) struct gg_fleet_cover cover = { 0 };
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	make_tenant("statements");
	put_rolled(&service);
	insert_rolled(&service,
	              "INSERT INTO {db}.symbol (frame, resolved, functions, files, lines) SELECT "
	              "toUInt64(77), now(), ['main'], ['m.c'], [1]");
	insert_rolled(&service, "INSERT INTO {db}.frame (month, frame, build_id, address, module) "
	                        "VALUES (202311, 77, 'ab', 16, '/bin/x')");
	roll("statements", ROLLED_DAY_S + 2 * 86400);
	/* Notes the day. */
	roll("statements", ROLLED_DAY_S + 2 * 86400);
	insert_rolled(&service, "INSERT INTO {db}.host (month, host, name, keys, vals) SELECT "
	                        "202312, host, 'x', ['geiger.receiver'], ['7'] FROM {db}.process "
	                        "WHERE service = {service} LIMIT 1");
	insert_rolled(&service, "INSERT INTO {db}.retention VALUES ('raw', 1, 0)");
	insert_rolled(&service, "INSERT INTO {db}.series (month, service, series, service_name, "
	                        "version, kind, heap, type, keys, vals) VALUES (202312, {service}, "
	                        "{series}, {service_name}, '1', 'native', 'pprof', '', [], [])");
	question.tenant = "statements";
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	/* With raw rows, and with the same hour from its rollup. */
	cover.raw_from_s = ROLLED_DAY_S;
	cover.raw_to_s = ROLLED_DAY_S + 3600;
	for (int i = 0; i < GG_FLEET_STATEMENT_COUNT; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };

		uint32_t to_s = scope.to_s;

		scope.cover = &cover;
		scope.from_s = ROLLED_DAY_S;
		if (i == GG_FLEET_CLEAN_DAYS) /* it is about whole days */
			scope.to_s = UINT32_MAX;
		if (i == GG_FLEET_ROLLED_TALLIES)
			REQUIRE(gg_array_push(&cover.hours, ROLLED_DAY_S));
		CHECK_MSG(gg_fleet_scope_ask(&scope, whole_store(), i, 16, &reply, &error) == 0,
		          "statement %d: %s", i, why());
		CHECK_MSG(reply.length > 0, "statement %d has no rows", i);
		scope.to_s = to_s;
	}
	scope.cover = NULL;
	gg_fleet_scope_done(&scope);
}

/* Half of four hosts are drawn in the first hour, and the other half in the second one. */
static void put_redrawn(const char *service)
{
	for (uint32_t slot = 0; slot < 12; slot++)
		for (int i = 0; i < 4; i++) {
			char host[16];
			bool is_drawn = (uint32_t)i / 2 == slot / 6;
			struct sent sent = { service,
				             "1",
				             host,
				             "",
				             ROLLED_DAY_S + 600 * slot,
				             1,
				             is_drawn ? 500000 : 0,
				             is_drawn ? 10 * (uint64_t)(1 + i) : 0,
				             20000,
				             NULL };

			snprintf(host, sizeof(host), "r%d", i);
			send_slot(&sent);
		}
}

TEST(a_window_in_which_hosts_are_drawn_anew_is_joined_from_its_hours)
{
	struct gg_fleet_question question = ask_about("redrawn", GG_METRIC_LIVE);
	const struct gg_fleet_draws_plan plan = { .store = whole_store(), .confidence = 0.95 };
	struct gg_fleet_scope scope;
	struct gg_query_result *result;
	struct gg_interval interval;
	struct gg_model *model;

	NEEDS_STORE;
	put_redrawn("redrawn");
	/* The draw of its own hour counts for a moment. */
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_U64(scope.host_count, 4);
	CHECK_EQ_U64(scope.selected_count, 2);
	gg_fleet_scope_done(&scope);
	question.when = GG_FLEET_AVERAGE;
	CHECK_EQ_I64(gg_fleet_scope_of(&scope, whole_store(), &question, &error), -ENOTSUP);
	CHECK(strstr(error.message, "drawn anew") != NULL);
	/* Each hour stands for all: twice 10 and 20 blocks, and twice 30 and 40. */
	question.joins_draws = true;
	model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
	CHECK(scope.is_redrawn);
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	must(gg_fleet_extend_draws(&plan, &scope, model, result, &error));
	/* RSS is the same everywhere, so a host's known size is. */
	CHECK_MSG(
		is_equal(gg_tally_estimate(&result->total, GG_BYTES).value, (60000 + 140000) / 2.0),
		"%g", gg_tally_estimate(&result->total, GG_BYTES).value);
	/*
	 * An hour's variance is N^2 (1-f) s^2 / n = 16 * 0.5 * 5e7 / 2; the mean of two hours has
	 * half of it, with two degrees of freedom.  The law of the interval is skewed, so the ends
	 * differ a little.
	 */
	interval = gg_interval_of(&result->total, GG_BYTES, 0.95, false);
	CHECK_MSG(fabs(interval.high - interval.low - 2 * 4.303 * sqrt(1e8)) <
	                  0.1 * (interval.high - interval.low),
	          "%g to %g", interval.low, interval.high);
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
	question.joins_draws = false;
	question.by_slot = true;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	gg_fleet_scope_done(&scope);
	question.by_slot = false;
	question.until_s = ROLLED_DAY_S + 3600;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	CHECK_EQ_U64(scope.selected_count, 2);
	CHECK_EQ_U64(scope.lacking_count, 0);
	gg_fleet_scope_done(&scope);
}

/* The chart of drawn hosts is about all hosts, like the RSS beside it. */
TEST(a_chart_extends_each_slot_to_all_of_its_hosts)
{
	struct gg_fleet_question question = ask_about("chart", GG_METRIC_LIVE);
	GG_CLEANUP(gg_slot_sums_done) struct gg_slot_sums slots = { 0 };
	const struct gg_slot_sum *items;
	struct gg_fleet_scope scope;

	NEEDS_STORE;
	put_redrawn("chart");
	/*
	 * A pod is always sent.  In slot 12 it lacks an RSS, and from then on nobody is drawn.
	 */
	for (uint32_t slot = 0; slot < 14; slot++) {
		struct sent sent = { "chart",
			             "1",
			             "sure",
			             "",
			             ROLLED_DAY_S + 600 * slot,
			             1,
			             1000000,
			             7,
			             slot == 12 ? 0 : 5000,
			             "pprof" };

		send_slot(&sent);
		if (slot < 12)
			continue;
		sent = (struct sent){ "chart", "1", "r0", "",    ROLLED_DAY_S + 600 * slot,
			              1,       0,   0,    20000, NULL };
		send_slot(&sent);
	}
	question.when = GG_FLEET_AVERAGE;
	question.by_slot = true;
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	must(gg_slot_sums_of(&slots, whole_store(), &scope, 0.95, &error));
	REQUIRE(slots.items.count == 14 && slots.is_extended);
	items = slots.items.items;
	for (size_t i = 0; i < 12; i++) {
		double wanted = 7000 + (i < 6 ? 60000 : 140000);

		CHECK_MSG(is_equal(items[i].live_bytes, wanted), "slot %zu: %g", i,
		          items[i].live_bytes);
		CHECK_EQ_DOUBLE(items[i].rss_bytes, 85000);
		/* N^2 (1-f) s^2 / n = 16 * 0.5 * 5e7 / 2, with one degree of freedom. */
		CHECK_MSG(items[i].low < wanted && items[i].high > wanted + 10 * sqrt(2e8),
		          "slot %zu: %g to %g", i, items[i].low, items[i].high);
	}
	CHECK_EQ_DOUBLE(items[12].rss_bytes, -1);
	CHECK(isinf(items[13].high) && items[13].low == 0);
	CHECK_EQ_DOUBLE(items[13].rss_bytes, 25000);
	gg_fleet_scope_done(&scope);
}

/* Half of 256 hosts are drawn, which are extended by 16 random groups. */
TEST(rollups_of_drawn_hosts_keep_their_groups)
{
	const struct rolled_service service = { .tenant = "groups",
		                                .name = "drawn",
		                                .from_s = ROLLED_DAY_S,
		                                .slot_count = 12,
		                                .host_count = 256,
		                                .is_drawn = true };
	struct said before, after;
	struct gg_fleet_rolled rolled;

	NEEDS_STORE;
	make_tenant("groups");
	put_rolled(&service);
	before = (struct said){ .question = ask_about("drawn", GG_METRIC_ALLOCATED) };
	before.question.tenant = "groups";
	ask_said(&before);
	rolled = roll_in_chunks("groups", ROLLED_DAY_S + 86400, 10000);
	CHECK_EQ_U64(rolled.hour_count, 2);
	after = ask_again(&before);
	check_said(&after, &before);
	said_done(&before);
	said_done(&after);
}

/* Two builds of one program have frames with equal names; the second one holds 100 times more. */
static void put_builds(const char *service)
{
	const struct gg_fleet_series series = { .service = service,
		                                .version = "1",
		                                .kind = "native" };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("service", gg_fleet_service_id(service)),
		gg_clickhouse_u64("series", gg_fleet_series_id(&series)),
	};

	run_statement("INSERT INTO {db}.stack (month, service, stack, frames) VALUES (202311, "
	              "{service}, 'stack of 16 byte', [880001]), (202311, {service}, "
	              "'stack of build B', [880002])",
	              values, GG_COUNT(values));
	run_statement("INSERT INTO {db}.frame (month, frame, build_id, address, module) VALUES "
	              "(202311, 880001, 'aaaa', 16, '/bin/server'), (202311, 880002, 'bbbb', 16, "
	              "'/bin/server')",
	              values, GG_COUNT(values));
	run_statement("INSERT INTO {db}.symbol (frame, resolved, functions, files, lines) SELECT "
	              "880001 + number, now(), ['parse'], ['p.c'], [7] FROM system.numbers LIMIT 2",
	              values, GG_COUNT(values));
	run_statement("INSERT INTO {db}.live SELECT slot, service, 'stack of build B', series, "
	              "host, size, gap, toUInt32(100 * n), flags FROM {db}.live WHERE service = "
	              "{service}",
	              values, GG_COUNT(values));
}

static struct gg_query_result *join_draws(const struct gg_fleet_question *question,
                                          enum gg_grouping by, struct gg_model **ret_model)
{
	const struct gg_fleet_draws_plan plan = { .store = whole_store(), .confidence = 0.95 };
	struct gg_query_result *result;
	struct gg_fleet_scope scope;
	struct gg_query query;

	*ret_model = ask_model(&scope, question, GG_FLEET_NO_GROUPS);
	CHECK(scope.is_redrawn);
	gg_query_init(&query);
	query.by = by;
	must(gg_query_rows(*ret_model, &query, &result, &error));
	must(gg_fleet_extend_draws(&plan, &scope, *ret_model, result, &error));
	gg_fleet_scope_done(&scope);
	return result;
}

TEST(joined_draws_keep_builds_with_equal_names_apart)
{
	static const enum gg_grouping groupings[] = { GG_BY_FUNCTION, GG_BY_LINE, GG_BY_STACK,
		                                      GG_BY_MODULE };
	struct gg_fleet_question question = ask_about("builds", GG_METRIC_LIVE);

	NEEDS_STORE;
	put_redrawn("builds");
	put_builds("builds");
	question.when = GG_FLEET_AVERAGE;
	question.joins_draws = true;
	for (size_t i = 0; i < GG_COUNT(groupings); i++) {
		struct gg_model *model;
		struct gg_query_result *result = join_draws(&question, groupings[i], &model);

		CHECK_EQ_U64(result->row_count, 2);
		for (size_t j = 0; j < result->row_count; j++) {
			double value = gg_tally_estimate(result->rows[j].self, GG_BYTES).value;

			CHECK_MSG(is_equal(value, j == 0 ? 1e7 : 1e5), "grouping %zu row %zu: %g",
			          i, j, value);
		}
		gg_query_result_free(result);
		gg_model_free(model);
	}
}

/*
 * Hosts end in the second hour, and the third one has the marks of their ends alone.  In the last
 * slot of the first hour one host is missing, and the others hold twice as much.
 */
TEST(joined_draws_take_hours_as_the_window_does)
{
	struct gg_fleet_question question = ask_about("ragged", GG_METRIC_LIVE);
	struct gg_query_result *result;
	struct gg_model *model;

	NEEDS_STORE;
	for (uint32_t slot = 0; slot < 13; slot++)
		for (int i = 0; i < 4; i++) {
			char host[16];
			bool is_drawn = (uint32_t)i / 2 == slot / 6;
			uint64_t count = (slot == 5 ? 20 : 10) * (uint64_t)(1 + i);
			struct sent sent = { "ragged",
				             "1",
				             host,
				             "",
				             ROLLED_DAY_S + 600 * slot,
				             slot < 12,
				             is_drawn ? 500000 : 0,
				             is_drawn ? count : 0,
				             20000,
				             NULL };

			snprintf(host, sizeof(host), "r%d", i);
			if (slot != 5 || i != 3)
				send_slot(&sent);
		}
	question.when = GG_FLEET_AVERAGE;
	question.joins_draws = true;
	result = join_draws(&question, GG_BY_FUNCTION, &model);
	CHECK_MSG(is_equal(gg_tally_estimate(&result->total, GG_BYTES).value,
	                   (6 * 70000 + 6 * 140000) / 13.0),
	          "%g", gg_tally_estimate(&result->total, GG_BYTES).value);
	gg_query_result_free(result);
	gg_model_free(model);
}

/* --- shares ---------------------------------------------------------------------------------- */

/* Four hosts that are certain, and four of 16 others that were drawn. */
static void put_shares(const char *service, uint32_t certain_ppm)
{
	for (int i = 0; i < 20; i++) {
		char host[16];
		bool is_certain = i < 4, is_drawn = i >= 4 && i < 8;
		struct sent sent = { service,
			             "1",
			             host,
			             "",
			             ROLLED_DAY_S,
			             1,
			             is_certain ? certain_ppm
			             : is_drawn ? 250000
			                        : 0,
			             is_certain ? 1000
			             : is_drawn ? 6 + (uint64_t)i
			                        : 0,
			             0,
			             NULL };

		snprintf(host, sizeof(host), "s%d", i);
		send_slot(&sent);
	}
}

TEST(hosts_of_different_shares_are_not_one_draw)
{
	struct gg_fleet_question question = ask_about("shares", GG_METRIC_LIVE);
	struct gg_query_result *result;
	struct gg_fleet_scope scope;
	struct gg_interval interval;
	struct gg_model *model;
	struct gg_query query;
	struct gg_tally sum;
	uint64_t groups;

	NEEDS_STORE;
	put_shares("shares", 1000000);
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	groups = gg_fleet_groups_for(&scope);
	must(gg_fleet_model_make(&model, whole_store(), &scope, groups, NULL, "", &error));
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	sum = result->total;
	must(gg_fleet_extend_rows(&scope, groups, model, result, 0.95, &error));
	/* The drawn hosts hold 10, 11, 12 and 13 blocks, and all others the same in turn. */
	CHECK_MSG(is_equal(gg_tally_estimate(&result->total, GG_BYTES).value, 4e6 + 4 * 46000.0),
	          "%g", gg_tally_estimate(&result->total, GG_BYTES).value);
	CHECK_MSG(is_equal(gg_tally_estimate(result->rows[0].self, GG_BYTES).value,
	                   4e6 + 4 * 46000.0),
	          "%g", gg_tally_estimate(result->rows[0].self, GG_BYTES).value);
	/* The certain hosts add no error: as in drawn_hosts_stand_for_all. */
	interval = gg_interval_of(&result->total, GG_BYTES, 0.95, false);
	CHECK_MSG(fabs(interval.high - interval.low - 2 * 3.182 * sqrt(8e7)) <
	                  0.1 * 2 * 3.182 * sqrt(8e7),
	          "%g to %g", interval.low, interval.high);
	gg_query_init(&query);
	must(gg_fleet_extend_sum(&scope, groups, model, &query, &sum, 0.95, &error));
	CHECK(is_equal(gg_tally_estimate(&sum, GG_BYTES).value, 4e6 + 4 * 46000.0));
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
	/* Two shares below 1 are refused. */
	question.service = "unequal";
	put_shares("unequal", 500000);
	must(gg_fleet_scope_of(&scope, whole_store(), &question, &error));
	groups = gg_fleet_groups_for(&scope);
	must(gg_fleet_model_make(&model, whole_store(), &scope, groups, NULL, "", &error));
	result = rows_of(model, GG_METRIC_LIVE, GG_BYTES);
	CHECK_EQ_I64(gg_fleet_extend_rows(&scope, groups, model, result, 0.95, &error), -ENOTSUP);
	CHECK(strstr(error.message, "different shares") != NULL);
	gg_query_result_free(result);
	gg_model_free(model);
	gg_fleet_scope_done(&scope);
}

/* Eight drawn hosts of 16 are units of their own, until single hosts are dropped. */
TEST(rollups_of_few_drawn_hosts_stand_for_dropped_rows)
{
	const struct rolled_service service = { .tenant = "few",
		                                .name = "drawn",
		                                .from_s = ROLLED_DAY_S,
		                                .slot_count = 12,
		                                .host_count = 16,
		                                .is_drawn = true };
	struct gg_fleet_retention plan = keep_raw("few");
	GG_CLEANUP(gg_fleet_dropped_done) struct gg_fleet_dropped dropped = { 0 };
	struct gg_fleet_scope scope;
	struct said before, after;
	double a, b;

	NEEDS_STORE;
	make_tenant("few");
	put_rolled(&service);
	before = (struct said){ .question = ask_about("drawn", GG_METRIC_ALLOCATED) };
	before.question.tenant = "few";
	ask_said(&before);
	roll_in_chunks("few", plan.now_s, 1000);
	must(gg_fleet_retain(whole_store(), &plan, &dropped, &error));
	must(gg_fleet_scope_of(&scope, whole_store(), &before.question, &error));
	CHECK_EQ_U64(gg_fleet_groups_for(&scope), 16);
	gg_fleet_scope_done(&scope);
	after = ask_again(&before);
	a = gg_tally_estimate(&before.results[GG_BYTES]->total, GG_BYTES).value;
	b = gg_tally_estimate(&after.results[GG_BYTES]->total, GG_BYTES).value;
	CHECK_MSG(is_equal(a, b), "%g is not %g", b, a);
	CHECK(gg_tally_has_error(&after.results[GG_BYTES]->total, GG_BYTES));
	said_done(&before);
	said_done(&after);
}

/* A receiver that cannot know what was allocated says so by a folded row without a number. */
TEST(unknown_sums_have_no_interval)
{
	struct gg_fleet_question question = ask_about("unknown", GG_METRIC_ALLOCATED);
	const struct sent sent = { "unknown", "1",     "machine", "", ROLLED_DAY_S,
		                   1,         1000000, 10,        0,  NULL };
	const struct gg_fleet_roll_plan plan = { .tenant = "default",
		                                 .now_s = ROLLED_DAY_S + 2 * 86400 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", "default"),
		gg_clickhouse_u64("service", gg_fleet_service_id("unknown")),
	};
	struct gg_fleet_rolled rolled;

	NEEDS_STORE;
	send_slot(&sent);
	run_statement("INSERT INTO {db}.folded (slot, service, stack, series, host, metric, "
	              "unknown, gap_max, reserve_count, least_size) SELECT slot, service, "
	              "toFixedString('', 16), series, host, 0, 3, 1, 1, 1 FROM {db}.live WHERE "
	              "service = {service}",
	              values, GG_COUNT(values));
	for (int i = 0; i < 2; i++) {
		struct gg_fleet_scope scope;
		struct gg_model *model = ask_model(&scope, &question, GG_FLEET_NO_GROUPS);
		struct gg_query_result *result = rows_of(model, GG_METRIC_ALLOCATED, GG_BYTES);

		CHECK(!gg_tally_has_error(&result->total, GG_BYTES));
		CHECK(!gg_tally_has_error(&result->total, GG_ALLOCATIONS));
		REQUIRE(model->note_count > 0);
		CHECK(strstr(model->notes[model->note_count - 1], "not known") != NULL);
		gg_query_result_free(result);
		gg_model_free(model);
		gg_fleet_scope_done(&scope);
		must(gg_fleet_roll(whole_store(), &plan, &rolled, &error));
	}
}

static int run_query(const char *text, const char *tenant, uint64_t memory_bytes, double seconds)
{
	const struct gg_clickhouse_value value = gg_clickhouse_name("db", tenant);
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	double timeout_seconds = store.timeout_seconds;
	int status;

	must(gg_clickhouse_bind(&query, text, &value, 1, &error));
	store.memory_max_bytes = memory_bytes;
	store.timeout_seconds = seconds;
	status = gg_clickhouse_query(whole_store(), &query, &reply, &error);
	store.memory_max_bytes = 0;
	store.timeout_seconds = timeout_seconds;
	return status;
}

TEST(the_server_s_errors_are_clear)
{
	static const char huge[] = "SELECT number, toString(number), count() FROM "
				   "system.numbers GROUP BY number";

	NEEDS_STORE;
	CHECK_EQ_I64(run_query("SELECT 1 FROM {db}.draw", "nobody", 0, 60), -ENOENT);
	CHECK_EQ_I64(run_query("SELECT nothing FROM {db}.draw", "default", 0, 60), -ENOENT);
	CHECK_EQ_I64(run_query(huge, "default", 20 << 20, 60), -ENOMEM);
	CHECK(strstr(error.message, "memory") != NULL);
	CHECK_EQ_I64(run_query("SELECT (", "default", 0, 60), -EBADMSG);
	CHECK(strstr(error.message, "Syntax error") != NULL);
	/* The server stops it after a second, or the client soon after. */
	CHECK(run_query("SELECT count() FROM system.numbers", "default", 0, 1) < 0);
	CHECK(error.status == -ETIME || error.status == -ETIMEDOUT);
}

TEST(tables_of_another_version_are_refused)
{
	size_t count;

	NEEDS_STORE;
	must(gg_fleet_schema_apply(whole_store(), "newer", NULL, &count, &error));
	CHECK_EQ_U64(count, gg_fleet_schema_version());
	must(gg_fleet_schema_check(whole_store(), "newer", &error));
	must(gg_fleet_schema_apply(whole_store(), "newer", NULL, &count, &error));
	CHECK_EQ_U64(count, 0);
	must(run_query("INSERT INTO {db}.schema SELECT toUInt32(9999), now()", "newer", 0, 60));
	CHECK_EQ_I64(gg_fleet_schema_check(whole_store(), "newer", &error), -EPROTO);
	CHECK(strstr(error.message, "newer geiger") != NULL);
	must(run_query("CREATE DATABASE {db}", "older", 0, 60));
	must(run_query("CREATE TABLE {db}.schema (version UInt32, at DateTime) "
	               "ENGINE = ReplacingMergeTree ORDER BY version",
	               "older", 0, 60));
	must(run_query("INSERT INTO {db}.schema SELECT toUInt32(1), now()", "older", 0, 60));
	CHECK_EQ_I64(gg_fleet_schema_check(whole_store(), "older", &error), -ENOENT);
	must(gg_fleet_schema_apply(whole_store(), "older", NULL, &count, &error));
	CHECK_EQ_U64(count, gg_fleet_schema_version() - 1);
}

TEST(a_store_is_not_mistaken_for_another_process)
{
	struct gg_store_server server, again;
	const struct gg_store_plan plan = { .memory_bytes = 512 << 20, .wait_seconds = 120 };
	char path[300], text[200];
	pid_t old, other;
	FILE *file;

	NEEDS_STORE;
	if (getenv("GG_TEST_FLEET_STORE") != NULL)
		SKIP("the store is not one that this program started");
	must(gg_store_server_read(store_dir, &server, &error));
	CHECK(server.is_running);
	must(gg_store_server_start(store_dir, &plan, &again, &error));
	CHECK(again.was_running && again.pid == server.pid);
	/* Killed: the file names a process that is gone. */
	old = server.pid;
	kill(old, SIGKILL);
	waitpid(old, NULL, 0);
	must(gg_store_server_read(store_dir, &server, &error));
	CHECK(!server.is_running);
	/* Another process has the number now, which started later. */
	other = fork();
	REQUIRE(other >= 0);
	if (other == 0) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "%s/server", store_dir);
	snprintf(text, sizeof(text), "pid %ld\nstart %llu\nport %u\npassword %s\n", (long)other,
	         (unsigned long long)server.start_ticks, server.port, server.password);
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fputs(text, file);
	fclose(file);
	must(gg_store_server_read(store_dir, &server, &error));
	CHECK(!server.is_running);
	gg_clickhouse_done(&store);
	CHECK_EQ_I64(gg_store_open(whole_store(), store_dir, &error), -ENOTCONN);
	must(gg_store_server_start(store_dir, &plan, &again, &error));
	CHECK(!again.was_running && again.pid != old && again.pid != other);
	CHECK(kill(other, 0) == 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	/* The data is still there, at the same port. */
	CHECK_EQ_U64(again.port, server.port);
	must(gg_store_open(whole_store(), store_dir, &error));
	must(gg_fleet_schema_check(whole_store(), "default", &error));
}
