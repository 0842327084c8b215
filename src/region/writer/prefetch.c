/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/prefetch.h"

#include "base/hash.h"
#include "region/writer/record.h"

/* The place in the index, and in the filter. */
static void prefetch_address(const struct gg_region *region, uint64_t address)
{
	uint64_t hash = gg_hash_integer(address, region->hash_seed);
	/* Acquire: the cells of a new size were there before the view that shows them. */
	uint64_t view = gg_load_acquire(&region->filter.view);
	const uint8_t *cells = (const uint8_t *)(uintptr_t)view;

	gg_index_prefetch(&region->live_index, hash);
	__builtin_prefetch(gg_index_bucket(&region->live_index, hash, 0, 0), 1);
	__builtin_prefetch(&cells[gg_filter_hash(address) >> (view & 63)], 1);
}

/* Its record, in the truth and in the mirror. */
static void prefetch_live(const struct gg_region *region, uint32_t live)
{
	__builtin_prefetch(&region->records[live], 1);
	__builtin_prefetch(&region->homes[live], 1);
	__builtin_prefetch(gg_region_at(region, GG_TABLE_LIVE, live), 1);
}

void gg_region_prefetch_alloc(const struct gg_region *region, const struct gg_region_thread *thread,
                              uint64_t address)
{
	const struct gg_region_space *table = &region->tables[GG_TABLE_LIVE];
	/* As take_live() will find it, if nobody comes in between; relaxed: a guess. */
	uint32_t live = thread->spare_plus_1;

	if (live == 0)
		live = (uint32_t)gg_load_relaxed(&region->free_head);
	if (live == 0)
		live = gg_load_relaxed(&table->used_count) + 1;
	prefetch_address(region, address);
	if (live <= table->capacity)
		prefetch_live(region, live - 1);
}

static void expect_some(const struct gg_region *region, const uint64_t *addresses, uint32_t count)
{
	enum { STACK_WORD = offsetof(struct gg_region_sample, stack) / sizeof(uint64_t) };
	uint32_t places[GG_REGION_EXPECTED_MAX] = { 0 }, stacks[GG_REGION_EXPECTED_MAX], found = 0;

	/* Each round uses what the one before has fetched. */
	for (uint32_t i = 0; i < count; i++)
		prefetch_address(region, addresses[i]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = gg_region_find_place(region, addresses[i]);

		if (place == GG_INDEX_NONE)
			continue;
		prefetch_live(region, place);
		places[found++] = place;
	}
	for (uint32_t i = 0; i < found; i++) {
		const uint64_t *words = (const uint64_t *)(const void *)&region->records[places[i]];

		stacks[i] = (uint32_t)gg_load_relaxed(&words[STACK_WORD]);
		__builtin_prefetch(&region->stack_words[stacks[i]]);
	}
	for (uint32_t i = 0; i < found; i++)
		gg_region_prefetch_row(region, stacks[i]);
}
_Static_assert(offsetof(struct gg_region_sample, stack) % sizeof(uint64_t) == 0, "the lower half");

void gg_region_prefetch_free(const struct gg_region *region, const uint64_t *addresses,
                             uint32_t count)
{
	while (count > GG_REGION_EXPECTED_MAX) {
		expect_some(region, addresses, GG_REGION_EXPECTED_MAX);
		addresses += GG_REGION_EXPECTED_MAX;
		count -= GG_REGION_EXPECTED_MAX;
	}
	expect_some(region, addresses, count);
}
