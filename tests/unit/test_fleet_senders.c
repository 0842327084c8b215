/* SPDX-License-Identifier: Apache-2.0 */
/* test_fleet_senders - what a receiver remembers of other agents, over restarts and damage. */
#include "fleet/foreign_senders.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

static int open_folder(void)
{
	return open(scratch_new_folder(), O_RDONLY | O_DIRECTORY);
}

static struct gg_foreign_senders reopened(int folder)
{
	struct gg_foreign_senders senders;
	struct gg_error error = { 0 };

	CHECK(gg_foreign_senders_open(&senders, folder, &error) == 0);
	return senders;
}

static void note(struct gg_foreign_senders *senders, uint64_t key, uint64_t until_s)
{
	struct gg_foreign_sender *sender = gg_foreign_senders_get(senders, key, 0);

	CHECK(sender != NULL && gg_foreign_senders_note(senders, sender, until_s) == 0);
}

static uint64_t until_of(struct gg_foreign_senders *senders, uint64_t key)
{
	return gg_foreign_senders_get(senders, key, 0)->until_s;
}

TEST(a_look_is_known_after_a_restart)
{
	int folder = open_folder();
	struct gg_foreign_senders senders = reopened(folder);

	note(&senders, 7, 1200);
	note(&senders, 8, 600);
	note(&senders, 7, 1800);
	gg_foreign_senders_done(&senders);
	senders = reopened(folder);
	CHECK_EQ_U64(until_of(&senders, 7), 1800);
	CHECK_EQ_U64(until_of(&senders, 8), 600);
	CHECK_EQ_U64(until_of(&senders, 9), 0);
	gg_foreign_senders_done(&senders);
	close(folder);
}

TEST(half_a_note_and_a_damaged_one_leave_the_others)
{
	int folder = open_folder(), fd;
	struct gg_foreign_senders senders = reopened(folder);

	for (uint64_t key = 1; key <= 4; key++)
		note(&senders, key, 600 * key);
	gg_foreign_senders_done(&senders);
	fd = openat(folder, "looks", O_RDWR);
	CHECK(pwrite(fd, "x", 1, 24 + 9) == 1);
	CHECK(ftruncate(fd, 4 * 24 - 5) == 0);
	close(fd);
	senders = reopened(folder);
	CHECK_EQ_U64(until_of(&senders, 1), 600);
	CHECK_EQ_U64(until_of(&senders, 2), 0);
	CHECK_EQ_U64(until_of(&senders, 3), 1800);
	CHECK_EQ_U64(until_of(&senders, 4), 0);
	note(&senders, 5, 3000);
	gg_foreign_senders_done(&senders);
	senders = reopened(folder);
	CHECK_EQ_U64(until_of(&senders, 3), 1800);
	CHECK_EQ_U64(until_of(&senders, 5), 3000);
	gg_foreign_senders_done(&senders);
	close(folder);
}

TEST(half_of_the_only_note_does_not_shift_the_next_ones)
{
	int folder = open_folder(), fd;
	struct gg_foreign_senders senders = reopened(folder);

	note(&senders, 1, 600);
	gg_foreign_senders_done(&senders);
	fd = openat(folder, "looks", O_RDWR);
	CHECK(ftruncate(fd, 24 - 5) == 0);
	close(fd);
	senders = reopened(folder);
	note(&senders, 2, 1200);
	gg_foreign_senders_done(&senders);
	senders = reopened(folder);
	CHECK_EQ_U64(until_of(&senders, 1), 0);
	CHECK_EQ_U64(until_of(&senders, 2), 1200);
	gg_foreign_senders_done(&senders);
	close(folder);
}

TEST(tenants_share_no_sender_and_none_takes_all_places)
{
	int folder = open_folder();
	struct gg_foreign_senders senders = reopened(folder);
	uint64_t id = 0;

	CHECK(gg_foreign_sender_key("a", 1) != gg_foreign_sender_key("b", 1));
	/* Tenants whose upper bits are equal differ below them. */
	for (int i = 0; i < 4000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%d", i);
		CHECK((gg_foreign_sender_key(name, 1) << 10) !=
		      (gg_foreign_sender_key("t", 1) << 10));
	}
	while (gg_foreign_senders_get(&senders, gg_foreign_sender_key("a", ++id), 0) != NULL)
		CHECK(id < 100000);
	CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("b", 1), 0) != NULL);
	CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("a", 1), 0) != NULL);
	/* No sender has sent a look, so all may be forgotten. */
	CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("a", id), 1) != NULL);
	CHECK_EQ_U64(senders.floor_s, 1);
	/* Senders are forgotten once a minute at most, whatever a tenant sends. */
	for (id = 0; gg_foreign_senders_get(&senders, gg_foreign_sender_key("a", ++id), 7) != NULL;)
		CHECK(id < 100000);
	CHECK_EQ_U64(senders.floor_s, 1);
	senders.pruned_ns -= UINT64_C(61000000000);
	CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("a", id), 7) != NULL);
	CHECK_EQ_U64(senders.floor_s, 7);
	gg_foreign_senders_done(&senders);
	close(folder);
}

static struct gg_foreign_counters counters_of(const struct gg_foreign_counter *items, size_t count)
{
	struct gg_foreign_counters counters = { 0 };

	for (size_t i = 0; i < count; i++)
		CHECK(gg_array_push(&counters, items[i]));
	gg_foreign_counters_sort(&counters);
	return counters;
}

TEST(two_tenants_that_flood_leave_places_for_others)
{
	static const char *const names[] = { "a", "b", "c" };
	int folder = open_folder();
	struct gg_foreign_senders senders = reopened(folder);

	for (int tenant = 0; tenant < 3; tenant++)
		for (uint64_t id = 1; id <= 50000; id++)
			if (gg_foreign_senders_get(
				    &senders, gg_foreign_sender_key(names[tenant], id), 0) == NULL)
				break;
	CHECK_EQ_U64(senders.list.count, 76000); /* c is small until it has a thousand */
	for (uint64_t id = 1; id <= 1000; id++)
		CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("small", id), 0) !=
		      NULL);
	gg_foreign_senders_done(&senders);
	close(folder);
}

static void keep(struct gg_foreign_senders *senders, uint64_t key, size_t count)
{
	struct gg_foreign_counters counters = { 0 };

	for (size_t i = 0; i < count; i++)
		CHECK(gg_array_push(&counters, ((struct gg_foreign_counter){ i + 1, 1, 1 })));
	gg_foreign_senders_keep(senders, gg_foreign_senders_get(senders, key, 0), &counters);
	gg_array_done(&counters); /* if it was left */
}

TEST(a_tenant_with_many_counters_loses_its_own)
{
	int folder = open_folder();
	struct gg_foreign_senders senders = reopened(folder);
	uint64_t small = gg_foreign_sender_key("small", 1);

	keep(&senders, small, 300);
	for (uint64_t id = 1; id <= 40; id++)
		keep(&senders, gg_foreign_sender_key("flood", id), 100000);
	CHECK(gg_foreign_senders_get(&senders, small, 0)->has_counters);
	CHECK(gg_foreign_senders_get(&senders, gg_foreign_sender_key("flood", 40), 0)
	              ->has_counters);
	CHECK(senders.counter_count <= 2 << 20);
	/* A process with too many counters is not remembered, and takes none of others. */
	keep(&senders, gg_foreign_sender_key("flood", 41), 2 << 20);
	CHECK(!gg_foreign_senders_get(&senders, gg_foreign_sender_key("flood", 41), 0)
	               ->has_counters);
	CHECK(gg_foreign_senders_get(&senders, small, 0)->has_counters);
	CHECK_EQ_U64(senders.counter_count, 300);
	gg_foreign_senders_done(&senders);
	close(folder);
}

TEST(counters_continue_if_none_shrank_or_vanished)
{
	struct gg_foreign_counters before = counters_of(
		(const struct gg_foreign_counter[]){ { 9, 4, 1 }, { 3, 0, 0 }, { 5, 7, 7 } }, 3);
	struct gg_foreign_counters more = counters_of(
		(const struct gg_foreign_counter[]){ { 5, 7, 0 }, { 1, 1, 1 }, { 9, 5, 1 } }, 3);
	struct gg_foreign_counters less = counters_of(
		(const struct gg_foreign_counter[]){ { 9, 3, 1 }, { 5, 70, 7 } }, 2);
	struct gg_foreign_counters gone = counters_of(
		(const struct gg_foreign_counter[]){ { 9, 40, 1 } }, 1);

	CHECK(gg_foreign_counters_grew(&more, &before));
	CHECK(!gg_foreign_counters_grew(&less, &before));
	CHECK(!gg_foreign_counters_grew(&gone, &before));
	CHECK_EQ_U64(gg_foreign_counters_find(&more, 9)->ever, 5);
	CHECK(gg_foreign_counters_find(&more, 3) == NULL);
	gg_array_done(&before);
	gg_array_done(&more);
	gg_array_done(&less);
	gg_array_done(&gone);
}
