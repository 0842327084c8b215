/* SPDX-License-Identifier: Apache-2.0 */
/* redo_log - publishes, applies and retires the changes of a thread. */
#include "region/writer/redo_log.h"

#include "base/assert.h"
#include "region/writer/private_live_table.h"
#include "region/writer/step.h"

/*
 * Returns the sample's contribution to its site total.  Samples of one site often have the same
 * size, so the thread keeps the last result.  The weight does not depend on the offset of the
 * sample point.
 */
static const struct gg_sums *weigh(struct gg_region_thread *thread,
                                   const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	if (thread->last_sums.sample_count == 0 || thread->last_size_bytes != sample->size_bytes ||
	    thread->last_draw.sampling_interval != draw.sampling_interval ||
	    thread->last_draw.scheme != draw.scheme ||
	    thread->last_draw.sample_point_count != draw.sample_point_count) {
		thread->last_sums = gg_sums_of_cached(&draw, sample->size_bytes, &thread->weights);
		thread->last_size_bytes = sample->size_bytes;
		thread->last_draw = draw;
	}
	gg_assert(thread->last_sums.sample_count == 1);
	return &thread->last_sums;
}

/* The thread's slot.  It is retired, so readers ignore all but its state. */
static struct gg_region_redo_slot *slot_of(struct gg_region *region,
                                           struct gg_region_thread *thread)
{
	gg_assert(thread->slot_plus_1 != 0);
	gg_assert((thread->operations & GG_REDO_MASK) == GG_REDO_NOTHING);
	return gg_region_at(region, GG_TABLE_SLOTS, thread->slot_plus_1 - 1);
}

/* From this store on, a kill leaves the operation done: readers apply what the slot says. */
static void publish(struct gg_region_thread *thread, struct gg_region_redo_slot *slot,
                    uint64_t operation)
{
	gg_assert(operation == GG_REDO_ALLOC || operation == GG_REDO_FREE);
	GG_STEP();
	gg_store_release(&slot->state, thread->operations | operation);
}

/* The count of operations goes up, so that a reader notices a change even if the same operation
 * is published again. */
static void retire(struct gg_region_thread *thread, struct gg_region_redo_slot *slot)
{
	thread->operations += GG_REDO_STEP;
	GG_STEP();
	/* Release: a reader that sees the slot retired sees what was applied. */
	gg_store_release(&slot->state, thread->operations);
}

/* Stores the members live_index and site_total of the slot, which share a word. */
static void put_target(struct gg_region_redo_slot *slot, uint32_t live_index, uint32_t total_index)
{
	uint64_t target = (uint64_t)total_index << 32 | live_index;

	_Static_assert(offsetof(struct gg_region_redo_slot, site_total) ==
	                       offsetof(struct gg_region_redo_slot, live_index) + 4,
	               "the upper half of the word");
	gg_put_words(&slot->live_index, &target, sizeof(target));
}

void gg_region_redo_alloc(struct gg_region *region, struct gg_region_thread *thread,
                          uint32_t live_index, uint32_t total_index,
                          const struct gg_region_sample *sample)
{
	struct gg_region_redo_slot *slot = slot_of(region, thread);
	struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS,
	                                                  total_index);
	const struct gg_sums *weighed = weigh(thread, sample);
	struct gg_sums sums = total->allocated;

	gg_assert(sample->id != 0 && sample->address != 0);
	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	gg_assert(total_index < gg_load_relaxed(&region->tables[GG_TABLE_SITE_TOTALS].used_count));
	gg_sums_add(&sums, weighed);
	put_target(slot, live_index, total_index);
	gg_put_words(&slot->sums, &sums, sizeof(sums));
	gg_put_words(&slot->sample, sample, sizeof(*sample));
	publish(thread, slot, GG_REDO_ALLOC);
	gg_put_words(gg_region_at(region, GG_TABLE_LIVE, live_index), sample, sizeof(*sample));
	gg_put_words(&total->allocated, &sums, sizeof(sums));
	retire(thread, slot);
	gg_region_meter_change(region, weighed, true);
}

void gg_region_redo_free(struct gg_region *region, struct gg_region_thread *thread,
                         uint32_t live_index, uint32_t total_index,
                         const struct gg_region_sample *sample, uint64_t now_ns)
{
	struct gg_region_redo_slot *slot = slot_of(region, thread);
	struct gg_region_site_total *total = gg_region_at(region, GG_TABLE_SITE_TOTALS,
	                                                  total_index);
	struct gg_region_sample *mirror = gg_region_at(region, GG_TABLE_LIVE, live_index);
	const struct gg_sums *weighed = weigh(thread, sample);
	struct gg_sums sums = total->freed;
	uint32_t lifetime = gg_lifetime_index(now_ns > sample->time_ns ? now_ns - sample->time_ns
	                                                               : 0);
	uint32_t lifetime_sum = total->lifetimes[lifetime] + 1;
	uint64_t histogram = (uint64_t)lifetime_sum << 32 | lifetime;

	gg_assert(lifetime < GG_REGION_LIFETIME_COUNT);
	gg_assert(live_index < gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count));
	gg_assert(total_index < gg_load_relaxed(&region->tables[GG_TABLE_SITE_TOTALS].used_count));
	gg_sums_add(&sums, weighed);
	put_target(slot, live_index, total_index);
	gg_put_words(&slot->lifetime, &histogram, sizeof(histogram)); /* lifetime, lifetime_sum */
	gg_put_words(&slot->sums, &sums, sizeof(sums));
	publish(thread, slot, GG_REDO_FREE);
	GG_STEP();
	gg_store_release(&mirror->id, 0);
	gg_put_words(&total->freed, &sums, sizeof(sums));
	GG_STEP();
	gg_store_release(&total->lifetimes[lifetime], lifetime_sum);
	retire(thread, slot);
	gg_region_meter_change(region, weighed, false);
}
