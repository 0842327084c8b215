/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_merge_parts - shows what the parts of a merge do by themselves: rows add up and are
 * taken back by key, and processes with equal labels form a group.
 */
#include "format/merge/merge_groups.h"
#include "format/merge/merge_rows.h"
#include "made_profile.h"
#include "test.h"

static struct gg_error error;

/* --- rows ----------------------------------------------------------------------------------- */

struct written {
	size_t count;
	struct gg_profile_aggregate last;
	double bytes;
};

static int take_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct written *written = context;

	written->count++;
	written->last = *aggregate;
	written->bytes += gg_fixed_value(aggregate->sums.bytes);
	return 0;
}

/* An exact sum of one allocation. */
static struct gg_merge_part part_of(double bytes, uint32_t size_class)
{
	return (struct gg_merge_part){
		.sum = { .samples = 1, .size = bytes, .count = 1, .bytes = bytes },
		.size_class = size_class,
		.interval_bytes = bytes,
	};
}

TEST(rows_add_up_by_key_and_keep_the_size_class_that_all_parts_have)
{
	struct made_profile made;
	struct gg_merge_rows rows = { 0 };
	struct gg_merge_part small = part_of(64, 6), large = part_of(1000, 10);
	struct gg_merge_key freed = { .fate = GG_MERGE_FREED }, live = { .fate = GG_MERGE_LIVE };
	struct written written = { 0 };

	made_begin(&made, NULL, 1, 1);
	freed.group = live.group = made.process;
	freed.stack = live.stack = made_stack(&made, "main>load");
	rows.out = made.profile;
	CHECK_EQ_I64(gg_merge_rows_add(&rows, &live, &small, &error), 0);
	CHECK_EQ_I64(gg_merge_rows_add(&rows, &live, &small, &error), 0);
	REQUIRE(rows.rows.count == 1);
	CHECK_EQ_U64(rows.rows.items[0].part.size_class, 6);
	CHECK_EQ_I64(gg_merge_rows_add(&rows, &live, &large, &error), 0);
	CHECK_EQ_U64(rows.rows.items[0].part.size_class, 255); /* mixed */
	CHECK_EQ_DOUBLE(rows.rows.items[0].part.interval_bytes, 1000);
	CHECK_EQ_I64(gg_merge_rows_add(&rows, &freed, &small, &error), 0);
	CHECK_EQ_U64(rows.rows.count, 2);

	CHECK_EQ_I64(gg_merge_rows_write(&rows, &error), 0);
	CHECK_EQ_U64(rows.rows.count, 0);
	CHECK_EQ_I64(gg_profile_each_aggregate(made.profile, take_aggregate, &written, &error), 0);
	CHECK_EQ_U64(written.count, 2);
	CHECK_EQ_DOUBLE(written.bytes, 64 + 64 + 1000 + 64);
	gg_merge_rows_done(&rows);
	gg_profile_close(made.profile);
}

TEST(a_sample_that_is_taken_back_leaves_no_row)
{
	struct made_profile made;
	struct gg_merge_rows rows = { 0 };
	struct gg_merge_part part = part_of(64, 6);
	struct gg_merge_key key = { .fate = GG_MERGE_LEFT };
	struct written written = { 0 };

	made_begin(&made, NULL, 1, 1);
	key.group = made.process;
	rows.out = made.profile;
	CHECK_EQ_I64(gg_merge_rows_add(&rows, &key, &part, &error), 0);
	gg_merge_rows_subtract(&rows, &key, &part.sum);
	gg_merge_rows_subtract(&rows, &key, &part.sum); /* already written: nothing to take back */
	CHECK_EQ_I64(gg_merge_rows_write(&rows, &error), 0);
	CHECK_EQ_I64(gg_profile_each_aggregate(made.profile, take_aggregate, &written, &error), 0);
	CHECK_EQ_U64(written.count, 0);
	gg_merge_rows_done(&rows);
	gg_profile_close(made.profile);
}

/* --- groups --------------------------------------------------------------------------------- */

static int count_label(uint32_t process, const char *key, const char *value, void *context)
{
	int *counts = context;

	(void)process;
	if (strcmp(key, "version") == 0)
		counts[strcmp(value, "2") == 0]++;
	return 0;
}

TEST(processes_with_equal_labels_form_a_group_and_given_labels_replace_labels)
{
	const struct gg_import_label version = { "version", "2" };
	struct made_profile made;
	uint32_t first;

	made_begin(&made, NULL, 1, 1);
	first = made.process;
	for (uint32_t pid = 101; pid <= 104; pid++) {
		uint32_t process = made_process(&made, pid, 0, pid == 104 ? GG_TIME_NONE : 10);

		REQUIRE(gg_profile_put_label(made.profile, process, "version",
		                             pid % 2 == 0 ? "1" : "1.5", &error) == 0);
	}
	for (int replaced = 0; replaced < 2; replaced++) {
		struct gg_merge_groups groups = { .given = &version };
		struct gg_profile *out;
		int counts[2] = { 0 };

		groups.given_count = (size_t)replaced;
		REQUIRE(gg_profile_create(&out, NULL, &error) == 0);
		groups.out = out;
		CHECK_EQ_I64(gg_merge_groups_read(&groups, made.profile, &error), 0);
		/* One group of the process without a label, and one for each version. */
		CHECK_EQ_U64(groups.groups.count, replaced ? 2 : 3);
		CHECK(gg_merge_group_of(&groups, 0) == NULL);
		CHECK(gg_merge_group_of(&groups, 1000) == NULL);
		CHECK(gg_merge_group_of(&groups, first + 1) ==
		      gg_merge_group_of(&groups, first + 3));
		CHECK(gg_merge_groups_has_ended(&groups, first + 1));
		CHECK(!gg_merge_groups_has_ended(&groups, first + 4));
		CHECK_EQ_I64(gg_merge_groups_write(&groups, &error), 0);
		CHECK_EQ_I64(gg_profile_each_label(out, count_label, counts, &error), 0);
		CHECK_EQ_I64(counts[0], replaced ? 0 : 2);
		gg_merge_groups_done(&groups);
		gg_profile_close(out);
	}
	gg_profile_close(made.profile);
}

TEST(a_command_is_kept_only_while_all_are_equal)
{
	char *kept = NULL;

	CHECK_EQ_I64(gg_merge_keep_command(&kept, true, "server", &error), 0);
	CHECK_EQ_I64(gg_merge_keep_command(&kept, false, "server", &error), 0);
	CHECK_EQ_STR(kept, "server");
	CHECK_EQ_I64(gg_merge_keep_command(&kept, false, "client", &error), 0);
	CHECK(kept == NULL);
	CHECK_EQ_I64(gg_merge_keep_command(&kept, false, "server", &error), 0);
	CHECK(kept == NULL);
}
