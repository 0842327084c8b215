/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query_heirs - blocks that forked processes without a sample of them may hold or have left.
 *
 * A parent frees a block of 1000 bytes after a fork, and another one of 100 bytes before it.  The
 * child has no region, so only its counter tells that it held something.  Every allocation is a
 * sample, so the ends of intervals are exact.
 */
#include <inttypes.h>
#include <stdio.h>

#include "format/merge/merge.h"
#include "made_profile.h"
#include "profile/sql_query.h"
#include "query/query.h"
#include "scratch.h"
#include "stats/estimate/interval.h"
#include "test.h"

enum { PARENT_PID = 100, CHILD_PID = 101 };
enum { FORK_NS = 50000000, FREED_NS = 60000000, CHILD_END_NS = 70000000, END_NS = 100000000 };

static struct gg_error error;

struct family {
	struct made_profile made;
	uint32_t parent, child;
};

/* A parent that lives until the end, and a child of it. */
static void begin(struct family *family, int64_t child_end_ns)
{
	struct gg_profile_process child = {
		.pid = CHILD_PID, .start_ns = FORK_NS, .end_ns = child_end_ns, .interval_bytes = 1
	};

	made_begin(&family->made, NULL, 1, 1);
	REQUIRE(gg_profile_update_process(family->made.profile, family->made.process,
	                                  &(struct gg_profile_process){ .pid = 1 }, &error) == 0);
	family->parent = made_process(&family->made, PARENT_PID, 0, END_NS);
	child.parent = family->parent;
	REQUIRE(gg_profile_add_process(family->made.profile, &child, &family->child, &error) == 0);
}

static void count(struct family *family, const char *name, uint32_t process, uint64_t value)
{
	REQUIRE(gg_profile_put_counter(family->made.profile, process, name, value, &error) == 0);
}

static struct gg_model *load(struct family *family)
{
	struct gg_model *model;

	REQUIRE(gg_model_load(&model, &family->made.profile, 1, NULL, &error) == 0);
	gg_profile_close(family->made.profile);
	return model;
}

static void add_sum(struct family *family, struct gg_profile_aggregate aggregate)
{
	aggregate.process = family->parent;
	aggregate.stack = made_stack(&family->made, "main");
	aggregate.interval_bytes = 1;
	aggregate.sums = (struct gg_sums){ .sample_count = 1,
		                           .size_bytes = 1000,
		                           .count = gg_fixed_from(1),
		                           .bytes = gg_fixed_from(1000) };
	REQUIRE(gg_profile_add_aggregate(family->made.profile, &aggregate, &error) == 0);
}

static struct gg_model *merge(struct family *family)
{
	static const struct gg_merge_options options;
	struct gg_merge *merge;
	struct gg_profile *out;
	struct gg_model *model;

	REQUIRE(gg_profile_create_whole(&out, scratch_path("out.geiger"), &error) == 0);
	REQUIRE(gg_merge_new(&merge, out, &options, &error) == 0);
	REQUIRE(gg_merge_add(merge, family->made.profile, &error) == 0);
	REQUIRE(gg_merge_finish(merge, &error) == 0 && gg_profile_finish(out, &error) == 0);
	gg_merge_free(merge);
	REQUIRE(gg_model_load(&model, &out, 1, NULL, &error) == 0);
	gg_profile_close(out);
	gg_profile_close(family->made.profile);
	remove(scratch_path("out.geiger"));
	return model;
}

static struct gg_interval interval(const struct gg_model *model, enum gg_metric metric,
                                   int64_t from_ns, int64_t to_ns)
{
	struct gg_query query;
	struct gg_sum_up sum;

	gg_query_init(&query);
	query.metric = metric;
	query.from_ns = from_ns;
	query.to_ns = to_ns;
	REQUIRE(gg_query_sum(model, &query, &sum, &error) == 0);
	return gg_interval_of(&sum.total, GG_BYTES, 0.95, false);
}

static void check(const struct gg_model *model, enum gg_metric metric, double low, double high)
{
	struct gg_interval found = interval(model, metric, INT64_MIN, GG_TIME_NONE);

	CHECK_EQ_DOUBLE(found.low, low);
	CHECK_EQ_DOUBLE(found.high, high);
}

static void check_left(const struct gg_model *model, int64_t from_ns, int64_t to_ns, double most)
{
	struct gg_interval left = interval(model, GG_METRIC_LEFT, from_ns, to_ns);

	CHECK_EQ_DOUBLE(left.low, 0);
	CHECK_EQ_DOUBLE(left.high, most);
}

TEST(an_idle_child_that_has_ended_may_have_left_what_its_parent_freed_later)
{
	struct family family;
	struct gg_model *model;
	uint32_t stack;

	begin(&family, CHILD_END_NS);
	stack = made_stack(&family.made, "main>load");
	family.made.process = family.parent;
	made_sample(&family.made, stack, 1000, 10, FREED_NS);
	made_sample(&family.made, stack, 100, 10, 20);
	/* It freed this one after the child's end, which left it all the same. */
	made_sample(&family.made, stack, 10, 10, CHILD_END_NS + 1);
	count(&family, GG_PROFILE_COUNTER_IDLE, family.child, 1);
	model = load(&family);
	check_left(model, INT64_MIN, GG_TIME_NONE, 1010);
	check_left(model, FREED_NS, CHILD_END_NS, 1010);
	check_left(model, CHILD_END_NS, GG_TIME_NONE, 0);
	check_left(model, INT64_MIN, FORK_NS, 0);
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_LIVE, INT64_MIN, FREED_NS).high, 1010);
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_LIVE, INT64_MIN, GG_TIME_NONE).high, 0);
	gg_model_free(model);
}

TEST(an_heir_that_freed_what_it_inherited_left_nothing_of_it)
{
	struct family family;
	struct gg_model *model;

	begin(&family, CHILD_END_NS);
	family.made.process = family.parent;
	made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10, FREED_NS);
	count(&family, "samples inherited", family.child, 1);
	model = load(&family);
	check_left(model, INT64_MIN, GG_TIME_NONE, 0);
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_LIVE, INT64_MIN, FREED_NS).high, 1000);
	gg_model_free(model);
}

/* Nobody knows which of its inherited blocks such a child freed. */
TEST(an_heir_with_exact_counts_may_have_left_what_it_inherited)
{
	for (int is_merged = 0; is_merged < 2; is_merged++) {
		struct family family;
		struct gg_model *model;
		struct gg_profile_process child = { .pid = CHILD_PID,
			                            .start_ns = FORK_NS,
			                            .end_ns = CHILD_END_NS,
			                            .interval_bytes = 1,
			                            .scheme = GG_SCHEME_EXACT };

		begin(&family, CHILD_END_NS);
		child.parent = family.parent;
		REQUIRE(gg_profile_update_process(family.made.profile, family.child, &child,
		                                  &error) == 0);
		add_sum(&family, (struct gg_profile_aggregate){ .from_ns = 10,
		                                                .to_ns = FREED_NS,
		                                                .bucket_ns = 1,
		                                                .is_exact = true });
		count(&family, "samples inherited", family.child, 1);
		model = is_merged ? merge(&family) : load(&family);
		check_left(model, INT64_MIN, GG_TIME_NONE, 1000);
		if (!is_merged)
			check_left(model, CHILD_END_NS, GG_TIME_NONE, 0);
		gg_model_free(model);
	}
}

/* Nobody knows when such a child ended. */
TEST(a_child_that_nobody_noted_may_have_left_blocks_in_any_window)
{
	struct family family;
	struct gg_model *model;

	begin(&family, CHILD_END_NS);
	family.made.process = family.parent;
	made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10, FREED_NS);
	count(&family, "forked processes that were not noted", family.parent, 1);
	model = load(&family);
	check_left(model, 20, 30, 1000);
	check_left(model, INT64_MIN, GG_TIME_NONE, 1000);
	gg_model_free(model);
}

/* --- v_timeline --- */

/* The least or the most that v_timeline has as possible after a time. */
static double possible(struct family *family, const char *which, int64_t after_ns)
{
	struct gg_sql_query *query;
	char text[200];
	double value;

	snprintf(text, sizeof(text),
	         "select %s(possible_bytes) from v_timeline where time_ns > %" PRId64, which,
	         after_ns);
	REQUIRE(gg_sql_query_new(&query, family->made.profile, text, &error) == 0);
	REQUIRE(gg_sql_query_next(query, &error) > 0);
	value = gg_sql_query_number(query, 0);
	gg_sql_query_free(query);
	return value;
}

TEST(an_heir_may_hold_what_was_compacted)
{
	for (int is_lost = 0; is_lost < 2; is_lost++) {
		struct family family;
		struct gg_model *model;

		begin(&family, END_NS);
		add_sum(&family, (struct gg_profile_aggregate){ .from_ns = 0,
		                                                .to_ns = FREED_NS,
		                                                .bucket_ns = 10000000,
		                                                .has_kind = true,
		                                                .lost = is_lost });
		count(&family, "forked processes that were not noted", family.parent, 1);
		CHECK_EQ_DOUBLE(possible(&family, "max", FREED_NS + 10000000), 1000);
		model = load(&family);
		check(model, GG_METRIC_LIVE, 0, 1000);
		check_left(model, INT64_MIN, GG_TIME_NONE, 1000);
		CHECK_EQ_DOUBLE(interval(model, GG_METRIC_LIVE, INT64_MIN, FREED_NS + 1).high,
		                1000);
		gg_model_free(model);
	}
}

/* Everything that the child inherited was known until it was compacted. */
TEST(compacted_blocks_of_a_known_holder_have_no_unseen_heirs)
{
	static const struct gg_compaction_rule rule = { .keep_ns = 1,
		                                        .bucket_ns = 1000,
		                                        .age_buckets = 4,
		                                        .row_max = 100,
		                                        .batch_count = 100 };

	for (uint64_t inherited = 1; inherited <= 2; inherited++) {
		struct family family;
		struct gg_model *model;
		uint64_t block;

		begin(&family, END_NS);
		family.made.process = family.parent;
		block = made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10,
		                    FREED_NS);
		family.made.process = family.child;
		made_inherited(&family.made, made_stack(&family.made, "main>load"), 1000, 10,
		               FREED_NS + 1, block);
		/* Blocks of its own say nothing about those that it inherited. */
		made_sample(&family.made, made_stack(&family.made, "main>load"), 10, FREED_NS,
		            FREED_NS + 1);
		count(&family, "samples inherited", family.child, inherited);
		while (gg_profile_compact(family.made.profile, &rule, END_NS, &error) > 0)
			;
		model = load(&family);
		CHECK_EQ_U64(model->sample_count, 0);
		check(model, GG_METRIC_LIVE, 0, inherited == 1 ? 0 : 1000);
		gg_model_free(model);
	}
}

/* The child freed the block, which a child of its own may hold. */
TEST(the_view_has_heirs_of_each_holder)
{
	struct family family;
	uint64_t block;

	begin(&family, CHILD_END_NS);
	family.made.process = family.parent;
	block = made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10,
	                    FREED_NS);
	family.made.process = family.child;
	made_inherited(&family.made, made_stack(&family.made, "main>load"), 1000, 10, FREED_NS,
	               block);
	count(&family, "forked processes that were not noted", family.child, 1);
	CHECK_EQ_DOUBLE(possible(&family, "min", FREED_NS), 1000);
	gg_profile_close(family.made.profile);
}

/* --- merged profiles --- */

TEST(a_merge_has_what_an_heir_that_lives_on_may_hold)
{
	struct family family;
	struct gg_model *model;

	begin(&family, END_NS);
	family.made.process = family.parent;
	made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10, FREED_NS);
	count(&family, GG_PROFILE_COUNTER_IDLE, family.child, 1);
	model = merge(&family);
	check(model, GG_METRIC_LIVE, 0, 1000);
	check(model, GG_METRIC_ALLOCATED, 1000, 1000);
	gg_model_free(model);
}

TEST(a_merge_has_what_an_heir_that_has_ended_may_have_left)
{
	struct family family;
	struct gg_model *model;

	begin(&family, CHILD_END_NS);
	family.made.process = family.parent;
	made_sample(&family.made, made_stack(&family.made, "main>load"), 1000, 10, FREED_NS);
	count(&family, GG_PROFILE_COUNTER_IDLE, family.child, 1);
	model = merge(&family);
	check(model, GG_METRIC_LIVE, 0, 0);
	check(model, GG_METRIC_LEFT, 0, 1000);
	check(model, GG_METRIC_FREED, 1000, 1000);
	gg_model_free(model);
}

/* The sample of the heir itself tells that it freed the block. */
TEST(a_merge_knows_which_blocks_an_heir_is_known_to_have_held)
{
	struct family family;
	struct gg_model *model;
	uint32_t stack;
	uint64_t block;

	begin(&family, END_NS);
	stack = made_stack(&family.made, "main>load");
	family.made.process = family.parent;
	block = made_sample(&family.made, stack, 1000, 10, FREED_NS);
	made_sample(&family.made, stack, 100, 10, FREED_NS);
	family.made.process = family.child;
	made_inherited(&family.made, stack, 1000, 10, FREED_NS + 1, block);
	count(&family, "samples inherited", family.child, 2);
	model = merge(&family);
	check(model, GG_METRIC_LIVE, 0, 100);
	gg_model_free(model);
}

/*
 * The parent's sample is not in the profile, so the child's stands for the block.  Another heir of
 * the parent may hold the block until the end.
 */
TEST(an_orphan_may_live_on_in_other_heirs_of_the_parent)
{
	for (int is_merged = 0; is_merged < 2; is_merged++) {
		struct family family;
		struct gg_model *model;
		uint32_t heir;

		begin(&family, CHILD_END_NS);
		family.made.process = family.child;
		made_inherited(&family.made, made_stack(&family.made, "main>load"), 1000, 10,
		               FREED_NS, 1);
		REQUIRE(gg_profile_add_process(
				family.made.profile,
				&(struct gg_profile_process){ .pid = CHILD_PID + 1,
		                                              .parent = family.parent,
		                                              .start_ns = FORK_NS,
		                                              .end_ns = END_NS,
		                                              .interval_bytes = 1 },
				&heir, &error) == 0);
		count(&family, GG_PROFILE_COUNTER_IDLE, heir, 1);
		CHECK_EQ_DOUBLE(possible(&family, "min", CHILD_END_NS), 1000);
		model = is_merged ? merge(&family) : load(&family);
		check(model, GG_METRIC_LIVE, 0, 1000);
		gg_model_free(model);
	}
}

TEST(an_orphan_that_was_freed_is_not_allocated_in_a_merge)
{
	for (int is_merged = 0; is_merged < 2; is_merged++) {
		struct family family;
		struct gg_model *model;

		begin(&family, END_NS);
		family.made.process = family.child;
		made_inherited(&family.made, made_stack(&family.made, "main>load"), 1000, 10,
		               FREED_NS, 1);
		made_sample(&family.made, made_stack(&family.made, "main>load"), 10, FREED_NS,
		            GG_TIME_NONE);
		model = is_merged ? merge(&family) : load(&family);
		check(model, GG_METRIC_ALLOCATED, 10, 10);
		check(model, GG_METRIC_FREED, 0, 0);
		gg_model_free(model);
	}
}

/* The child has another sampling interval than its parent, so a merge has another group for it. */
TEST(a_block_that_processes_of_two_groups_held_counts_once)
{
	struct family family;
	struct gg_model *model;
	uint64_t block;
	uint32_t stack;

	begin(&family, END_NS);
	REQUIRE(gg_profile_update_process(family.made.profile, family.child,
	                                  &(struct gg_profile_process){ .pid = CHILD_PID,
	                                                                .parent = family.parent,
	                                                                .start_ns = FORK_NS,
	                                                                .end_ns = END_NS,
	                                                                .interval_bytes = 2 },
	                                  &error) == 0);
	stack = made_stack(&family.made, "main>load");
	family.made.process = family.parent;
	block = made_sample(&family.made, stack, 1000, 10, FREED_NS);
	family.made.process = family.child;
	made_inherited(&family.made, stack, 1000, 10, GG_TIME_NONE, block);
	model = merge(&family);
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_LIVE, INT64_MIN, GG_TIME_NONE).low, 1000);
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_ALLOCATED, INT64_MIN, GG_TIME_NONE).low, 1000);
	/* The parent freed it, which allocated it. */
	CHECK_EQ_DOUBLE(interval(model, GG_METRIC_FREED, INT64_MIN, GG_TIME_NONE).low, 1000);
	gg_model_free(model);
}

/* Exact counts of a process whose table was full have frees no more. */
TEST(a_merge_doubts_exact_blocks_whose_frees_were_lost)
{
	struct family family;
	struct gg_model *model;

	begin(&family, END_NS);
	add_sum(&family, (struct gg_profile_aggregate){
				 .from_ns = 10, .to_ns = GG_TIME_NONE, .is_exact = true });
	count(&family, GG_PROFILE_COUNTER_EXACT_STOPPED, family.parent, 20);
	model = merge(&family);
	check(model, GG_METRIC_LIVE, 0, 1000);
	check(model, GG_METRIC_LEFT, 1000, 1000);
	gg_model_free(model);
}

TEST(a_merge_knows_that_senders_lack_objects)
{
	struct family family;
	struct gg_model *model;

	begin(&family, END_NS);
	count(&family, GG_PROFILE_LACKING_SENDERS, family.parent, 1);
	model = merge(&family);
	CHECK(gg_model_is_incomplete(model, 0, INT64_MIN, GG_TIME_NONE));
	gg_model_free(model);
}
