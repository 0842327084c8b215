/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_rule_cache - shows that the cache of rules finds a rule only by its key and epoch. */
#include "unwind/walk/rule_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "test.h"

#define EPOCH GG_RULE_CACHE_EPOCH(3)

static bool insert(uint64_t key, uint64_t epoch, uint64_t rule)
{
	uint64_t entry, *slot;

	if (gg_rule_cache_find(key, epoch, &entry, &slot))
		return false;
	gg_rule_cache_insert(key, epoch, rule, entry, slot);
	return true;
}

static bool find(uint64_t key, uint64_t epoch, uint64_t *ret_rule)
{
	uint64_t *slot;

	return gg_rule_cache_find(key, epoch, ret_rule, &slot);
}

TEST(a_rule_is_found_by_its_key_and_epoch_alone)
{
	const uint64_t key = 0x7f1234567890;
	uint64_t rule = 0;

	gg_rule_cache_clear();
	CHECK(!find(key, EPOCH, &rule));
	CHECK(insert(key, EPOCH, 0x1234));
	CHECK(find(key, EPOCH, &rule) && rule == 0x1234);
	CHECK(!find(key, GG_RULE_CACHE_EPOCH(4), &rule));
	for (int bit = 0; bit < 48; bit++)
		CHECK_MSG(!find(key ^ UINT64_C(1) << bit, EPOCH, &rule), "bit %d", bit);
}

TEST(the_loop_sees_packed_rules_at_home_and_nothing_else)
{
	const uint64_t key = 0x7f1234567890;
	uint64_t entry;

	gg_rule_cache_clear();
	insert(key, EPOCH, 0x1234);
	entry = gg_rule_cache_entries[gg_rule_cache_home(key)];
	CHECK(gg_rule_cache_is_rule(entry, key, EPOCH));
	CHECK_EQ_U64(entry & GG_RULE_CACHE_RULE_MASK, 0x1234);
	CHECK(!gg_rule_cache_is_rule(entry, key, GG_RULE_CACHE_EPOCH(4)));
	CHECK(!gg_rule_cache_is_rule(entry | GG_RULE_CACHE_ODD, key, EPOCH));
	CHECK(!gg_rule_cache_is_rule(entry ^ UINT64_C(1) << 57, key, EPOCH));
	for (int bit = GG_RULE_CACHE_INDEX_BITS; bit < 48; bit++)
		CHECK(!gg_rule_cache_is_rule(entry, key ^ UINT64_C(1) << bit, EPOCH));
}

TEST(eight_keys_with_one_home_live_beside_each_other)
{
	uint64_t rule;

	gg_rule_cache_clear();
	for (uint64_t i = 0; i < GG_RULE_CACHE_LINE; i++)
		insert(0x400123 + (i << GG_RULE_CACHE_INDEX_BITS), EPOCH, 100 + i);
	for (uint64_t i = 0; i < GG_RULE_CACHE_LINE; i++)
		CHECK(find(0x400123 + (i << GG_RULE_CACHE_INDEX_BITS), EPOCH, &rule) &&
		      rule == 100 + i);
	/* The ninth takes the home; the other seven stay. */
	insert(0x400123 + (UINT64_C(8) << GG_RULE_CACHE_INDEX_BITS), EPOCH, 108);
	CHECK(!find(0x400123, EPOCH, &rule));
	for (uint64_t i = 1; i <= GG_RULE_CACHE_LINE; i++)
		CHECK(find(0x400123 + (i << GG_RULE_CACHE_INDEX_BITS), EPOCH, &rule) &&
		      rule == 100 + i);
}

TEST(entries_of_an_old_epoch_make_room)
{
	uint64_t rule;

	gg_rule_cache_clear();
	for (uint64_t i = 0; i < GG_RULE_CACHE_LINE; i++)
		insert(0x400123 + (i << GG_RULE_CACHE_INDEX_BITS), EPOCH, i);
	for (uint64_t i = 0; i < GG_RULE_CACHE_LINE; i++)
		insert(0x800123 + (i << GG_RULE_CACHE_INDEX_BITS), GG_RULE_CACHE_EPOCH(4), 50 + i);
	for (uint64_t i = 0; i < GG_RULE_CACHE_LINE; i++)
		CHECK(find(0x800123 + (i << GG_RULE_CACHE_INDEX_BITS), GG_RULE_CACHE_EPOCH(4),
		           &rule) &&
		      rule == 50 + i);
}

TEST(a_rule_compiled_before_the_table_was_cleared_is_not_stored)
{
	uint64_t entry, *slot, rule;

	gg_rule_cache_clear();
	CHECK(!gg_rule_cache_find(0x400123, EPOCH, &entry, &slot));
	gg_rule_cache_clear();
	gg_rule_cache_insert(0x400123, EPOCH, 77, entry, slot);
	CHECK(!find(0x400123, EPOCH, &rule));
}

TEST(addresses_beyond_user_space_are_not_stored)
{
	uint64_t rule;

	gg_rule_cache_clear();
	insert(UINT64_C(1) << 48 | 0x400123, EPOCH, 77);
	CHECK(!find(UINT64_C(1) << 48 | 0x400123, EPOCH, &rule));
	CHECK(!find(0x400123, EPOCH, &rule));
}

/* The rule of a key says which key it is: a torn or mixed-up entry would show. */
static uint64_t rule_of(uint64_t key, uint64_t epoch)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) ^ epoch >> 20) & GG_RULE_CACHE_RULE_MASK;
}

static void *hammer(void *seed)
{
	uint64_t state = (uintptr_t)seed, wrong = 0;

	for (unsigned i = 0; i < 300000; i++) {
		uint64_t key, epoch, rule;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		key = 0x7f0000000000 + ((state >> 40 & 0xff) << GG_RULE_CACHE_INDEX_BITS) +
		      (state >> 33 & 0x3f);
		epoch = GG_RULE_CACHE_EPOCH(1 + (state >> 50) % GG_RULE_CACHE_EPOCHS);
		if (i % 20000 == 0)
			gg_rule_cache_clear();
		if (find(key, epoch, &rule))
			wrong += rule != rule_of(key, epoch);
		else
			insert(key, epoch, rule_of(key, epoch));
	}
	return (void *)(uintptr_t)wrong;
}

TEST(threads_that_insert_and_clear_never_see_a_rule_of_another_key_or_epoch)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < GG_COUNT(threads); i++)
		pthread_create(&threads[i], NULL, hammer, (void *)(i + 1));
	for (size_t i = 0; i < GG_COUNT(threads); i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		CHECK(wrong == NULL);
	}
}
