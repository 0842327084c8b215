/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_hash_index - shows that each record is found by its hash until it is removed. */
#include "region/hash_index.h"

#include <stdlib.h>

#include "base/hash.h"
#include "test.h"

enum { RECORDS = 50000 };

static struct gg_hash_index index_;
static uint64_t keys[RECORDS];

static bool matches(uint32_t value, const void *context)
{
	return keys[value] == *(const uint64_t *)context;
}

static uint32_t find(uint64_t key, bool removes, uint32_t **ret_entry)
{
	return gg_hash_index_find(&index_, gg_hash_integer(key, 3), removes, matches, &key,
	                          ret_entry);
}

static uint32_t add(uint64_t key, uint32_t value)
{
	keys[value] = key;
	return gg_hash_index_add(&index_, gg_hash_integer(key, 3), value, matches, &key);
}

static void *begin(uint64_t record_count)
{
	size_t bytes = gg_hash_index_bytes(record_count, GG_HASH_INDEX_TIGHT);
	void *memory = aligned_alloc(64, bytes);

	memset(memory, 0, bytes);
	gg_hash_index_init(&index_, memory, record_count, GG_HASH_INDEX_TIGHT);
	return memory;
}

TEST(an_index_finds_what_was_added_on_every_level)
{
	void *memory = begin(RECORDS);

	for (uint32_t i = 0; i < RECORDS; i++)
		CHECK_EQ_U64(add(i + 1000000, i), i);
	CHECK(index_.top_level >= 2);
	for (uint32_t i = 0; i < RECORDS; i++)
		CHECK_EQ_U64(find(i + 1000000, false, NULL), i);
	for (uint64_t i = 0; i < RECORDS; i++)
		CHECK_EQ_U64(find(i + 2000000, false, NULL), GG_INDEX_NONE);
	free(memory);
}

TEST(who_comes_second_is_given_the_record_of_the_first)
{
	void *memory = begin(RECORDS);

	CHECK_EQ_U64(add(77, 1), 1);
	/* Looked for it before the first added it, and adds it now. */
	CHECK_EQ_U64(add(77, 2), 1);
	CHECK_EQ_U64(find(77, false, NULL), 1);
	free(memory);
}

TEST(a_removed_record_is_gone_and_others_stay)
{
	void *memory = begin(RECORDS);

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 5000; i++)
			CHECK_EQ_U64(add(i + round * 100000, i), i);
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t *entry;

			if (!CHECK_EQ_U64(find(i + round * 100000, true, &entry), i))
				break;
			CHECK(gg_hash_index_remove(&index_, entry,
			                           gg_hash_integer(i + round * 100000, 3), i));
			CHECK(!gg_hash_index_remove(&index_, entry,
			                            gg_hash_integer(i + round * 100000, 3), i));
			CHECK_EQ_U64(find(i + round * 100000, true, NULL), GG_INDEX_NONE);
			CHECK(i == 4999 || find(4999 + round * 100000, true, NULL) == 4999);
		}
	}
	/* Nothing is left behind that would fill it up. */
	CHECK(index_.top_level <= 2);
	free(memory);
}

TEST(a_hash_whose_entries_are_taken_is_refused)
{
	void *memory = begin(8); /* one level: 4 buckets of 16 for each hash */

	for (uint32_t i = 0; i < 80; i++) {
		uint64_t key = i;

		keys[i] = i;
		CHECK_EQ_I64(gg_hash_index_add(&index_, UINT64_C(5) << 32, i, matches, &key) == i,
		             i < 64);
	}
	free(memory);
}
