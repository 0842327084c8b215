/* SPDX-License-Identifier: Apache-2.0 */
/* record - the calls that record allocations, frees and moves. */
#include "region/writer/record.h"

#include "base/assert.h"
#include "region/ring.h"
#include "region/writer/private_live_table.h"
#include "region/writer/redo_log.h"
#include "region/writer/site_totals.h"
#include "region/writer/step.h"

/*
 * Begins a call.  False: the thread is in another call already, which a signal interrupted, or it
 * has no slot in the redo log.
 */
static bool enter(struct gg_region *region, struct gg_region_thread *thread)
{
	if (gg_unlikely(thread->busy || thread->slot_plus_1 == 0)) {
		gg_region_count(region,
		                thread->busy ? GG_COUNT_DROP_BUSY : GG_COUNT_DROP_SLOTS_FULL, 1);
		return false;
	}
	thread->busy = 1;
	gg_fence_signal();
	return true;
}

static void leave(struct gg_region_thread *thread)
{
	gg_assert(thread->busy);
	gg_fence_signal();
	thread->busy = 0;
}

static uint32_t slot_number(const struct gg_region_thread *thread)
{
	return thread->slot_plus_1 - 1;
}

static void put_event(struct gg_region *region, uint32_t kind, uint64_t time_ns, uint32_t thread,
                      uint32_t free_stack, const struct gg_region_sample *sample)
{
	struct gg_region_event event = {
		.time_ns = time_ns,
		.kind = kind,
		.thread = thread,
		.free_stack = free_stack,
		.sample = *sample,
	};

	gg_ring_put(region, &event);
}

/* --- samples that disappear --- */

/* Which sample is to be closed, and why. */
struct closing {
	struct gg_region_live_hit hit;
	uint64_t id; /* 0: whichever sample the hit leads to */
	uint64_t now_ns;
	uint32_t free_stack;
	enum gg_region_counter counter; /* GG_COUNT_FREES or GG_COUNT_MISSED_FREES */
};

/*
 * Closes the sample, unless another thread does, or keeps the site total.
 *
 * Since the look-up another thread may have closed the sample, and used its record again for
 * another address.  So the record is copied and compared, and the claim by its id proves that the
 * copy is still the record.  The site total is owned before the claim, because a claim cannot be
 * undone. *ret_sample is what was closed if the call returns true.
 */
static bool close_sample(struct gg_region *region, struct gg_region_thread *thread,
                         const struct closing *closing, struct gg_region_sample *ret_sample)
{
	const struct gg_region_live_hit *hit = &closing->hit;
	bool is_missed = closing->counter == GG_COUNT_MISSED_FREES;
	uint32_t total_index;

	if (!gg_region_live_copy(region, hit->live_index, ret_sample) ||
	    ret_sample->address != hit->address ||
	    (closing->id != 0 && ret_sample->id != closing->id))
		return false;
	total_index = gg_region_site_total_find(region, ret_sample->stack, thread->thread);
	/* Readers sum frees by stack, so the total of the inherited blocks may take this one. */
	if (gg_unlikely(total_index == GG_INDEX_NONE))
		total_index = gg_region_site_total_of_inherited(region, ret_sample->stack);
	if (total_index == GG_INDEX_NONE ||
	    !gg_region_site_total_own(region, total_index, slot_number(thread))) {
		gg_region_count(region, GG_COUNT_FREE_DEFERRED, 1);
		return false;
	}
	if (!gg_region_live_claim(region, hit->live_index, ret_sample->id)) {
		gg_region_site_total_disown(region, total_index);
		return false;
	}
	gg_region_redo_free(region, thread, hit->live_index, total_index, ret_sample,
	                    closing->now_ns);
	gg_region_site_total_disown(region, total_index);
	gg_region_live_remove(region, thread, hit->live_index, ret_sample->address, hit->entry);
	if (is_missed) /* the site totals count the others */
		gg_region_count(region, GG_COUNT_MISSED_FREES, 1);
	put_event(region, is_missed ? GG_EVENT_MISSED_FREE : GG_EVENT_FREE, closing->now_ns,
	          thread->thread, closing->free_stack, ret_sample);
	return true;
}

/* Closes the sample at an address that the program has got as new: its free was not recorded. */
static void close_missed(struct gg_region *region, struct gg_region_thread *thread,
                         uint64_t address, uint64_t now_ns)
{
	struct closing closing = { .now_ns = now_ns, .counter = GG_COUNT_MISSED_FREES };
	const void *pointer = (const void *)(uintptr_t)address;
	struct gg_region_sample closed;

	if (gg_live_maybe(region, pointer) && gg_region_look_up(region, pointer, &closing.hit))
		close_sample(region, thread, &closing, &closed);
}

bool gg_region_look_up(const struct gg_region *region, const void *pointer,
                       struct gg_region_live_hit *ret_hit)
{
	ret_hit->address = (uint64_t)(uintptr_t)pointer;
	ret_hit->live_index = gg_region_live_find(region, ret_hit->address, &ret_hit->entry);
	return ret_hit->live_index != GG_INDEX_NONE;
}

bool gg_region_look_up_at(const struct gg_region *region, const void *pointer,
                          const struct gg_region_place *place, struct gg_region_live_hit *ret_hit)
{
	/* The place may be of an earlier region; then no sample has its id and address here. */
	if (place->id == 0 ||
	    place->live_index >= gg_load_relaxed(&region->tables[GG_TABLE_LIVE].used_count))
		return false;
	if (gg_unlikely(gg_filter_has(&region->filter, place->live_index)))
		return gg_region_look_up(region, pointer, ret_hit);
	*ret_hit = (struct gg_region_live_hit){ .address = (uint64_t)(uintptr_t)pointer,
		                                .live_index = place->live_index };
	return true;
}

bool gg_region_record_close(struct gg_region *region, struct gg_region_thread *thread,
                            const struct gg_region_live_hit *hit, uint64_t id, uint64_t now_ns,
                            uint32_t free_stack, struct gg_region_sample *ret_sample)
{
	const struct closing closing = { .hit = *hit,
		                         .id = id,
		                         .now_ns = now_ns,
		                         .free_stack = free_stack,
		                         .counter = GG_COUNT_FREES };
	bool is_closed;

	if (!enter(region, thread))
		return false;
	/* The redo log and the filter need these lines in a moment, and nobody has touched them for
	 * long. */
	__builtin_prefetch(gg_region_at(region, GG_TABLE_LIVE, hit->live_index), 1);
	__builtin_prefetch(&region->homes[hit->live_index], 1);
	is_closed = close_sample(region, thread, &closing, ret_sample);
	leave(thread);
	return is_closed;
}

bool gg_region_record_free(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint64_t now_ns, uint32_t free_stack)
{
	struct gg_region_sample freed;
	struct gg_region_live_hit hit;

	return gg_region_look_up(region, pointer, &hit) &&
	       gg_region_record_close(region, thread, &hit, id, now_ns, free_stack, &freed);
}

bool gg_region_find(const struct gg_region *region, const void *pointer,
                    struct gg_region_sample *ret_sample)
{
	return gg_region_find_at(region, pointer, NULL, ret_sample);
}

bool gg_region_find_at(const struct gg_region *region, const void *pointer,
                       const struct gg_region_place *place, struct gg_region_sample *ret_sample)
{
	struct gg_region_live_hit hit;
	struct gg_region_sample copy;
	bool is_found = place != NULL ? gg_region_look_up_at(region, pointer, place, &hit)
	                              : gg_region_look_up(region, pointer, &hit);

	/* The record may belong to another address since the look-up, so compare. */
	if (!is_found || !gg_region_live_copy(region, hit.live_index, &copy) ||
	    copy.address != hit.address)
		return false;
	*ret_sample = copy;
	return true;
}

/* --- samples that appear --- */

/* Packs an allocation into a record.  False: its values do not fit, or no sampler draws them. */
static bool pack(const struct gg_region *region, const struct gg_region_thread *thread,
                 const struct gg_allocation *sample, struct gg_region_sample *ret_packed)
{
	uint64_t slack = sample->usable_bytes > sample->size_bytes
	                         ? sample->usable_bytes - sample->size_bytes
	                         : 0;

	if (sample->address == 0 || sample->size_bytes >> GG_SAMPLE_SIZE_BITS != 0 ||
	    sample->draw.offset_bytes >> GG_SAMPLE_SIZE_BITS != 0 ||
	    !gg_draw_is_valid(&sample->draw) ||
	    sample->stack >= gg_load_relaxed(&region->tables[GG_TABLE_STACKS].used_count))
		return false;
	*ret_packed = (struct gg_region_sample){
		.address = sample->address,
		.time_ns = sample->time_ns,
		.sampling_interval = sample->draw.sampling_interval,
		.size_bytes = sample->size_bytes,
		.heap = sample->heap,
		.offset_bytes = sample->draw.offset_bytes,
		.scheme = (uint64_t)sample->draw.scheme,
		.flags = sample->flags,
		.slack_bytes = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX,
		.sample_point_count = sample->draw.sample_point_count,
		.stack = sample->stack,
		.thread = thread->thread,
		.type = sample->type,
	};
	return true;
}

/*
 * Takes a live record and a site total, and records the sample in both.  Everything that can fail
 * comes before the redo log, and is undone in reverse.  Returns GG_COUNT_SAMPLES, or the reason why
 * the sample is dropped.
 */
static enum gg_region_counter record(struct gg_region *region, struct gg_region_thread *thread,
                                     struct gg_region_sample *sample, struct gg_region_place *place)
{
	uint32_t total_index = gg_region_site_total_find(region, sample->stack, thread->thread);
	uint32_t live_index;

	if (total_index == GG_INDEX_NONE) {
		sample->stack = GG_STACK_OVERFLOW;
		total_index = 0;
	}
	live_index = gg_region_live_take(region, thread);
	if (live_index == GG_INDEX_NONE)
		return GG_COUNT_DROP_LIVE_FULL;
	if (!gg_region_site_total_own(region, total_index, slot_number(thread))) {
		gg_region_live_give(region, thread, live_index);
		return GG_COUNT_DROP_ROW_HELD;
	}
	sample->id = gg_add_relaxed(&region->next_id, 1);
	if (place != NULL) {
		gg_region_live_insert_apart(region, live_index, sample);
		*place = (struct gg_region_place){ .id = sample->id, .live_index = live_index };
	} else if (!gg_region_live_insert(region, live_index, sample)) {
		gg_region_site_total_disown(region, total_index);
		gg_region_live_give(region, thread, live_index);
		return GG_COUNT_DROP_LIVE_FULL;
	}
	gg_region_redo_alloc(region, thread, live_index, total_index, sample);
	gg_region_site_total_disown(region, total_index);
	return GG_COUNT_SAMPLES;
}

/* Closes the sample that a place still has, because its free was not recorded. */
static void close_missed_at(struct gg_region *region, struct gg_region_thread *thread,
                            uint64_t address, const struct gg_region_place *place, uint64_t now_ns)
{
	struct closing closing = { .id = place->id,
		                   .now_ns = now_ns,
		                   .counter = GG_COUNT_MISSED_FREES };
	struct gg_region_sample closed;

	if (gg_region_look_up_at(region, (const void *)(uintptr_t)address, place, &closing.hit))
		close_sample(region, thread, &closing, &closed);
}

uint64_t gg_region_record_alloc(struct gg_region *region, struct gg_region_thread *thread,
                                const struct gg_allocation *sample)
{
	return gg_region_record_alloc_at(region, thread, sample, NULL);
}

uint64_t gg_region_record_alloc_at(struct gg_region *region, struct gg_region_thread *thread,
                                   const struct gg_allocation *sample,
                                   struct gg_region_place *place)
{
	struct gg_region_sample packed;
	enum gg_region_counter outcome = GG_COUNT_DROP_SIZE;

	if (!enter(region, thread))
		return 0;
	if (place == NULL)
		close_missed(region, thread, sample->address, sample->time_ns);
	else if (gg_unlikely(place->id != 0))
		close_missed_at(region, thread, sample->address, place, sample->time_ns);
	if (place != NULL)
		place->id = 0;
	if (pack(region, thread, sample, &packed))
		outcome = record(region, thread, &packed, place);
	if (gg_likely(outcome == GG_COUNT_SAMPLES)) /* its site total counts it */
		put_event(region, GG_EVENT_ALLOC, packed.time_ns, thread->thread, 0, &packed);
	else
		gg_region_count(region, outcome, 1);
	leave(thread);
	return outcome == GG_COUNT_SAMPLES ? packed.id : 0;
}

/* --- samples that change --- */

/* Looks up and copies the sample that the caller means.  False: it is not live. */
static bool find_meant(const struct gg_region *region, const void *pointer, uint64_t id,
                       struct gg_region_live_hit *ret_hit, struct gg_region_sample *ret_copy)
{
	return gg_region_look_up(region, pointer, ret_hit) &&
	       gg_region_live_copy(region, ret_hit->live_index, ret_copy) &&
	       (id == 0 || ret_copy->id == id);
}

static bool move(struct gg_region *region, struct gg_region_thread *thread, const void *from,
                 const void *to, uint64_t id, uint64_t now_ns)
{
	uint64_t to_address = (uint64_t)(uintptr_t)to;
	struct closing closing = { .now_ns = now_ns, .counter = GG_COUNT_MISSED_FREES };
	struct gg_region_sample sample;

	if (!find_meant(region, from, id, &closing.hit, &sample))
		return false;
	if (from == to)
		return true;
	close_missed(region, thread, to_address, now_ns);
	if (gg_region_live_move(region, closing.hit.live_index, closing.hit.entry,
	                        closing.hit.address, to_address))
		return true;
	closing.id = sample.id;
	close_sample(region, thread, &closing, &sample);
	return false;
}

bool gg_region_record_move(struct gg_region *region, struct gg_region_thread *thread,
                           const void *from, const void *to, uint64_t id, uint64_t now_ns)
{
	bool is_moved;

	if (to == NULL || !enter(region, thread))
		return false;
	is_moved = move(region, thread, from, to, id, now_ns);
	leave(thread);
	return is_moved;
}

bool gg_region_record_promote(struct gg_region *region, struct gg_region_thread *thread,
                              const void *pointer, uint64_t id)
{
	struct gg_region_live_hit hit;
	struct gg_region_sample sample;
	bool is_found;

	if (!enter(region, thread))
		return false;
	is_found = find_meant(region, pointer, id, &hit, &sample);
	if (is_found) {
		sample.flags |= GG_REGION_SAMPLE_OLD;
		gg_region_live_set_flags(region, hit.live_index, &sample);
	}
	leave(thread);
	return is_found;
}

bool gg_region_record_type(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint16_t type)
{
	struct gg_region_live_hit hit;
	struct gg_region_sample sample;
	bool is_found;

	if (!enter(region, thread))
		return false;
	is_found = find_meant(region, pointer, id, &hit, &sample);
	if (is_found) {
		sample.type = type;
		gg_region_live_set_type(region, hit.live_index, &sample);
	}
	leave(thread);
	return is_found;
}

/*
 * Only one thread runs in the child yet, and the file has no magic yet, so no reader looks: plain
 * changes do, without owner and redo log.
 */
void gg_region_record_inherited(struct gg_region *region, uint32_t live_index)
{
	struct gg_region_sample *sample = &region->records[live_index];
	struct gg_draw draw = gg_region_sample_draw(sample);
	struct gg_sums sums = gg_sums_of(&draw, sample->size_bytes);
	uint32_t total_index = gg_region_site_total_inherited(region, sample->stack,
	                                                      sample->thread);
	struct gg_region_site_total *total;

	/* Readers notice that the totals of inherited blocks lack some (view.h). */
	if (total_index == GG_INDEX_NONE) {
		sample->stack = GG_STACK_OVERFLOW;
		total_index = 0;
	}
	if (!gg_region_live_insert(region, live_index, sample)) {
		gg_region_live_give_shared(region, live_index);
		gg_region_count(region, GG_COUNT_INHERIT_DROPPED, 1);
		return;
	}
	total = gg_region_at(region, GG_TABLE_SITE_TOTALS, total_index);
	gg_sums_add(&total->allocated, &sums);
	gg_region_meter_change(region, &sums, true);
	gg_put_words(gg_region_at(region, GG_TABLE_LIVE, live_index), sample, sizeof(*sample));
	gg_region_count(region, GG_COUNT_INHERITED, 1);
}
