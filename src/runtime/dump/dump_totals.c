/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dump/dump_totals.h"

#include <errno.h>

#include "base/hash.h"
#include "region/writer/scan.h"
#include "runtime/syscalls.h"

enum {
	SPARE = 1024, /* entries for what comes while it is made */
};

static uint32_t *place_of(const struct gg_dump_totals *gather, uint32_t stack, uint32_t thread)
{
	uint64_t hash = gg_hash_integer((uint64_t)stack << 32 | thread, 0);

	return &gather->places[hash & (gather->place_count - 1)];
}

const struct gg_dump_totals_entry *gg_dump_totals_find(const struct gg_dump_totals *gather,
                                                       uint32_t stack, uint32_t thread)
{
	uint32_t at = *place_of(gather, stack, thread);

	while (at != 0) {
		const struct gg_dump_totals_entry *entry = &gather->entries[at - 1];

		if (entry->stack == stack && entry->thread == thread)
			return entry;
		at = entry->same_place;
	}
	return NULL;
}

/* The entry, new if need be.  NULL: it has no place. */
static struct gg_dump_totals_entry *take(struct gg_dump_totals *gather, uint32_t stack,
                                         uint32_t thread)
{
	struct gg_dump_totals_entry *entry = (struct gg_dump_totals_entry *)gg_dump_totals_find(
		gather, stack, thread);
	uint32_t *place;

	if (entry != NULL || gather->count == gather->capacity)
		return entry;
	place = place_of(gather, stack, thread);
	entry = &gather->entries[gather->count++];
	entry->stack = stack;
	entry->thread = thread;
	entry->same_place = *place;
	*place = gather->count;
	return entry;
}

/* The stack's entry in the thread, in the list of the stack's own. */
static struct gg_dump_totals_entry *take_pair(struct gg_dump_totals *gather, uint32_t stack,
                                              uint32_t thread,
                                              struct gg_dump_totals_entry *of_stack)
{
	uint32_t before = gather->count;
	struct gg_dump_totals_entry *pair = take(gather, stack, thread);

	if (pair != NULL && gather->count > before) {
		pair->of_stack = of_stack->of_stack;
		of_stack->of_stack = gather->count;
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

static void add_pair(struct gg_dump_totals *gather, uint32_t stack, uint32_t thread,
                     const struct gg_dump_sums *sums, uint64_t live_samples)
{
	struct gg_dump_totals_entry *of_stack = take(gather, stack, GG_DUMP_TOTALS_ALL);

	if (of_stack == NULL) {
		stack = GG_STACK_OVERFLOW;
		of_stack = take(gather, stack, GG_DUMP_TOTALS_ALL); /* made first */
	}
	add(take_pair(gather, stack, thread, of_stack), sums, live_samples);
	add(of_stack, sums, live_samples);
	add(take(gather, GG_DUMP_TOTALS_ALL, thread), sums, live_samples);
	add(take(gather, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL), sums, live_samples);
}

static void add_live(struct gg_dump_totals *gather, const struct gg_region *region, uint32_t count,
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
		add_pair(gather, sample.stack, sample.thread, &sums, 1);
	}
}

/* What was allocated there since the base. */
static struct gg_dump_amount allocated_since(const struct gg_region_scan_site_total *row,
                                             const struct gg_dump_totals *base)
{
	struct gg_dump_amount amount = { gg_fixed_value(row->allocated.bytes),
		                         gg_fixed_value(row->allocated.count) };
	const struct gg_dump_totals_entry *before = base != NULL
	                                                    ? gg_dump_totals_find(base, row->stack,
	                                                                          row->thread)
	                                                    : NULL;

	if (before != NULL) {
		amount.bytes -= before->sums.allocated.bytes;
		amount.count -= before->sums.allocated.count;
	}
	return amount;
}

/* There is one row for each pair. */
static void add_rows(struct gg_dump_totals *gather, const struct gg_region *region, uint32_t count,
                     const struct gg_dump_totals *base)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gg_dump_sums sums = { 0 };
		struct gg_region_scan_site_total row;

		if (!gg_region_scan_site_total(region, i, &row) || row.allocated.sample_count == 0)
			continue;
		sums.allocated = allocated_since(&row, base);
		if (sums.allocated.count > 0)
			add_pair(gather, row.stack, row.thread, &sums, 0);
	}
}

/* What is live has been allocated: of each pair, and so of all that has a part in it. */
static void count_live_as_allocated(struct gg_dump_totals *gather)
{
	for (uint32_t i = 0; i < gather->count; i++) {
		const struct gg_dump_totals_entry *pair = &gather->entries[i];
		double bytes = pair->sums.live.bytes - pair->sums.allocated.bytes;
		double count = pair->sums.live.count - pair->sums.allocated.count;
		struct gg_dump_sums missing = { .allocated = { bytes > 0 ? bytes : 0,
			                                       count > 0 ? count : 0 } };

		if (pair->stack != GG_DUMP_TOTALS_ALL && pair->thread != GG_DUMP_TOTALS_ALL &&
		    (bytes > 0 || count > 0))
			add_pair(gather, pair->stack, pair->thread, &missing, 0);
	}
}

static int make_empty(struct gg_dump_totals *gather, const struct gg_region_scan *scan)
{
	uint64_t capacity = (uint64_t)scan->site_total_count * 2 + scan->thread_count + SPARE;
	uint32_t place_count = 1024;
	size_t places_bytes;

	while (place_count < capacity)
		place_count *= 2;
	places_bytes = place_count * sizeof(*gather->places);
	*gather = (struct gg_dump_totals){ .capacity = (uint32_t)capacity,
		                           .place_count = place_count };
	gather->bytes = places_bytes + (size_t)capacity * sizeof(*gather->entries);
	gather->memory = gg_syscall_map(gather->bytes);
	if (gather->memory == NULL)
		return -ENOMEM;
	gather->places = gather->memory;
	gather->entries = (void *)((uint8_t *)gather->memory + places_bytes);
	return 0;
}

int gg_dump_totals_make(struct gg_dump_totals *ret_gather, const struct gg_region *region,
                        const struct gg_dump_totals *base, uint64_t from_id)
{
	struct gg_region_scan scan;
	int status;

	gg_region_scan_begin(region, &scan);
	status = make_empty(ret_gather, &scan);
	if (status < 0)
		return status;
	take(ret_gather, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL);
	take(ret_gather, GG_STACK_OVERFLOW, GG_DUMP_TOTALS_ALL);
	add_live(ret_gather, region, scan.live_count, from_id);
	/* Those that have come meanwhile may be what is live. */
	gg_region_scan_begin(region, &scan);
	add_rows(ret_gather, region, scan.site_total_count, base);
	count_live_as_allocated(ret_gather);
	return 0;
}

void gg_dump_totals_done(struct gg_dump_totals *gather)
{
	if (gather->memory != NULL)
		gg_syscall_unmap(gather->memory, gather->bytes);
	*gather = (struct gg_dump_totals){ 0 };
}
