/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/scan.h"

#include <string.h>

#include "region/writer/record.h"

enum {
	TRIES = 200 /* who is running changes a row once in 200 ns, and a reading takes 50 */
};

static uint32_t used_of(const struct gg_region *region, enum gg_region_table_id id)
{
	/* Acquire: pairs with who took the record. */
	return gg_load_acquire(&region->tables[id].used_count);
}

void gg_region_scan_begin(const struct gg_region *region, struct gg_region_scan *ret_scan)
{
	ret_scan->live_count = used_of(region, GG_TABLE_LIVE);
	/* Acquire: pairs with gg_region_open(); before it there is no row. */
	ret_scan->row_count = gg_load_acquire(&region->is_open) != 0
	                              ? used_of(region, GG_TABLE_ROWS)
	                              : 0;
	ret_scan->thread_count = used_of(region, GG_TABLE_THREADS);
}

bool gg_region_scan_live(const struct gg_region *region, uint32_t live,
                         struct gg_region_sample *ret_sample)
{
	for (int i = 0; i < TRIES; i++) {
		if (!gg_region_live_at(region, live, ret_sample))
			return false;
		/* What was read is the sample's, if the place is its own still: ids do not come back. */
		gg_fence_acquire();
		if (gg_load_relaxed(&region->records[live].id) == ret_sample->id)
			return ret_sample->stack < used_of(region, GG_TABLE_STACKS);
	}
	return false;
}

/* Acquire, each word: pairs with gg_put_words(), so who sees one of a record's words sees who owns the row. */
static void load_sums_once(struct gg_sums *ret_sums, const struct gg_sums *from)
{
	const uint64_t *source = (const uint64_t *)(const void *)from;
	uint64_t words[sizeof(*from) / sizeof(uint64_t)] = { 0 };

	for (size_t i = 0; i < GG_COUNT(words); i++)
		words[i] = gg_load_acquire(&source[i]);
	memcpy(ret_sums, words, sizeof(words));
}

static uint32_t owner_of(const struct gg_region *region, uint32_t row)
{
	/* Acquire: pairs with disown_row(): what the last owner wrote is seen. */
	return gg_load_acquire(&region->row_owners[row % GG_REGION_OWNERS]);
}

/*
 * Sums that somebody may be writing.  Both readings are equal, so if they are halves of a change, that
 * change was under way from the first to the second one (sums grow with each): and then the row had an
 * owner in between.
 */
static bool load_sums(const struct gg_region *region, uint32_t row, const struct gg_sums *from,
                      struct gg_sums *ret_sums, uint32_t *ret_owner)
{
	struct gg_sums again;

	load_sums_once(ret_sums, from);
	*ret_owner = owner_of(region, row);
	load_sums_once(&again, from);
	return memcmp(ret_sums, &again, sizeof(again)) == 0;
}

/*
 * The owner does not come to an end: perhaps it does not run.  If it has announced something of these sums,
 * those are their new values; else it does not write them, as long as it announces nothing else.  False: it
 * goes on after all.
 */
static bool settle(const struct gg_region *region, uint32_t row, uint32_t owner,
                   const struct gg_sums *from, uint64_t kind, struct gg_sums *ret_sums)
{
	const struct gg_region_slot *slot = gg_region_at(region, GG_TABLE_SLOTS, owner - 1);
	/* Acquire: pairs with announce(), after which the slot's values do not change. */
	uint64_t state = gg_load_acquire(&slot->state), where;

	where = gg_load_acquire((const uint64_t *)(const void *)&slot->live); /* and the row */
	if ((state & GG_ANNOUNCED_MASK) == kind && (uint32_t)(where >> 32) == row)
		from = &slot->sums;
	load_sums_once(ret_sums, from);
	return gg_load_acquire(&slot->state) == state && owner_of(region, row) == owner;
}

static void read_sums(const struct gg_region *region, uint32_t row, const struct gg_sums *from,
                      uint64_t kind, struct gg_sums *ret_sums)
{
	uint32_t owner = 0;

	for (int i = 0; i < TRIES; i++)
		if (load_sums(region, row, from, ret_sums, &owner) &&
		    (owner == 0 || settle(region, row, owner, from, kind, ret_sums)))
			return;
}

bool gg_region_scan_row(const struct gg_region *region, uint32_t index,
                        struct gg_region_scan_row *ret_row)
{
	const struct gg_region_row *row = gg_region_at(region, GG_TABLE_ROWS, index);

	/* Acquire: pairs with make_row(). */
	if (gg_load_acquire(&row->ready) != 1)
		return false;
	ret_row->stack = gg_load_relaxed(&row->stack);
	ret_row->thread = gg_load_relaxed(&row->thread);
	if (ret_row->stack >= used_of(region, GG_TABLE_STACKS) ||
	    ret_row->thread >= used_of(region, GG_TABLE_THREADS))
		return false;
	read_sums(region, index, &row->allocated, GG_ANNOUNCED_ALLOC, &ret_row->allocated);
	read_sums(region, index, &row->freed, GG_ANNOUNCED_FREE, &ret_row->freed);
	return true;
}

uint32_t gg_region_scan_stack(const struct gg_region *region, uint32_t stack, uint64_t *pcs,
                              uint32_t max)
{
	uint32_t count = 0, used = used_of(region, GG_TABLE_STACKS);

	while (stack >= GG_STACK_FIRST && stack < used) {
		const struct gg_region_node *node = gg_region_at(region, GG_TABLE_STACKS, stack);
		uint32_t parent = gg_load_relaxed(&node->parent);

		if (count < max)
			pcs[count] = gg_load_relaxed(&node->pc);
		count++;
		if (parent >= stack)
			break; /* no writer makes such */
		stack = parent;
	}
	return count;
}

void gg_region_scan_thread_name(const struct gg_region *region, uint32_t thread, char name[17])
{
	const struct gg_region_thread_row *row;
	uint64_t words[sizeof(row->name) / sizeof(uint64_t)];

	name[0] = '\0';
	if (thread >= used_of(region, GG_TABLE_THREADS))
		return;
	row = gg_region_at(region, GG_TABLE_THREADS, thread);
	/* Acquire: pairs with gg_region_thread_begin(). */
	if (gg_load_acquire(&row->ready) != 1)
		return;
	for (size_t i = 0; i < GG_COUNT(words); i++)
		words[i] = gg_load_relaxed((const uint64_t *)(const void *)row->name + i);
	memcpy(name, words, sizeof(words));
	name[sizeof(words)] = '\0';
}
