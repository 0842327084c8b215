/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_map - compares the map with a plain array, for every kind of key. */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "test.h"

TEST(an_empty_map_finds_nothing)
{
	struct gg_map map = { 0 };

	CHECK_EQ_U64(gg_map_get(&map, 7), GG_MAP_NONE);
	CHECK_EQ_U64(gg_map_remove(&map, 7), GG_MAP_NONE);
	CHECK(gg_map_is_valid(&map));
	gg_map_done(&map);
}

TEST(every_integer_is_a_key_and_all_but_one_a_value)
{
	const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };
	GG_CLEANUP(gg_map_done) struct gg_map map = { 0 };

	for (size_t i = 0; i < GG_COUNT(keys); i++)
		CHECK_EQ_I64(gg_map_put(&map, keys[i], keys[i] == UINT64_MAX ? 0 : keys[i]), 0);
	for (size_t i = 0; i < GG_COUNT(keys); i++)
		CHECK_EQ_U64(gg_map_get(&map, keys[i]), keys[i] == UINT64_MAX ? 0 : keys[i]);
	CHECK_EQ_U64(map.used_count, GG_COUNT(keys));
}

TEST(putting_a_key_again_replaces_its_value)
{
	GG_CLEANUP(gg_map_done) struct gg_map map = { 0 };

	CHECK_EQ_I64(gg_map_put(&map, 1, 10), 0);
	CHECK_EQ_I64(gg_map_put(&map, 1, 11), 0);
	CHECK_EQ_U64(gg_map_get(&map, 1), 11);
	CHECK_EQ_U64(map.used_count, 1);
}

/* A plain array is the model: random puts, removals and look-ups must agree with it. */
TEST(a_million_random_operations_agree_with_a_plain_array)
{
	enum { KEYS = 5000, OPERATIONS = 1000000 };
	GG_CLEANUP(gg_map_done) struct gg_map map = { .seed = 1 };
	uint64_t *model = malloc(KEYS * sizeof(*model));
	uint64_t random = 1, used_count = 0;

	for (size_t i = 0; i < KEYS; i++)
		model[i] = GG_MAP_NONE;
	for (uint64_t n = 0; n < OPERATIONS; n++) {
		/* Phases of mostly adding and mostly removing, so that it also empties. */
		bool adds = (n / 50000) % 2 == 0;
		uint64_t key;

		random = gg_hash_integer(random, n);
		key = random % KEYS;
		if (adds == ((random >> 40) % 4 > 0)) {
			used_count += model[key] == GG_MAP_NONE;
			model[key] = n;
			CHECK_EQ_I64(gg_map_put(&map, key, n), 0);
		} else {
			used_count -= model[key] != GG_MAP_NONE;
			if (!CHECK_EQ_U64(gg_map_remove(&map, key), model[key]))
				break;
			model[key] = GG_MAP_NONE;
		}
		key = (random >> 20) % KEYS;
		if (!CHECK_EQ_U64(gg_map_get(&map, key), model[key]))
			break;
		if (n % 10000 == 0)
			CHECK(gg_map_is_valid(&map));
	}
	CHECK_EQ_U64(map.used_count, used_count);
	CHECK(gg_map_is_valid(&map));
	free(model);
}

static const char *const names[] = { "malloc", "calloc", "realloc", "free" };

static bool name_is(uint64_t value, const void *context)
{
	return strcmp(names[value], context) == 0;
}

TEST(records_with_the_same_hash_are_told_apart_by_their_keys)
{
	GG_CLEANUP(gg_map_done) struct gg_map map = { 0 };

	for (uint64_t i = 0; i < GG_COUNT(names); i++)
		CHECK_EQ_I64(gg_map_insert(&map, 42, i), 0);
	for (uint64_t i = 0; i < GG_COUNT(names); i++)
		CHECK_EQ_U64(gg_map_find(&map, 42, name_is, names[i]), i);
	CHECK_EQ_U64(gg_map_find(&map, 42, name_is, "mmap"), GG_MAP_NONE);
	CHECK_EQ_U64(gg_map_take(&map, 42, name_is, "calloc"), 1);
	CHECK_EQ_U64(gg_map_find(&map, 42, name_is, "calloc"), GG_MAP_NONE);
	CHECK_EQ_U64(gg_map_find(&map, 42, name_is, "free"), 3);
}

TEST(removal_closes_gaps_also_across_the_end_of_the_table)
{
	/* Homes 14, 15 and 0 of 16 slots in one cluster that wraps; remove each first in turn. */
	const uint64_t hashes[] = { 14, 14, 15, 14, 16, 15, 0, 1 };

	for (uint64_t first = 0; first < GG_COUNT(hashes); first++) {
		GG_CLEANUP(gg_map_done) struct gg_map map = { 0 };

		for (uint64_t i = 0; i < GG_COUNT(hashes); i++)
			CHECK_EQ_I64(gg_map_insert(&map, hashes[i], i), 0);
		CHECK(gg_map_take(&map, hashes[first], NULL, NULL) != GG_MAP_NONE);
		CHECK(gg_map_is_valid(&map));
		CHECK_EQ_U64(map.used_count, GG_COUNT(hashes) - 1);
	}
}

TEST(an_emptied_map_can_be_used_again)
{
	struct gg_map map = { 0 };

	CHECK_EQ_I64(gg_map_put(&map, 1, 1), 0);
	gg_map_done(&map);
	CHECK_EQ_U64(gg_map_get(&map, 1), GG_MAP_NONE);
	CHECK_EQ_I64(gg_map_put(&map, 1, 2), 0);
	CHECK_EQ_U64(gg_map_get(&map, 1), 2);
	gg_map_done(&map);
}
