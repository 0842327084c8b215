/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_diff - tests differences from end to end.
 *
 * Programs are sampled into profiles, which are read back, grouped and compared.
 */
#include "query/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"
#include "stat.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

/* One side: a profile, its model and the answer to the query. */
struct side {
	struct made_profile made;
	struct gg_model *model;
	struct gg_query_result *result;
};

static void side_begin(struct side *side, double interval, uint64_t seed)
{
	*side = (struct side){ 0 };
	made_begin(&side->made, NULL, interval, seed);
	side->made.process = made_process(&side->made, 100, 0, 100 * SECOND);
}

static void side_load(struct side *side)
{
	struct gg_error error;

	if (gg_model_load(&side->model, &side->made.profile, 1, NULL, &error) < 0)
		abort();
}

static void query_both(struct side *a, struct side *b, enum gg_grouping by, bool by_total)
{
	struct gg_query query;
	struct gg_error error;

	gg_query_init(&query);
	query.by = by;
	query.sort_by_total = by_total;
	side_load(a);
	side_load(b);
	if (gg_diff_query_both(a->model, b->model, &query, &a->result, &b->result, &error) < 0)
		abort();
}

static void side_end(struct side *side)
{
	gg_query_result_free(side->result);
	gg_model_free(side->model);
	gg_profile_close(side->made.profile);
}

static struct gg_diff *compare(struct side *a, struct side *b, enum gg_grouping by, bool by_total,
                               double scale)
{
	const struct gg_diff_query query = { .scale = scale,
		                             .confidence = 0.95,
		                             .false_discovery_rate = 0.05 };
	struct gg_diff *diff = NULL;
	struct gg_error error;

	query_both(a, b, by, by_total);
	if (gg_diff_run(a->model, a->result, b->model, b->result, &query, &diff, &error) < 0)
		abort();
	return diff;
}

static const struct gg_diff_row *row_called(const struct gg_diff *diff, const char *label)
{
	for (size_t i = 0; i < diff->row_count; i++)
		if (strcmp(diff->rows[i].label, label) == 0)
			return &diff->rows[i];
	return NULL;
}

/* Large blocks: samples for certain. */
static void add(struct side *side, const char *stack, int count)
{
	uint32_t id = made_stack(&side->made, stack);

	for (int i = 0; i < count; i++)
		made_sample(&side->made, id, 1 << 20, SECOND, GG_TIME_NONE);
}

TEST(rows_are_matched_by_name_where_numbers_differ)
{
	const struct gg_diff_row *row;
	struct gg_diff *diff;
	struct side a, b;

	side_begin(&a, 4096, 1);
	side_begin(&b, 4096, 2);
	add(&a, "main>load@x.c:10>parse@x.c:20", 5);
	add(&a, "main>gone", 3);
	add(&b, "main>new", 4); /* numbers shift */
	add(&b, "main>load@x.c:11>parse@x.c:22", 9);
	diff = compare(&a, &b, GG_BY_FUNCTION, false, 1);
	CHECK_EQ_U64(diff->row_count, 3);
	CHECK_EQ_U64(diff->significant_count, 3);
	CHECK_EQ_U64(diff->grown_count, 2);
	row = row_called(diff, "parse (made)");
	if (CHECK(row != NULL)) {
		CHECK_EQ_U64(row->before.sample_count, 5);
		CHECK_EQ_U64(row->after.sample_count, 9);
		CHECK(fabs(row->difference.value / (4 << 20) - 1) < 1e-6);
		CHECK(row->difference.low > 0 && row->is_significant);
	}
	row = row_called(diff, "gone (made)");
	CHECK(row != NULL && row->after.sample_count == 0 && row->difference.high < 0);
	row = row_called(diff, "new (made)");
	CHECK(row != NULL && row->before.sample_count == 0 && row->difference.low > 0);
	CHECK(fabs(diff->total.difference.value / (5 << 20) - 1) < 1e-6);
	gg_diff_free(diff);
	side_end(&a);
	side_end(&b);
}

TEST(stacks_of_the_same_functions_are_one_row)
{
	struct gg_diff *diff;
	struct side a, b;

	side_begin(&a, 4096, 1);
	side_begin(&b, 4096, 2);
	add(&a, "main@x.c:1>load@x.c:10", 2);
	add(&a, "main@x.c:1>load@x.c:12", 3);
	add(&b, "main@x.c:1>load@x.c:10", 5);
	diff = compare(&a, &b, GG_BY_STACK, false, 1);
	CHECK(diff->row_count == 1 && strcmp(diff->rows[0].label, "main;load") == 0);
	CHECK(diff->rows[0].before.sample_count == 5 && diff->rows[0].after.sample_count == 5);
	CHECK(diff->rows[0].difference.p_value == 1 && diff->significant_count == 0);
	gg_diff_free(diff);
	side_end(&a);
	side_end(&b);
}

TEST(a_scale_is_for_what_was_before)
{
	struct gg_diff *diff;
	struct side a, b;

	side_begin(&a, 4096, 1);
	side_begin(&b, 4096, 2);
	add(&a, "main>load", 10);
	add(&b, "main>load", 20);
	diff = compare(&a, &b, GG_BY_FUNCTION, true, 2);
	CHECK_EQ_U64(diff->row_count, 2);
	CHECK_EQ_U64(diff->significant_count, 0);
	CHECK_EQ_DOUBLE(diff->total.difference.value, 0);
	CHECK(!diff->total.is_significant);
	gg_diff_free(diff);
	side_end(&a);
	side_end(&b);
}

TEST(profiles_without_samples_do_not_differ)
{
	struct gg_diff *diff;
	struct side a, b;

	side_begin(&a, 4096, 1);
	side_begin(&b, 4096, 2);
	diff = compare(&a, &b, GG_BY_FUNCTION, false, 1);
	CHECK_EQ_U64(diff->row_count, 0);
	CHECK_EQ_DOUBLE(diff->total.difference.p_value, 1);
	gg_diff_free(diff);
	side_end(&a);
	side_end(&b);
}

/*
 * A program of 300 stacks with 0.5 to 20 samples each, 64-byte and 8 KiB blocks; the second profile
 * is of the same program, or of one in which 10 stacks hold five times as much.
 */
enum { STACKS = 300, GREW = 10 };

static void record(struct side *side, double interval, uint64_t seed, bool grown)
{
	side_begin(side, interval, seed);
	for (int i = 0; i < STACKS; i++) {
		uint64_t size_bytes = i % 3 == 0 ? 8192 : 64;
		uint64_t bytes = 4096 * (uint64_t)(1 + i % 40) / 2;
		char stack[64];

		if (grown && i < GREW)
			bytes = 4096 * 60;
		snprintf(stack, sizeof(stack), "main>part%d>allocate%d", i % 17, i);
		made_allocate(&side->made, made_stack(&side->made, stack), size_bytes,
		              1 + bytes / size_bytes, SECOND, GG_TIME_NONE);
	}
}

static bool really_grew(const struct gg_diff_row *row)
{
	int number = -1;

	return sscanf(row->label, "allocate%d", &number) == 1 && number < GREW;
}

TEST(of_the_rows_shown_5_percent_are_false_at_most)
{
	enum { REPEATS = 60 };
	struct stat_moments false_share = { 0 };
	uint64_t found = 0;

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		size_t wrong = 0;
		struct gg_diff *diff;
		struct side a, b;

		/* Every other pair at unequal intervals. */
		record(&a, 4096, (uint64_t)repeat * 2 + 1, false);
		record(&b, repeat % 2 == 0 ? 4096 : 1024, (uint64_t)repeat * 2 + 2, true);
		diff = compare(&a, &b, GG_BY_FUNCTION, false, 1);
		for (size_t i = 0; i < diff->significant_count; i++) {
			wrong += !really_grew(&diff->rows[i]);
			found += really_grew(&diff->rows[i]);
		}
		stat_add(&false_share, diff->significant_count > 0
		                               ? (double)wrong / (double)diff->significant_count
		                               : 0);
		gg_diff_free(diff);
		side_end(&a);
		side_end(&b);
	}
	CHECK_MSG(false_share.mean <= 0.05 + 3 * stat_error_of_mean(&false_share), "%g",
	          false_share.mean);
	CHECK_MSG(found >= 0.95 * REPEATS * GREW, "%ju of %d", (uintmax_t)found, REPEATS * GREW);
}

TEST(significant_rows_alone_are_those_of_a_whole_diff)
{
	struct gg_diff_query query = { .scale = 1.5,
		                       .confidence = 0.9,
		                       .false_discovery_rate = 0.05 };
	struct gg_diff *whole, *part;
	struct gg_error error;
	struct side a, b;

	record(&a, 4096, 3, false);
	record(&b, 1024, 4, true);
	query_both(&a, &b, GG_BY_STACK, false);
	REQUIRE(gg_diff_run(a.model, a.result, b.model, b.result, &query, &whole, &error) == 0);
	query.only_significant = true;
	REQUIRE(gg_diff_run(a.model, a.result, b.model, b.result, &query, &part, &error) == 0);
	CHECK(whole->significant_count >= GREW / 2 && whole->row_count > STACKS / 2);
	CHECK_EQ_U64(part->row_count, whole->row_count);
	CHECK_EQ_U64(part->significant_count, whole->significant_count);
	CHECK_EQ_U64(part->grown_count, whole->grown_count);
	for (size_t i = 0; i < part->row_count; i++) {
		const struct gg_diff_row *row = &part->rows[i], *same = &whole->rows[i];

		CHECK_EQ_STR(row->label, same->label);
		CHECK_EQ_DOUBLE(row->difference.value, same->difference.value);
		if (i >= part->significant_count)
			continue;
		CHECK_EQ_DOUBLE(row->difference.low, same->difference.low);
		CHECK_EQ_DOUBLE(row->difference.high, same->difference.high);
		CHECK_EQ_DOUBLE(row->q_value, same->q_value);
	}
	gg_diff_free(whole);
	gg_diff_free(part);
	side_end(&a);
	side_end(&b);
}

/* Names of other languages may have semicolons, which also join the names of a label. */
TEST(stacks_are_one_row_exactly_if_their_labels_are_equal)
{
	struct gg_diff *diff;
	char stack[64];
	struct side a, b;

	side_begin(&a, 4096, 1);
	side_begin(&b, 4096, 2);
	add(&a, "main>Lfoo;bar>run", 2);
	add(&b, "main>Lfoo>bar>run", 3); /* the label is main;Lfoo;bar;run as well */
	add(&b, "main>Lfoo>run", 4);
	for (int i = 0; i < 40; i++) { /* more callees than a list holds */
		snprintf(stack, sizeof(stack), "main>callee%d", i);
		add(&a, stack, 1);
		add(&b, stack, 2);
	}
	diff = compare(&a, &b, GG_BY_STACK, false, 1);
	CHECK_EQ_U64(diff->row_count, 42);
	for (size_t i = 0; i < diff->row_count; i++) {
		const struct gg_diff_row *row = &diff->rows[i];

		if (strcmp(row->label, "main;Lfoo;bar;run") == 0)
			CHECK(row->before.sample_count == 2 && row->after.sample_count == 3);
		else if (strcmp(row->label, "main;Lfoo;run") == 0)
			CHECK(row->before.sample_count == 0 && row->after.sample_count == 4);
		else
			CHECK(row->before.sample_count == 1 && row->after.sample_count == 2);
	}
	gg_diff_free(diff);
	side_end(&a);
	side_end(&b);
}

TEST(when_nothing_changed_a_row_is_shown_in_5_percent_of_pairs_at_most)
{
	enum { REPEATS = 100 };
	int alarms = 0, total_alarms = 0;

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		struct gg_diff *diff;
		struct side a, b;

		record(&a, 4096, (uint64_t)repeat * 2 + 1001, false);
		record(&b, repeat % 2 == 0 ? 4096 : 1024, (uint64_t)repeat * 2 + 1002, false);
		diff = compare(&a, &b, GG_BY_FUNCTION, false, 1);
		alarms += diff->significant_count > 0;
		total_alarms += diff->total.is_significant;
		gg_diff_free(diff);
		side_end(&a);
		side_end(&b);
	}
	/* 5 %, plus 3 sigma of 100 pairs. */
	CHECK_MSG(alarms <= 11, "%d of %d", alarms, REPEATS);
	CHECK_MSG(total_alarms <= 11, "%d of %d", total_alarms, REPEATS);
}

TEST(a_query_that_fails_on_a_side_reports_that_error_and_leaves_nothing)
{
	struct gg_error error, expected;
	struct gg_query query;
	struct side a, b;

	record(&a, 4096, 1, false);
	record(&b, 4096, 2, false);
	made_process(&b.made, 200, 0, 100 * SECOND);
	side_load(&a);
	side_load(&b);
	a.result = b.result = NULL;
	gg_query_init(&query);
	query.pid = 200; /* only b has that process */
	CHECK_EQ_I64(gg_query_rows(a.model, &query, &a.result, &expected), -EINVAL);
	CHECK_EQ_I64(gg_diff_query_both(a.model, b.model, &query, &a.result, &b.result, &error),
	             -EINVAL);
	CHECK_EQ_STR(error.message, expected.message);
	CHECK_EQ_I64(gg_diff_query_both(b.model, a.model, &query, &b.result, &a.result, NULL),
	             -EINVAL);
	CHECK(a.result == NULL && b.result == NULL);
	side_end(&a);
	side_end(&b);
}
