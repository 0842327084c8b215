/* SPDX-License-Identifier: Apache-2.0 */
/* scan - reads live samples, site totals and stacks while threads change them. */
#include "region/writer/scan.h"

#include <string.h>

#include "region/writer/private_live_table.h"
#include "region/writer/site_totals.h"

/* A reading takes 50 ns, and a running thread changes a site total once in 200 ns. */
enum { READ_TRIES = 200 };

static uint32_t used_of(const struct gg_region *region, enum gg_region_table_id id)
{
	/* Acquire: pairs with the CAS of the thread that took the record. */
	return gg_load_acquire(&region->tables[id].used_count);
}

void gg_region_scan_begin(const struct gg_region *region, struct gg_region_scan *ret_scan)
{
	ret_scan->live_count = used_of(region, GG_TABLE_LIVE);
	/* Acquire: pairs with gg_region_open(), before which there is no site total. */
	ret_scan->site_total_count = gg_load_acquire(&region->is_open) != 0
	                                     ? used_of(region, GG_TABLE_SITE_TOTALS)
	                                     : 0;
	ret_scan->thread_count = used_of(region, GG_TABLE_THREADS);
}

bool gg_region_scan_live(const struct gg_region *region, uint32_t live_index,
                         struct gg_region_sample *ret_sample)
{
	for (int i = 0; i < READ_TRIES; i++) {
		if (!gg_region_live_copy(region, live_index, ret_sample))
			return false;
		/* The copy is whole if the record still has its id, because ids are never used
		 * again. */
		gg_fence_acquire();
		if (gg_load_relaxed(&region->records[live_index].id) == ret_sample->id)
			return ret_sample->stack < used_of(region, GG_TABLE_STACKS);
	}
	return false;
}

/*
 * Acquire for each word: pairs with gg_put_words().  A thread that sees one word of a change also
 * sees that the site total has an owner.
 */
static void load_sums_once(struct gg_sums *ret_sums, const struct gg_sums *from)
{
	const uint64_t *source = (const uint64_t *)(const void *)from;
	uint64_t words[sizeof(*from) / sizeof(uint64_t)] = { 0 };

	for (size_t i = 0; i < GG_COUNT(words); i++)
		words[i] = gg_load_acquire(&source[i]);
	memcpy(ret_sums, words, sizeof(words));
}

static uint32_t owner_of(const struct gg_region *region, uint32_t index)
{
	/* Acquire: pairs with gg_region_site_total_disown(), so the last owner's stores are
	 * visible. */
	return gg_load_acquire(&region->site_owners[index % GG_REGION_OWNERS]);
}

/*
 * Reads sums that another thread may be changing.  True: two readings are equal.  Sums grow with
 * each change.  So two equal readings that are both half of a change mean that this change was
 * under way from the first to the second one, and then the site total had an owner in between.
 */
static bool load_sums(const struct gg_region *region, uint32_t index, const struct gg_sums *from,
                      struct gg_sums *ret_sums, uint32_t *ret_owner)
{
	struct gg_sums again;

	load_sums_once(ret_sums, from);
	*ret_owner = owner_of(region, index);
	load_sums_once(&again, from);
	return memcmp(ret_sums, &again, sizeof(again)) == 0;
}

/*
 * Reads sums whose owner does not finish, perhaps because it does not run.  If the owner has
 * published a change of these sums, its redo log slot has their new values.  Otherwise the owner
 * does not write them until it publishes something.  False: the owner has gone on after all.
 */
static bool read_owned(const struct gg_region *region, uint32_t index, uint32_t owner,
                       const struct gg_sums *from, uint64_t operation, struct gg_sums *ret_sums)
{
	const struct gg_region_redo_slot *slot = gg_region_at(region, GG_TABLE_SLOTS, owner - 1);
	/* Acquire: pairs with publish(), after which the slot's values do not change. */
	uint64_t state = gg_load_acquire(&slot->state), target;

	target = gg_load_acquire((const uint64_t *)(const void *)&slot->live_index);
	/* live_index is the lower half, site_total the upper one. */
	if ((state & GG_REDO_MASK) == operation && (uint32_t)(target >> 32) == index)
		from = &slot->sums;
	load_sums_once(ret_sums, from);
	return gg_load_acquire(&slot->state) == state && owner_of(region, index) == owner;
}

static void read_sums(const struct gg_region *region, uint32_t index, const struct gg_sums *from,
                      uint64_t operation, struct gg_sums *ret_sums)
{
	uint32_t owner = 0;

	for (int i = 0; i < READ_TRIES; i++)
		if (load_sums(region, index, from, ret_sums, &owner) &&
		    (owner == 0 || read_owned(region, index, owner, from, operation, ret_sums)))
			return;
}

bool gg_region_scan_site_total(const struct gg_region *region, uint32_t index,
                               struct gg_region_scan_site_total *ret_total)
{
	const struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS,
	                                                        index);

	/* Acquire: pairs with make_total(). */
	if (gg_load_acquire(&total->ready) != 1)
		return false;
	ret_total->stack = gg_load_relaxed(&total->stack);
	ret_total->thread = gg_load_relaxed(&total->thread);
	if (ret_total->stack >= used_of(region, GG_TABLE_STACKS) ||
	    ret_total->thread >= used_of(region, GG_TABLE_THREADS))
		return false;
	read_sums(region, index, &total->allocated, GG_REDO_ALLOC, &ret_total->allocated);
	read_sums(region, index, &total->freed, GG_REDO_FREE, &ret_total->freed);
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
			break; /* a parent has a smaller id, so the file was changed */
		stack = parent;
	}
	return count;
}

void gg_region_scan_thread_name(const struct gg_region *region, uint32_t thread, char name[17])
{
	const struct gg_region_thread_record *record;
	uint64_t words[sizeof(record->name) / sizeof(uint64_t)];

	name[0] = '\0';
	if (thread >= used_of(region, GG_TABLE_THREADS))
		return;
	record = gg_region_at(region, GG_TABLE_THREADS, thread);
	/* Acquire: pairs with gg_region_thread_begin(). */
	if (gg_load_acquire(&record->ready) != 1)
		return;
	for (size_t i = 0; i < GG_COUNT(words); i++)
		words[i] = gg_load_relaxed((const uint64_t *)(const void *)record->name + i);
	memcpy(name, words, sizeof(words));
	name[sizeof(words)] = '\0';
}
