/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_look - shows which looks a profile keeps, and that they are read back as written.
 */
#include <errno.h>

#include "profile.h"
#include "profile/profile.h"
#include "test.h"

static struct gg_error error;

#define OK(call) CHECK_MSG((call) >= 0, "%s: %s: %s", #call, error.place, error.message)

struct written {
	struct gg_profile *profile; /* has a process and a sample */
};

static void written_teardown(struct written *written)
{
	gg_profile_close(written->profile);
}

static void written_setup(struct written *written)
{
	REQUIRE(gg_profile_create(&written->profile, NULL, &error) == 0);
	REQUIRE(profile_write(written->profile, &error));
}

FIXTURE(written)

static void put(struct gg_profile *profile, int64_t rss_bytes)
{
	const struct gg_profile_look look = {
		.process = 1,
		.rss_bytes = rss_bytes,
		.pss_bytes = -1,
		.allocator = "glibc",
	};
	const struct gg_profile_look_mapping mappings[] = {
		{ .kind = GG_MAPPING_HEAP, .rss_bytes = rss_bytes - 1 },
		{ .kind = GG_MAPPING_FILE, .name = "/lib/libc.so.6", .rss_bytes = 1 },
	};
	const struct gg_profile_look_block block = { .sample = 1, .pinned_bytes = 2.5 };
	const struct gg_profile_look_total total = { .name = "glibc.system", .bytes = 3 };
	const struct gg_profile_look_parts parts = { mappings, &block, &total, 2, 1, 1 };

	OK(gg_profile_put_look(profile, &look, &parts, &error));
}

struct seen {
	struct gg_profile_look looks[4];
	size_t look_count, mapping_count, block_count, total_count;
	int64_t mapped_bytes;
};

static int see_look(const struct gg_profile_look *look, void *context)
{
	struct seen *seen = context;

	REQUIRE(seen->look_count < GG_COUNT(seen->looks));
	CHECK_EQ_STR(look->allocator, "glibc");
	CHECK(look->reason == NULL && look->pss_bytes == -1);
	seen->looks[seen->look_count++] = *look;
	return 0;
}

static int see_mapping(const struct gg_profile_look_mapping *mapping, void *context)
{
	struct seen *seen = context;

	CHECK_EQ_U64(mapping->number, seen->mapping_count % 2);
	CHECK((mapping->name != NULL) == (mapping->kind == GG_MAPPING_FILE));
	seen->mapping_count++;
	seen->mapped_bytes += mapping->rss_bytes;
	return 0;
}

static int see_block(const struct gg_profile_look_block *block, void *context)
{
	CHECK_EQ_U64(block->sample, 1);
	CHECK_EQ_DOUBLE(block->pinned_bytes, 2.5);
	((struct seen *)context)->block_count++;
	return 0;
}

static int see_total(const struct gg_profile_look_total *total, void *context)
{
	CHECK_EQ_STR(total->name, "glibc.system");
	CHECK_EQ_I64(total->bytes, 3);
	((struct seen *)context)->total_count++;
	return 0;
}

static struct seen read_looks(struct gg_profile *profile)
{
	struct seen seen = { 0 };

	OK(gg_profile_each_look(profile, see_look, &seen, &error));
	OK(gg_profile_each_look_mapping(profile, see_mapping, &seen, &error));
	OK(gg_profile_each_look_block(profile, see_block, &seen, &error));
	OK(gg_profile_each_look_total(profile, see_total, &seen, &error));
	CHECK_EQ_U64(seen.mapping_count, 2 * seen.look_count);
	CHECK_EQ_U64(seen.block_count, seen.look_count);
	CHECK_EQ_U64(seen.total_count, seen.look_count);
	return seen;
}

TEST_WITH(written, the_last_look_and_the_one_with_the_largest_rss_stay)
{
	static const int64_t readings[] = { 5, 9, 7, 8, 3 };
	struct seen seen;

	for (size_t i = 0; i < GG_COUNT(readings); i++)
		put(written->profile, readings[i]);
	seen = read_looks(written->profile);
	REQUIRE(seen.look_count == 2);
	CHECK_EQ_I64(seen.looks[0].rss_bytes, 9);
	CHECK_EQ_U64(seen.looks[0].moments, GG_LOOK_PEAK);
	CHECK_EQ_I64(seen.looks[1].rss_bytes, 3);
	CHECK_EQ_U64(seen.looks[1].moments, GG_LOOK_LAST);
	CHECK_EQ_I64(seen.mapped_bytes, 12);
}

TEST_WITH(written, one_look_may_be_both)
{
	struct seen seen;

	put(written->profile, 4);
	put(written->profile, 6);
	seen = read_looks(written->profile);
	REQUIRE(seen.look_count == 1);
	CHECK_EQ_I64(seen.looks[0].rss_bytes, 6);
	CHECK_EQ_U64(seen.looks[0].moments, GG_LOOK_LAST | GG_LOOK_PEAK);
}

static void count_problem(const char *problem, void *context)
{
	CHECK_MSG(strstr(problem, "do not add up") != NULL, "%s", problem);
	++*(int *)context;
}

TEST_WITH(written, a_look_whose_mappings_do_not_add_up_is_a_problem)
{
	const struct gg_profile_look look = { .process = 1, .rss_bytes = 4 };
	int count = 0;

	put(written->profile, 4);
	OK(gg_profile_check(written->profile, count_problem, &count, &error));
	CHECK_EQ_I64(count, 0);
	OK(gg_profile_put_look(written->profile, &look, &(struct gg_profile_look_parts){ 0 },
	                       &error));
	OK(gg_profile_check(written->profile, count_problem, &count, &error));
	CHECK_EQ_I64(count, 1);
}
