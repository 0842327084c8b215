/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch - fetches the cache lines that recording and closing samples will need. */
#include "region/writer/prefetch.h"

#include "base/hash.h"
#include "region/writer/private_live_table.h"
#include "region/writer/site_totals.h"

/* Fetches the bucket of the address in the index, and its cell in the filter. */
static void prefetch_address(const struct gg_region *region, uint64_t address)
{
	uint64_t hash = gg_hash_integer(address, region->hash_seed);
	/* Acquire: the cells of a new size were there before the view that shows them. */
	uint64_t view = gg_load_acquire(&region->filter.view);
	const uint8_t *cells = (const uint8_t *)(uintptr_t)view;

	gg_hash_index_prefetch(&region->address_index, hash);
	__builtin_prefetch(gg_hash_index_bucket(&region->address_index, hash, 0, 0), 1);
	__builtin_prefetch(&cells[gg_filter_hash(address) >> (view & 63)], 1);
}

/* Fetches a record of the live table, and its mirror in the file. */
static void prefetch_live(const struct gg_region *region, uint32_t live_index)
{
	__builtin_prefetch(&region->records[live_index], 1);
	__builtin_prefetch(&region->homes[live_index], 1);
	__builtin_prefetch(gg_region_at(region, GG_TABLE_LIVE, live_index), 1);
}

void gg_region_prefetch_alloc(const struct gg_region *region, const struct gg_region_thread *thread,
                              uint64_t address)
{
	const struct gg_region_space *table = &region->tables[GG_TABLE_LIVE];
	/* The record that gg_region_live_take() will return if no other thread comes in between.
	 * Relaxed: a wrong guess does no harm. */
	uint32_t live_plus_1 = thread->spare_plus_1;

	if (live_plus_1 == 0)
		live_plus_1 = (uint32_t)gg_load_relaxed(&region->free_head);
	if (live_plus_1 == 0)
		live_plus_1 = gg_load_relaxed(&table->used_count) + 1;
	prefetch_address(region, address);
	if (live_plus_1 <= table->capacity)
		prefetch_live(region, live_plus_1 - 1);
}

/*
 * Fetches what up to GG_REGION_PREFETCH_MAX addresses need.  Each round uses lines that the round
 * before has fetched, so the misses of one round overlap instead of following each other.
 */
static void prefetch_some(const struct gg_region *region, const uint64_t *addresses, uint32_t count)
{
	enum { STACK_WORD = offsetof(struct gg_region_sample, stack) / sizeof(uint64_t) };
	uint32_t found_indexes[GG_REGION_PREFETCH_MAX] = { 0 }, stacks[GG_REGION_PREFETCH_MAX],
		 found = 0;

	for (uint32_t i = 0; i < count; i++)
		prefetch_address(region, addresses[i]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t live_index = gg_region_live_find(region, addresses[i], NULL);

		if (live_index == GG_INDEX_NONE)
			continue;
		prefetch_live(region, live_index);
		found_indexes[found++] = live_index;
	}
	for (uint32_t i = 0; i < found; i++) {
		const uint64_t *words =
			(const uint64_t *)(const void *)&region->records[found_indexes[i]];

		stacks[i] = (uint32_t)gg_load_relaxed(&words[STACK_WORD]);
		__builtin_prefetch(&region->stack_words[stacks[i]]);
	}
	for (uint32_t i = 0; i < found; i++)
		gg_region_site_total_prefetch(region, stacks[i]);
}
_Static_assert(offsetof(struct gg_region_sample, stack) % sizeof(uint64_t) == 0, "the lower half");

void gg_region_prefetch_free(const struct gg_region *region, const uint64_t *addresses,
                             uint32_t count)
{
	while (count > GG_REGION_PREFETCH_MAX) {
		prefetch_some(region, addresses, GG_REGION_PREFETCH_MAX);
		addresses += GG_REGION_PREFETCH_MAX;
		count -= GG_REGION_PREFETCH_MAX;
	}
	prefetch_some(region, addresses, count);
}
