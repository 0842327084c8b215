/* SPDX-License-Identifier: Apache-2.0 */
/* validate - walks all tables of a region, and compares each private one with the file. */
#include "region/writer/validate.h"

#include <string.h>

#include "region/writer/private_live_table.h"
#include "region/writer/site_totals.h"
#include "region/writer/stack_table.h"

static uint32_t used_count(const struct gg_region *region, enum gg_region_table_id id)
{
	return gg_load_acquire(&region->tables[id].used_count);
}

/* gg_region_space_take_run() raises the count in the file before it returns. */
static const char *check_counts(const struct gg_region *region)
{
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		const struct gg_region_space *table = &region->tables[i];

		if (i == GG_TABLE_RING) /* its records are claimed in the file */
			continue;
		if (table->used_count > table->capacity)
			return "A table has more records than its capacity.";
		if (gg_load_acquire(table->mirror) != table->used_count)
			return "The file has another number of records than the private table.";
	}
	return NULL;
}

/* --- live samples --- */

static const char *check_live_record(const struct gg_region *region, uint32_t live_index)
{
	const struct gg_region_sample *record = &region->records[live_index];
	const struct gg_region_sample *mirror = gg_region_at(region, GG_TABLE_LIVE, live_index);
	uint32_t found;

	if (record->id == 0)
		return mirror->id == 0 ? NULL : "The file has a sample that is not live.";
	if (memcmp(record, mirror, sizeof(*record)) != 0)
		return "A live sample differs from its mirror in the file.";
	if (record->id >= region->next_id)
		return "A live sample has an id that was not given out yet.";
	if (!gg_filter_has(&region->filter, live_index)) /* a place leads to it (record.h) */
		return record->stack < used_count(region, GG_TABLE_STACKS)
		               ? NULL
		               : "A live sample has a stack that does not exist.";
	if (!gg_live_maybe(region, (const void *)(uintptr_t)record->address))
		return "The filter denies the address of a live sample.";
	/* After a deferred free an address may have two live samples; the index finds one. */
	found = gg_region_live_find(region, record->address, NULL);
	if (found == GG_INDEX_NONE || region->records[found].address != record->address)
		return "The address index does not find a live sample.";
	if (record->stack >= used_count(region, GG_TABLE_STACKS))
		return "A live sample has a stack that does not exist.";
	return NULL;
}

static const char *check_free_records(const struct gg_region *region, uint32_t free_count)
{
	uint32_t used = used_count(region, GG_TABLE_LIVE), count = 0;
	uint32_t next_plus_1 = (uint32_t)gg_load_acquire(&region->free_head);

	while (next_plus_1 != 0) {
		if (next_plus_1 > used || region->records[next_plus_1 - 1].id != 0)
			return "The stack of free records leads to a record that is not free.";
		/* Threads keep some free records for themselves, so there may be fewer here. */
		if (++count > free_count)
			return "The stack of free records has a cycle.";
		next_plus_1 = (uint32_t)region->records[next_plus_1 - 1].time_ns;
	}
	return NULL;
}

static const char *check_live(const struct gg_region *region, struct gg_sums *ret_live)
{
	uint32_t used = used_count(region, GG_TABLE_LIVE), free_count = 0;

	for (uint32_t i = 0; i < used; i++) {
		const struct gg_region_sample *record = &region->records[i];
		const char *fault = check_live_record(region, i);
		struct gg_draw draw = gg_region_sample_draw(record);
		struct gg_sums sums;

		if (fault != NULL)
			return fault;
		if (record->id == 0) {
			free_count++;
			continue;
		}
		sums = gg_sums_of(&draw, record->size_bytes);
		gg_sums_add(ret_live, &sums);
	}
	return check_free_records(region, free_count);
}

/* --- site totals --- */

static const char *check_site_total(const struct gg_region *region, uint32_t index)
{
	static const struct gg_sums zero;
	const struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS,
	                                                        index);
	const struct gg_region_site_key *key = &region->site_keys[index];
	bool is_empty = memcmp(&total->allocated, &zero, sizeof(zero)) == 0 &&
	                memcmp(&total->freed, &zero, sizeof(zero)) == 0;

	if (gg_load_acquire(&total->ready) != 1)
		return "A site total was taken and not made.";
	if (total->stack != key->stack ||
	    (total->thread | (total->is_inherited != 0 ? (uint32_t)GG_REGION_KEY_INHERITED : 0)) !=
	            key->thread)
		return "A site total differs from its private key.";
	if (key->stack >= used_count(region, GG_TABLE_STACKS) ||
	    total->thread >= used_count(region, GG_TABLE_THREADS))
		return "A site total has a stack or thread that does not exist.";
	if (!gg_lifetimes_add_up(total))
		return "The lifetimes of a site total do not add up to its frees.";
	/* A site total that lost a race to another thread is never found, and stays empty. */
	if (!is_empty && gg_region_site_total_lookup(region, key->stack, key->thread) != index)
		return "A site total that counts samples is not found by its stack and thread.";
	return NULL;
}

static const char *check_site_totals(const struct gg_region *region, struct gg_sums *ret_rest)
{
	uint32_t used = used_count(region, GG_TABLE_SITE_TOTALS);

	/* Before the first thread begins there is no site total, not even that of the overflow. */
	if (gg_load_acquire(&region->is_open) == 0)
		return NULL;
	for (uint32_t i = 0; i < used; i++) {
		const struct gg_region_site_total *total = gg_region_at(region,
		                                                        GG_TABLE_SITE_TOTALS, i);
		const char *fault = check_site_total(region, i);

		if (fault != NULL)
			return fault;
		gg_sums_add(ret_rest, &total->allocated);
		gg_sums_subtract(ret_rest, &total->freed);
	}
	for (uint32_t i = 0; i < GG_REGION_OWNERS; i++)
		if (gg_load_acquire(&region->site_owners[i]) != 0)
			return "A site total has an owner, though no thread is in a call.";
	return NULL;
}

/* --- redo log and stacks --- */

static const char *check_redo_log(const struct gg_region *region)
{
	for (uint32_t i = 0; i < used_count(region, GG_TABLE_SLOTS); i++) {
		const struct gg_region_redo_slot *slot = gg_region_at(region, GG_TABLE_SLOTS, i);

		if ((gg_load_acquire(&slot->state) & GG_REDO_MASK) != GG_REDO_NOTHING)
			return "A slot of the redo log is published, though no thread is in a call.";
		if (gg_load_relaxed(&region->slot_owners[i]) > 1)
			return "A slot of the redo log has no valid owner word.";
	}
	return NULL;
}

/* A stack's word leads to its first site total. */
static const char *check_stacks(const struct gg_region *region)
{
	for (uint32_t id = GG_STACK_FIRST; id < used_count(region, GG_TABLE_STACKS); id++) {
		uint32_t first = gg_region_site_total_first(region, id);

		if (!gg_region_stack_is_valid(region, id))
			return "A stack's node does not fit its parent or its hash.";
		if (first != GG_INDEX_NONE && (first >= used_count(region, GG_TABLE_SITE_TOTALS) ||
		                               region->site_keys[first].stack != id))
			return "A stack's word leads to the site total of another stack.";
	}
	return NULL;
}

const char *gg_region_validate(const struct gg_region *region)
{
	struct gg_sums live = { 0 }, rest = { 0 };
	const char *fault = check_counts(region);

	if (fault == NULL)
		fault = check_live(region, &live);
	if (fault == NULL)
		fault = check_site_totals(region, &rest);
	if (fault == NULL && memcmp(&live, &rest, sizeof(live)) != 0)
		fault = "Allocated minus freed is not what is live.";
	if (fault == NULL)
		fault = check_redo_log(region);
	if (fault == NULL)
		fault = check_stacks(region);
	return fault;
}
