/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_leaks - shows which stacks of a profile are judged as leaks, and at which moments.
 */
#include "query/leaks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "made_profile.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

/* A profile of 100 s that is filled by the test, and what is made of it. */
struct judged {
	struct made_profile made;
	struct gg_model *model;
	struct gg_leaks *leaks;
	struct gg_error error;
};

static void judged_setup(struct judged *f)
{
	made_begin(&f->made, NULL, 4096, 1);
	f->made.process = made_process(&f->made, 100, 0, 100 * SECOND);
}

static int run_at(struct judged *f, const struct gg_suppressions *suppressions, int64_t at_ns)
{
	const struct gg_leaks_query query = { .confidence = 0.95,
		                              .suppressions = suppressions,
		                              .at_ns = at_ns };
	int status = gg_model_load(&f->model, &f->made.profile, 1, NULL, &f->error);

	if (status == 0)
		status = gg_leaks_run(f->model, &query, &f->leaks, &f->error);
	return status;
}

static int run(struct judged *f, const struct gg_suppressions *suppressions)
{
	return run_at(f, suppressions, 0);
}

static void judged_teardown(struct judged *f)
{
	gg_leaks_free(f->leaks);
	gg_model_free(f->model);
	gg_profile_close(f->made.profile);
}

FIXTURE(judged)

/* For a test that needs several, one after the other. */
static void begin(struct judged *f)
{
	*f = (struct judged){ 0 };
	judged_setup(f);
}

static void end(struct judged *f)
{
	judged_teardown(f);
}

/* Large blocks are samples for certain, so few of them tell. */
static void add(struct judged *f, const char *stack, int count, int64_t from_s, int64_t to_s,
                int64_t lifetime_s)
{
	uint32_t id = made_stack(&f->made, stack);

	for (int i = 0; i < count; i++) {
		int64_t at = from_s * SECOND + (to_s - from_s) * SECOND * i / count;

		made_sample(&f->made, id, 1 << 20, at,
		            lifetime_s > 0 && at + lifetime_s * SECOND < 100 * SECOND
		                    ? at + lifetime_s * SECOND
		                    : GG_TIME_NONE);
	}
}

static void add_all_classes(struct judged *f)
{
	add(f, "main>leak", 50, 0, 100, 0);
	add(f, "main>table", 20, 0, 1, 0);
	add(f, "main>cache", 100, 0, 100, 30);
	add(f, "main>request", 100, 0, 100, 2);
}

static const char *name_of(const struct judged *f, size_t row)
{
	size_t count;
	const struct gg_code_location *places = gg_model_stack_locations(
		f->model, f->leaks->rows[row].stack, &count);

	return f->model->functions[places[0].function].name;
}

TEST_WITH(judged, each_stack_is_judged_by_its_own_samples)
{
	static const struct {
		const char *name;
		enum gg_leak_class class;
	} expected[] = {
		{ "leak", GG_LEAK_GROWING },
		{ "table", GG_LEAK_NEVER_FREED },
		{ "cache", GG_LEAK_LEVEL },
		{ "request", GG_LEAK_YOUNG_ONLY },
	};

	add_all_classes(judged);
	if (!CHECK(run(judged, NULL) == 0 && judged->leaks->row_count == GG_COUNT(expected)))
		return;
	for (size_t i = 0; i < GG_COUNT(expected); i++) {
		CHECK_MSG(strcmp(name_of(judged, i), expected[i].name) == 0, "%zu: %s", i,
		          name_of(judged, i));
		CHECK_MSG(judged->leaks->rows[i].class == expected[i].class, "%s: %s",
		          name_of(judged, i), gg_leak_class_name(judged->leaks->rows[i].class));
		CHECK_EQ_U64(judged->leaks->class_row_count[expected[i].class], 1);
	}
	CHECK(judged->leaks->rows[0].sample_count == 50 && judged->leaks->rows[0].q_value < 1e-4);
	CHECK(fabs(judged->leaks->rows[0].live_bytes.estimate / (50 << 20) - 1) < 1e-6);
	CHECK_EQ_I64(judged->leaks->rows[0].oldest_ns, 100 * SECOND);
	CHECK_EQ_DOUBLE(judged->leaks->rows[0].kept_share, 1);
	CHECK(isnan(judged->leaks->rows[1].q_value)); /* nothing happened in the last third */
	CHECK(judged->leaks->rows[3].oldest_ns <= 2 * SECOND);
}

/* Gives a type to later samples; NULL gives them none. */
static void set_type(struct judged *f, const char *type)
{
	f->made.heap = f->made.type = 0;
	if (type == NULL)
		return;
	REQUIRE(gg_profile_intern_name(f->made.profile, GG_NAME_HEAP, "python.obj", &f->made.heap,
	                               &f->error) == 0);
	REQUIRE(gg_profile_intern_name(f->made.profile, GG_NAME_TYPE, type, &f->made.type,
	                               &f->error) == 0);
}

/* Returns the live bytes of a type in a row, or -1 if the row lacks the type. */
static double bytes_of_type(const struct judged *f, size_t row, const char *type)
{
	const struct gg_leak_row *leak = &f->leaks->rows[row];

	for (size_t i = 0; i < leak->type_count; i++)
		if (strcmp(f->model->types[leak->types[i].type], type) == 0)
			return leak->types[i].live_bytes;
	return -1;
}

TEST_WITH(judged, a_row_has_the_types_of_what_is_live_alone)
{
	const struct gg_leak_row *row;

	set_type(judged, "dict");
	add(judged, "main>leak", 30, 0, 100, 0);
	set_type(judged, "list");
	add(judged, "main>leak", 15, 0, 100, 0);
	add(judged, "main>table", 7, 0, 1, 0);
	set_type(judged, "gone");
	add(judged, "main>leak", 20, 0, 80, 1);
	set_type(judged, NULL);
	add(judged, "main>leak", 5, 0, 100, 0);
	REQUIRE(run(judged, NULL) == 0 && judged->leaks->row_count == 2);
	row = &judged->leaks->rows[0];
	CHECK_EQ_STR(name_of(judged, 0), "leak");
	REQUIRE(row->type_count == 3);
	CHECK(fabs(bytes_of_type(judged, 0, "dict") / (30 << 20) - 1) < 1e-6);
	CHECK(fabs(bytes_of_type(judged, 0, "list") / (15 << 20) - 1) < 1e-6);
	CHECK(fabs(bytes_of_type(judged, 0, "[no type]") / (5 << 20) - 1) < 1e-6);
	CHECK_EQ_DOUBLE(bytes_of_type(judged, 0, "gone"), -1);
	CHECK_EQ_STR(judged->model->types[row->types[0].type], "dict");
	CHECK_EQ_U64(row->types[0].sample_count, 30);
	CHECK(row->types[0].low_bytes <= row->types[0].live_bytes &&
	      row->types[0].high_bytes >= row->types[0].live_bytes);
	REQUIRE(judged->leaks->rows[1].type_count == 1);
	CHECK(fabs(bytes_of_type(judged, 1, "list") / (7 << 20) - 1) < 1e-6);
}

TEST_WITH(judged, at_a_moment_a_row_has_the_types_of_what_was_live_then)
{
	set_type(judged, "gone");
	add(judged, "main>leak", 20, 0, 40, 50);
	set_type(judged, "later");
	add(judged, "main>leak", 20, 60, 100, 0);
	REQUIRE(run_at(judged, NULL, 45 * SECOND) == 0 && judged->leaks->row_count == 1);
	CHECK(fabs(bytes_of_type(judged, 0, "gone") / (20 << 20) - 1) < 1e-6);
	CHECK_EQ_DOUBLE(bytes_of_type(judged, 0, "later"), -1);
}

TEST_WITH(judged, a_profile_without_types_has_rows_without)
{
	add_all_classes(judged);
	REQUIRE(run(judged, NULL) == 0 && judged->leaks->row_count == 4);
	CHECK(judged->leaks->rows[0].type_count == 0 && judged->leaks->rows[0].types == NULL);
}

/* As an interpreter does: half a second before its end nothing of that is left. */
static void add_given_back(struct judged *f, const char *stack, int count)
{
	uint32_t id = made_stack(&f->made, stack);

	for (int i = 0; i < count; i++)
		made_sample(&f->made, id, 1 << 20, 99 * SECOND * i / count,
		            99 * SECOND + SECOND / 2);
}

TEST(what_is_given_back_at_the_end_is_judged_at_a_moment_before)
{
	struct judged f;

	begin(&f);
	add_given_back(&f, "main>list", 50);
	add(&f, "main>request", 100, 0, 100, 2);
	CHECK(run_at(&f, NULL, 99 * SECOND) == 0 && f.leaks->row_count == 2);
	CHECK_EQ_I64(f.leaks->at_ns, 99 * SECOND);
	CHECK_EQ_STR(name_of(&f, 0), "list");
	CHECK(f.leaks->rows[0].class == GG_LEAK_GROWING && f.leaks->rows[0].sample_count == 50);
	CHECK(f.leaks->rows[0].oldest_ns == 99 * SECOND && f.leaks->rows[0].kept_share == 1);
	CHECK_EQ_U64(f.leaks->rows[1].class, GG_LEAK_YOUNG_ONLY);
	end(&f);
	begin(&f);
	add_given_back(&f, "main>list", 50);
	CHECK(run(&f, NULL) == 0 && f.leaks->row_count == 0 && f.leaks->at_ns == GG_TIME_NONE);
	end(&f);
}

TEST(a_moment_has_what_a_run_that_ended_then_has)
{
	const int64_t moment = 50 * SECOND - 1000;
	double live, old, p_value;
	struct judged f;

	begin(&f); /* its process and all others end before 50 s */
	f.made.process = made_process(&f.made, 101, 0, moment);
	add(&f, "main>leak", 40, 0, 50, 0);
	add(&f, "main>cache", 80, 0, 50, 0);
	CHECK(run(&f, NULL) == 0 && f.leaks->row_count == 2);
	live = f.leaks->live_bytes.estimate;
	old = f.leaks->old_bytes.estimate;
	p_value = f.leaks->rows[0].p_value;
	end(&f);

	begin(&f); /* the same, and then more, and the first half of it is freed */
	add(&f, "main>leak", 80, 0, 100, 0);
	add(&f, "main>cache", 160, 0, 100, 60);
	CHECK(run_at(&f, NULL, moment) == 0 && f.leaks->row_count == 2);
	CHECK_EQ_DOUBLE(f.leaks->live_bytes.estimate, live);
	CHECK_EQ_DOUBLE(f.leaks->old_bytes.estimate, old);
	CHECK(fabs(f.leaks->rows[0].p_value - p_value) < 1e-9);
	end(&f);
}

TEST_WITH(judged, a_moment_after_the_end_is_the_end)
{
	add_all_classes(judged);
	CHECK(run_at(judged, NULL, 1000 * SECOND) == 0 && judged->leaks->row_count == 4);
	CHECK_EQ_I64(judged->leaks->at_ns, GG_TIME_NONE);
}

TEST_WITH(judged, totals_are_those_of_the_rows)
{
	double bytes = 0, cohorts = 0;

	add_all_classes(judged);
	CHECK_EQ_I64(run(judged, NULL), 0);
	for (size_t i = 0; i < judged->leaks->row_count; i++) {
		bytes += judged->leaks->rows[i].live_bytes.estimate;
		for (int k = 0; k < GG_LEAK_COHORTS; k++)
			cohorts += judged->leaks->rows[i].cohorts[k];
	}
	CHECK(fabs(bytes / judged->leaks->live_bytes.estimate - 1) < 1e-9);
	CHECK(fabs(cohorts / bytes - 1) < 1e-9);
	/* 45 of the leak, the table, and two thirds of the cache are older than 10 s. */
	CHECK_MSG(fabs(judged->leaks->old_bytes.estimate / (1 << 20) - (46 + 20 + 21)) < 1.5, "%g",
	          judged->leaks->old_bytes.estimate / (1 << 20));
	CHECK(judged->leaks->has_history);
	CHECK(fabs(judged->leaks->unseen_bytes / (4096 * log(40)) - 1) < 1e-12);
}

TEST_WITH(judged, a_suppressed_stack_is_counted_apart)
{
	struct gg_suppressions suppressions;

	add_all_classes(judged);
	CHECK_EQ_I64(gg_suppressions_parse(&suppressions, "leak:nothing\n# known\nleak:^lea\n",
	                                   "text", &judged->error),
	             0);
	CHECK_EQ_I64(run(judged, &suppressions), 0);
	CHECK(judged->leaks->row_count == 3 &&
	      judged->leaks->class_row_count[GG_LEAK_GROWING] == 0);
	CHECK(judged->leaks->suppressed_count == 2 && judged->leaks->suppressed[0].row_count == 0);
	CHECK(judged->leaks->suppressed[1].row_count == 1 &&
	      judged->leaks->suppressed[1].sample_count == 50);
	CHECK(fabs(judged->leaks->suppressed[1].live_bytes / (50 << 20) - 1) < 1e-6);
	gg_suppressions_done(&suppressions);
}

TEST(a_caller_a_module_and_a_file_can_be_suppressed)
{
	static const char *const texts[] = { "leak:main", "leak:libx.so", "leak:x.c", "leak:arse" };

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		struct gg_suppressions suppressions;
		struct judged f;

		begin(&f);
		add(&f, "main>[libx.so]parse@x.c:12", 20, 0, 1, 0);
		CHECK_EQ_I64(gg_suppressions_parse(&suppressions, texts[i], "text", &f.error), 0);
		CHECK_EQ_I64(run(&f, &suppressions), 0);
		CHECK_MSG(f.leaks->row_count == 0 && f.leaks->suppressed[0].row_count == 1, "%s",
		          texts[i]);
		end(&f);
		gg_suppressions_done(&suppressions);
	}
}

TEST(patterns_match_as_those_of_the_leak_sanitizer)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{ "parse", "xml_parse_file", true },
		{ "parse", "pars", false },
		{ "^parse", "parse_file", true },
		{ "^parse", "xml_parse", false },
		{ "file$", "parse_file", true },
		{ "file$", "file_parse", false },
		{ "^parse$", "parse", true },
		{ "^parse$", "parse_file", false },
		{ "^parse$", "xparse", false },
		{ "a*c", "xabbcx", true },
		{ "a*c", "cba", false },
		{ "^a*c$", "abcabc", true },
		{ "^a*c$", "abcab", false },
		{ "a*b*c", "aXbYc", true },
		{ "a*b*c", "acb", false },
		{ "*", "", true },
		{ "*$", "abc", true },
		{ "ab*b$", "ab", false },
		{ "^*x$", "yyx", true },
		{ "abab$", "ababab", true },
	};

	for (size_t i = 0; i < GG_COUNT(cases); i++)
		CHECK_MSG(gg_suppression_matches(cases[i].pattern, cases[i].name) ==
		                  cases[i].matches,
		          "%s: %s", cases[i].pattern, cases[i].name);
}

TEST(what_is_no_suppression_is_refused_with_its_line)
{
	struct gg_suppressions suppressions = { 0 };
	struct gg_error error;

	CHECK_EQ_I64(gg_suppressions_parse(&suppressions, "leak:a\n\nrace:b\n", "FILE", &error),
	             -EINVAL);
	CHECK(strcmp(error.place, "FILE:3") == 0 && suppressions.patterns.count == 0);
	CHECK_EQ_I64(gg_suppressions_parse(&suppressions, "leak:", "FILE", &error), -EINVAL);
	CHECK_EQ_I64(gg_suppressions_parse(&suppressions, "", "FILE", &error), 0);
	CHECK_EQ_I64(gg_suppressions_parse(&suppressions, " leak: a b \r\n#x", "FILE", &error), 0);
	CHECK(suppressions.patterns.count == 1 &&
	      strcmp(suppressions.patterns.items[0], " a b") == 0);
	gg_suppressions_done(&suppressions);
	CHECK_EQ_I64(gg_suppressions_read(&suppressions, "/nonexistent", &error), -ENOENT);
}

TEST_WITH(judged, times_are_shares_of_the_life_of_the_process)
{
	uint32_t second;

	/* The same leak in a process that lives for the last 10 s only. */
	second = made_process(&judged->made, 101, 90 * SECOND, 100 * SECOND);
	judged->made.process = second;
	add(judged, "main>leak", 50, 90, 100, 0);
	add(judged, "main>table", 20, 90, 91, 0);
	CHECK(run(judged, NULL) == 0 && judged->leaks->row_count == 2);
	CHECK_EQ_U64(judged->leaks->rows[0].class, GG_LEAK_GROWING);
	CHECK_EQ_U64(judged->leaks->rows[1].class, GG_LEAK_NEVER_FREED);
	CHECK(judged->leaks->rows[0].cohorts[0] > 0);
}

/*
 * A file may have any number as a start.  No sum of times may overflow (UBSan), and the blocks
 * count.
 */
TEST(a_process_that_starts_at_the_end_of_time_has_leaks_all_the_same)
{
	static const int64_t starts[] = { INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1 };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct judged f;

		begin(&f);
		f.made.process = made_process(&f.made, 101, starts[i], INT64_MAX);
		add(&f, "main>leak", 20, 0, 100, 0);
		CHECK(run(&f, NULL) == 0 && f.leaks->row_count == 1);
		CHECK_EQ_DOUBLE(f.leaks->live_bytes.low, 20 << 20);
		end(&f);
	}
}

TEST_WITH(judged, a_block_of_two_processes_counts_once)
{
	uint32_t child, stack;

	child = made_process(&judged->made, 101, 50 * SECOND, 100 * SECOND);
	stack = made_stack(&judged->made, "main>table");
	for (int i = 0; i < 10; i++) {
		uint32_t parent = judged->made.process;
		uint64_t id = made_sample(&judged->made, stack, 1 << 20, i, 60 * SECOND);

		judged->made.process = child;
		made_inherited(&judged->made, stack, 1 << 20, 50 * SECOND, GG_TIME_NONE, id);
		judged->made.process = parent;
	}
	CHECK(run(judged, NULL) == 0 && judged->leaks->row_count == 1);
	CHECK_EQ_U64(judged->leaks->rows[0].sample_count, 10);
	CHECK_EQ_U64(judged->leaks->rows[0].class, GG_LEAK_NEVER_FREED);
	CHECK(judged->leaks->rows[0].oldest_ns > 99 * SECOND);
}

TEST_WITH(judged, an_empty_profile_has_no_leaks)
{
	CHECK(run(judged, NULL) == 0 && judged->leaks->row_count == 0);
	CHECK(judged->leaks->live_bytes.estimate == 0 && judged->leaks->live_bytes.high > 0);
}

static void collect(struct judged *f, int64_t at_s)
{
	const struct gg_profile_event event = { .time_ns = at_s * SECOND,
		                                .process = f->made.process,
		                                .kind = GG_PROFILE_FULL_COLLECTION };

	REQUIRE(gg_profile_add_event(f->made.profile, &event, &f->error) == 0);
}

static void use_heap(struct judged *f, const char *name)
{
	f->made.heap = 0;
	if (name != NULL)
		REQUIRE(gg_profile_intern_name(f->made.profile, GG_NAME_HEAP, name, &f->made.heap,
		                               &f->error) == 0);
}

/* Objects of Java, some of which died at the collection, and blocks of malloc beside them. */
static void add_java(struct judged *f)
{
	use_heap(f, "java");
	add(f, "main>kept", 50, 0, 60, 0);
	add(f, "main>passing", 50, 0, 59, 0);
	for (int i = 0; i < 40; i++) /* dead at 60 s, as the VM reports a little later */
		made_sample(&f->made, made_stack(&f->made, "main>dead"), 1 << 20, i * SECOND,
		            60 * SECOND + 1000000);
	add(f, "main>late", 30, 61, 99, 0);
	use_heap(f, NULL);
	add(f, "main>malloc", 100, 0, 100, 0);
}

TEST_WITH(judged, java_objects_count_if_they_survived_the_last_full_collection)
{
	add_java(judged);
	collect(judged, 20);
	collect(judged, 60);
	collect(judged, 40); /* the order of events says nothing */
	REQUIRE(run(judged, NULL) == 0);
	CHECK_EQ_U64(judged->leaks->row_count, 3); /* kept, passing, malloc */
	CHECK_EQ_U64(judged->leaks->sample_count, 200);
	for (size_t i = 0; i < judged->leaks->row_count; i++) {
		CHECK(strcmp(name_of(judged, i), "late") != 0 &&
		      strcmp(name_of(judged, i), "dead") != 0);
		/* The run of Java's heap ends at the collection, so growth until then is growth. */
		CHECK_EQ_I64(judged->leaks->rows[i].class, GG_LEAK_GROWING);
	}
	CHECK_EQ_U64(judged->leaks->collections.process_count, 1);
	CHECK_EQ_U64(judged->leaks->collections.collected_count, 1);
	CHECK_EQ_I64(judged->leaks->collections.first_ns, 60 * SECOND);
	CHECK_EQ_I64(judged->leaks->collections.last_ns, 60 * SECOND);
	CHECK_EQ_U64(judged->leaks->collections.younger_sample_count, 30);
	CHECK(judged->leaks->collections.younger_bytes == 30.0 * (1 << 20));
	CHECK(judged->leaks->collections.uncollected_bytes == 0);
}

TEST_WITH(judged, a_moment_takes_the_last_collection_before_it)
{
	add_java(judged);
	collect(judged, 30);
	collect(judged, 60);
	REQUIRE(run_at(judged, NULL, 50 * SECOND) == 0);
	CHECK_EQ_I64(judged->leaks->collections.last_ns, 30 * SECOND);
	CHECK(judged->leaks->collections.younger_sample_count > 0);
}

TEST_WITH(judged, java_objects_without_a_full_collection_all_count)
{
	add_java(judged);
	REQUIRE(run_at(judged, NULL, 0) == 0);
	CHECK_EQ_U64(judged->leaks->sample_count, 230);
	CHECK_EQ_U64(judged->leaks->collections.process_count, 1);
	CHECK_EQ_U64(judged->leaks->collections.collected_count, 0);
	CHECK(judged->leaks->collections.uncollected_bytes == 130.0 * (1 << 20));
}

TEST_WITH(judged, other_heaps_have_no_collections)
{
	use_heap(judged, "javascript");
	add(judged, "main>other", 50, 0, 100, 0);
	collect(judged, 10);
	REQUIRE(run_at(judged, NULL, 0) == 0);
	CHECK_EQ_U64(judged->leaks->sample_count, 50);
	CHECK_EQ_U64(judged->leaks->collections.process_count, 0);
}

/*
 * A check fails by the low end of what is old.  If the truth is the limit, it may fail in 2.5 % of
 * runs, plus 3 sigma of their number.
 */
TEST(a_check_at_the_truth_fails_in_one_run_of_forty_at_most)
{
	enum { RUNS = 400 };
	/* 8000 of 64 bytes, 20 of 8 KiB, and 8000 that are young. */
	const double truth = 8000 * 64 + 20 * 8192;
	int above = 0;

	for (int i = 0; i < RUNS; i++) {
		struct judged f = { 0 };

		made_begin(&f.made, NULL, 4096, (uint64_t)i + 1);
		f.made.process = made_process(&f.made, 100, 0, 100 * SECOND);
		for (int k = 0; k < 8; k++)
			made_allocate(&f.made, made_stack(&f.made, k < 4 ? "main>a" : "main>b"), 64,
			              1000, k * 10 * SECOND, GG_TIME_NONE);
		made_allocate(&f.made, made_stack(&f.made, "main>b"), 8192, 20, SECOND,
		              GG_TIME_NONE);
		made_allocate(&f.made, made_stack(&f.made, "main>b"), 64, 8000, 95 * SECOND,
		              GG_TIME_NONE);
		if (!CHECK_EQ_I64(run(&f, NULL), 0))
			return;
		above += f.leaks->old_bytes.low > truth;
		end(&f);
	}
	CHECK_MSG(above <= 0.025 * RUNS + 3 * sqrt(0.025 * 0.975 * RUNS), "%d of %d", above, RUNS);
	CHECK_MSG(above >= 1, "never: the bound is too wide");
}
