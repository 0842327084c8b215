/* SPDX-License-Identifier: Apache-2.0 */
/* dump_totals - keeps sums by stack and thread in a hash table, in one mapping. */
#include "runtime/dump/dump_totals.h"

#include <errno.h>

#include "base/assert.h"
#include "base/hash.h"
#include "region/writer/scan.h"
#include "runtime/syscalls.h"

enum {
	SPARE_ENTRIES = 1024 /* for stacks that appear while the sums are made */
};

static uint32_t *bucket_of(const struct gg_dump_totals *totals, uint32_t stack, uint32_t thread)
{
	uint64_t hash = gg_hash_integer((uint64_t)stack << 32 | thread, 0);

	return &totals->buckets[hash & (totals->bucket_count - 1)];
}

const struct gg_dump_totals_entry *gg_dump_totals_find(const struct gg_dump_totals *totals,
                                                       uint32_t stack, uint32_t thread)
{
	uint32_t at = *bucket_of(totals, stack, thread);

	while (at != 0) {
		const struct gg_dump_totals_entry *entry = &totals->entries[at - 1];

		if (entry->stack == stack && entry->thread == thread)
			return entry;
		at = entry->next_in_bucket;
	}
	return NULL;
}

/* Finds the entry or makes it.  NULL: the table is full. */
static struct gg_dump_totals_entry *take(struct gg_dump_totals *totals, uint32_t stack,
                                         uint32_t thread)
{
	struct gg_dump_totals_entry *entry = (struct gg_dump_totals_entry *)gg_dump_totals_find(
		totals, stack, thread);
	uint32_t *bucket;

	if (entry != NULL || totals->count == totals->capacity)
		return entry;
	bucket = bucket_of(totals, stack, thread);
	gg_assert(totals->count < totals->capacity);
	entry = &totals->entries[totals->count++];
	entry->stack = stack;
	entry->thread = thread;
	entry->next_in_bucket = *bucket;
	*bucket = totals->count;
	return entry;
}

/* Finds or makes the entry of a stack in a thread, and links it into the list of its stack. */
static struct gg_dump_totals_entry *take_pair(struct gg_dump_totals *totals, uint32_t stack,
                                              uint32_t thread,
                                              struct gg_dump_totals_entry *of_stack)
{
	uint32_t before = totals->count;
	struct gg_dump_totals_entry *pair = take(totals, stack, thread);

	if (pair != NULL && totals->count > before) {
		pair->of_stack = of_stack->of_stack;
		of_stack->of_stack = totals->count;
	}
	return pair;
}

static void add(struct gg_dump_totals_entry *entry, const struct gg_dump_sums *sums,
                uint64_t live_samples)
{
	if (entry == NULL)
		return;
	entry->sums.live.bytes += sums->live.bytes;
	entry->sums.live.count += sums->live.count;
	entry->sums.allocated.bytes += sums->allocated.bytes;
	entry->sums.allocated.count += sums->allocated.count;
	entry->live_samples += live_samples;
}

/*
 * Adds sums to the pair of stack and thread, to the stack, to the thread, and to the total.  If the
 * table has no room for the stack, its sums go to the overflow stack, so that the total stays
 * right.
 */
static void add_pair(struct gg_dump_totals *totals, uint32_t stack, uint32_t thread,
                     const struct gg_dump_sums *sums, uint64_t live_samples)
{
	struct gg_dump_totals_entry *of_stack = take(totals, stack, GG_DUMP_TOTALS_ALL);

	if (of_stack == NULL) {
		stack = GG_STACK_OVERFLOW;
		of_stack = take(
			totals, stack,
			GG_DUMP_TOTALS_ALL); /* gg_dump_totals_make() made this entry first */
	}
	add(take_pair(totals, stack, thread, of_stack), sums, live_samples);
	add(of_stack, sums, live_samples);
	add(take(totals, GG_DUMP_TOTALS_ALL, thread), sums, live_samples);
	add(take(totals, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL), sums, live_samples);
}

/* Live sums come from the live samples themselves; those below from_id were there at the reset. */
static void add_live(struct gg_dump_totals *totals, const struct gg_region *region, uint32_t count,
                     uint64_t from_id)
{
	struct gg_region_sample sample;

	for (uint32_t i = 0; i < count; i++) {
		struct gg_dump_sums sums = { 0 };
		struct gg_draw draw;
		struct gg_weight weight;

		if (!gg_region_scan_live(region, i, &sample) || sample.id < from_id)
			continue;
		draw = gg_region_sample_draw(&sample);
		weight = gg_weight_of(&draw, sample.size_bytes);
		sums.live = (struct gg_dump_amount){ weight.bytes, weight.count };
		add_pair(totals, sample.stack, sample.thread, &sums, 1);
	}
}

/* The allocations at the site since the base. */
static struct gg_dump_amount allocated_since(const struct gg_region_scan_site_total *site,
                                             const struct gg_dump_totals *base)
{
	struct gg_dump_amount amount = { gg_fixed_value(site->allocated.bytes),
		                         gg_fixed_value(site->allocated.count) };
	const struct gg_dump_totals_entry *before = base != NULL
	                                                    ? gg_dump_totals_find(base, site->stack,
	                                                                          site->thread)
	                                                    : NULL;

	if (before != NULL) {
		amount.bytes -= before->sums.allocated.bytes;
		amount.count -= before->sums.allocated.count;
	}
	return amount;
}

/* The region has one site total for each pair of stack and thread. */
static void add_site_totals(struct gg_dump_totals *totals, const struct gg_region *region,
                            uint32_t count, const struct gg_dump_totals *base)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gg_dump_sums sums = { 0 };
		struct gg_region_scan_site_total site;

		if (!gg_region_scan_site_total(region, i, &site) ||
		    site.allocated.sample_count == 0)
			continue;
		sums.allocated = allocated_since(&site, base);
		if (sums.allocated.count > 0)
			add_pair(totals, site.stack, site.thread, &sums, 0);
	}
}

/*
 * A live sample was allocated, but its site total may have been read before the allocation was
 * added to it.  So each pair has at least as much allocated as live, and so have the sums that it
 * is a part of.  The sums are not visited: entries that add_pair() changes here exist already.
 */
static void count_live_as_allocated(struct gg_dump_totals *totals)
{
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct gg_dump_totals_entry *pair = &totals->entries[i];
		double bytes = pair->sums.live.bytes - pair->sums.allocated.bytes;
		double count = pair->sums.live.count - pair->sums.allocated.count;
		struct gg_dump_sums missing = { .allocated = { bytes > 0 ? bytes : 0,
			                                       count > 0 ? count : 0 } };

		if (pair->stack != GG_DUMP_TOTALS_ALL && pair->thread != GG_DUMP_TOTALS_ALL &&
		    (bytes > 0 || count > 0))
			add_pair(totals, pair->stack, pair->thread, &missing, 0);
	}
}

static int make_empty(struct gg_dump_totals *totals, const struct gg_region_scan *scan)
{
	uint64_t capacity = (uint64_t)scan->site_total_count * 2 + scan->thread_count +
	                    SPARE_ENTRIES;
	uint32_t bucket_count = 1024;
	size_t bucket_bytes;

	while (bucket_count < capacity)
		bucket_count *= 2;
	gg_assert((bucket_count & (bucket_count - 1)) == 0);
	bucket_bytes = bucket_count * sizeof(*totals->buckets);
	*totals = (struct gg_dump_totals){ .capacity = (uint32_t)capacity,
		                           .bucket_count = bucket_count };
	totals->bytes = bucket_bytes + (size_t)capacity * sizeof(*totals->entries);
	totals->memory = gg_syscall_map(totals->bytes);
	if (totals->memory == NULL)
		return -ENOMEM;
	totals->buckets = totals->memory;
	totals->entries = (void *)((uint8_t *)totals->memory + bucket_bytes);
	return 0;
}

int gg_dump_totals_make(struct gg_dump_totals *ret_totals, const struct gg_region *region,
                        const struct gg_dump_totals *base, uint64_t from_id)
{
	struct gg_region_scan scan;
	int status;

	gg_region_scan_begin(region, &scan);
	status = make_empty(ret_totals, &scan);
	if (status < 0)
		return status;
	take(ret_totals, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL);
	take(ret_totals, GG_STACK_OVERFLOW, GG_DUMP_TOTALS_ALL);
	add_live(ret_totals, region, scan.live_count, from_id);
	/*
	 * Again, because live samples may belong to site totals that are newer than the first scan.
	 */
	gg_region_scan_begin(region, &scan);
	add_site_totals(ret_totals, region, scan.site_total_count, base);
	count_live_as_allocated(ret_totals);
	return 0;
}

void gg_dump_totals_done(struct gg_dump_totals *totals)
{
	if (totals->memory != NULL)
		gg_syscall_unmap(totals->memory, totals->bytes);
	*totals = (struct gg_dump_totals){ 0 };
}
