/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/record.h"

#include <string.h>

#include "base/hash.h"
#include "region/ring.h"
#include "region/writer/step.h"

enum {
	OWNER_TRIES = 2000 /* some 50 us: a holder that is running needs 0.2 */
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

/* Begins a call; false: this thread is in one already, or has not begun, or has no slot. */
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
	gg_fence_signal();
	thread->busy = 0;
}

/* --- the private truth --- */

static bool record_matches(const void *context, uint32_t value)
{
	const struct gg_region_sample *probe = context;
	const struct gg_region_sample *record =
		(const struct gg_region_sample *)(uintptr_t)probe->id + value;

	/* One that is being closed (id 0) may still stand here, beside the next of its address. */
	return gg_load_relaxed(&record->address) == probe->address &&
	       gg_load_relaxed(&record->id) != 0;
}

static uint64_t address_hash(const struct gg_region *region, uint64_t address)
{
	return gg_hash_integer(address, region->hash_seed);
}

/* The record of a live address, and where the index has it. */
static uint32_t find_live(const struct gg_region *region, uint64_t address, uint32_t **ret_entry)
{
	/* The probe carries what record_matches() needs: the address and the records. */
	struct gg_region_sample probe = { .id = (uintptr_t)region->records, .address = address };

	return gg_index_find(&region->live_index, address_hash(region, address), true,
	                     record_matches, &probe, ret_entry);
}

/*
 * Copies a record that others may be closing or reusing: words, untorn each.  False: it is free.
 * What was copied is whole if the id is still there afterwards (claim()): ids do not come back.
 */
static bool copy_record(const struct gg_region *region, uint32_t live,
                        struct gg_region_sample *ret_copy)
{
	const uint64_t *from = (const uint64_t *)(const void *)&region->records[live];
	uint64_t words[sizeof(*ret_copy) / sizeof(uint64_t)];

	/* Acquire: pairs with the release in put_record(). */
	words[0] = gg_load_acquire(&from[0]);
	for (size_t i = 1; i < GG_COUNT(words); i++)
		words[i] = gg_load_relaxed(&from[i]);
	memcpy(ret_copy, words, sizeof(words));
	return ret_copy->id != 0;
}

static void put_record(struct gg_region *region, uint32_t live,
                       const struct gg_region_sample *sample)
{
	uint64_t *to = (uint64_t *)(void *)&region->records[live];
	uint64_t words[sizeof(*sample) / sizeof(uint64_t)];

	memcpy(words, sample, sizeof(words));
	for (size_t i = 1; i < GG_COUNT(words); i++)
		gg_store_relaxed(&to[i], words[i]);
	gg_store_release(&to[0], words[0]);
}

/* True: the sample is this caller's to close, and nobody else's. */
static bool claim(struct gg_region *region, uint32_t live, uint64_t id)
{
	return gg_cas_acq_rel(&region->records[live].id, &id, 0);
}

enum {
	HEAD_SHIFT = 32 /* of the count of changes in free_head */
};

static uint32_t take_shared(struct gg_region *region)
{
	/* Acquire: pairs with the release in give_live(), so the link is there. */
	uint64_t head = gg_load_acquire(&region->free_head);

	while ((uint32_t)head != 0) {
		uint32_t live = (uint32_t)head - 1;
		uint32_t next = (uint32_t)gg_load_relaxed(&region->records[live].time_ns);

		/* The count of changes: the same head with another link does not pass. */
		if (gg_cas_acq_rel(&region->free_head, &head,
		                   ((head >> HEAD_SHIFT) + 1) << HEAD_SHIFT | next))
			return live;
	}
	return gg_region_take(region, GG_TABLE_LIVE);
}

static void give_shared(struct gg_region *region, uint32_t live)
{
	uint64_t head = gg_load_relaxed(&region->free_head);

	do
		gg_store_relaxed(&region->records[live].time_ns, (uint32_t)head);
	while (!gg_cas_acq_rel(&region->free_head, &head,
	                       ((head >> HEAD_SHIFT) + 1) << HEAD_SHIFT | (live + 1)));
}

static uint32_t take_live(struct gg_region *region, struct gg_region_thread *thread)
{
	uint32_t spare = thread->spare_plus_1;

	thread->spare_plus_1 = 0;
	return spare != 0 ? spare - 1 : take_shared(region);
}

static void give_live(struct gg_region *region, struct gg_region_thread *thread, uint32_t live)
{
	if (thread->spare_plus_1 == 0)
		thread->spare_plus_1 = live + 1;
	else
		give_shared(region, live);
}

/* Makes the record findable.  False: the index has no room at its places; all is as before. */
static bool publish_live(struct gg_region *region, uint32_t live,
                         const struct gg_region_sample *sample)
{
	put_record(region, live, sample);
	gg_filter_add(&region->filter, live);
	if (gg_index_add(&region->live_index, address_hash(region, sample->address), live, NULL,
	                 NULL) != GG_INDEX_NONE)
		return true;
	gg_filter_remove(&region->filter, live);
	gg_store_release(&region->records[live].id, 0);
	return false;
}

/* The claimed record goes; its place can be used again. */
static void withdraw_live(struct gg_region *region, struct gg_region_thread *thread, uint32_t live,
                          uint64_t address, uint32_t *entry)
{
	gg_index_remove(&region->live_index, entry, address_hash(region, address), live);
	gg_filter_remove(&region->filter, live);
	/* An address that no look-up asks for: the place is free. */
	gg_store_relaxed(&region->records[live].address, 0);
	give_live(region, thread, live);
}

/* --- rows --- */

struct row_probe {
	const struct gg_region_row_key *keys;
	struct gg_region_row_key wanted;
};

static bool row_matches(const void *context, uint32_t value)
{
	const struct row_probe *probe = context;

	return probe->keys[value].stack == probe->wanted.stack &&
	       probe->keys[value].thread == probe->wanted.thread;
}

static uint32_t take_row(struct gg_region *region, struct gg_region_row_key key)
{
	uint32_t index = gg_region_take(region, GG_TABLE_ROWS);
	struct gg_region_row *row;

	if (index == GG_INDEX_NONE)
		return index;
	row = gg_region_at(region, GG_TABLE_ROWS, index);
	row->stack = key.stack;
	row->thread = key.thread;
	gg_store_release(&row->ready, 1);
	region->row_keys[index] = key;
	return index;
}

static uint32_t first_row(const struct gg_region *region, uint32_t stack)
{
	/* Acquire: pairs with the CAS that put it there, so the row's key is set. */
	return (uint32_t)(gg_load_acquire(&region->stack_words[stack]) & GG_REGION_STACK_ROW_MASK) -
	       1;
}

/* The stack's first row: this one, or that of who was faster. */
static uint32_t set_first_row(struct gg_region *region, uint32_t stack, uint32_t row)
{
	uint64_t *word = &region->stack_words[stack];
	/* Acquire, as in first_row(). */
	uint64_t seen = gg_load_acquire(word);

	while ((seen & GG_REGION_STACK_ROW_MASK) == 0)
		if (gg_cas_acq_rel(word, &seen, seen | (row + 1)))
			return row;
	return (uint32_t)(seen & GG_REGION_STACK_ROW_MASK) - 1;
}

/* The first row stands in the stack's word alone; the index has those of further threads. */
static uint32_t find_other_row(struct gg_region *region, uint32_t stack, uint32_t thread)
{
	struct row_probe probe = { .keys = region->row_keys,
		                   .wanted = { .stack = stack, .thread = thread } };
	uint64_t hash = gg_hash_integer((uint64_t)stack << 16 | thread, region->hash_seed);
	uint32_t index = GG_INDEX_NONE, first = first_row(region, stack);

	if (first != GG_INDEX_NONE) {
		/* It may be, whatever the file says. */
		if (row_matches(&probe, first))
			return first;
		index = gg_index_find(&region->row_index, hash, false, row_matches, &probe, NULL);
		if (index != GG_INDEX_NONE)
			return index;
	}
	index = take_row(region, probe.wanted);
	if (index != GG_INDEX_NONE && first == GG_INDEX_NONE) {
		first = set_first_row(region, stack, index);
		/* Whoever was faster may have no number of its own, too. */
		if (first == index || row_matches(&probe, first))
			return first;
	}
	if (index != GG_INDEX_NONE)
		index = gg_index_add(&region->row_index, hash, index, row_matches, &probe);
	if (index == GG_INDEX_NONE) {
		gg_region_count(region, GG_COUNT_ROWS_FOLDED, 1);
		return first_row(region, stack); /* or GG_INDEX_NONE */
	}
	return index;
}

/* The row that counts for the stack in that thread; made if need be, else the stack's first one.
 * GG_INDEX_NONE: the stack has none and gets none. */
static uint32_t find_row(struct gg_region *region, uint32_t stack, uint32_t thread)
{
	uint32_t first = first_row(region, stack);
	const struct gg_region_row *row;

	/* The row itself is needed soon, its key is not.  Whatever the file says here, `first` is a
	 * row of this stack. */
	if (gg_likely(first != GG_INDEX_NONE)) {
		row = gg_region_at(region, GG_TABLE_ROWS, first);
		if (gg_likely(gg_load_relaxed(&row->thread) == thread))
			return first;
	}
	return find_other_row(region, stack, thread);
}

static uint32_t *owner_of(struct gg_region *region, uint32_t row)
{
	return &region->row_owners[row % GG_REGION_OWNERS];
}

static bool own_row(struct gg_region *region, uint32_t row, uint32_t slot)
{
	const struct gg_region_row *place = gg_region_at(region, GG_TABLE_ROWS, row);

	/* Before the CAS, which waits for all that is under way: the sums of both kinds. */
	__builtin_prefetch(&place->allocated.bytes);
	__builtin_prefetch(&place->freed.bytes);
	for (int i = 0; i < OWNER_TRIES; i++) {
		uint32_t expected = 0;

		/* Acquire: pairs with the release of who changed the sums before. */
		if (gg_likely(gg_cas_acq_rel(owner_of(region, row), &expected, slot + 1)))
			return true;
		pause_briefly();
	}
	return false;
}

static void disown_row(struct gg_region *region, uint32_t row)
{
	gg_store_release(owner_of(region, row), 0);
}

/* --- the announced operation --- */

static const struct gg_sums *weigh(struct gg_region_thread *thread,
                                   const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	/* The weight does not depend on the offset. */
	if (thread->memo_sums.sample_count == 0 || thread->memo_size_bytes != sample->size_bytes ||
	    thread->memo_draw.interval != draw.interval ||
	    thread->memo_draw.scheme != draw.scheme ||
	    thread->memo_draw.mark_count != draw.mark_count) {
		thread->memo_sums = gg_sums_of(&draw, sample->size_bytes);
		thread->memo_size_bytes = sample->size_bytes;
		thread->memo_draw = draw;
	}
	return &thread->memo_sums;
}

/* Everything that is in the slot now holds: a kill from here on leaves the operation done. */
static void announce(struct gg_region_thread *thread, struct gg_region_slot *slot, uint64_t kind)
{
	GG_STEP();
	gg_store_release(&slot->state, thread->operations | kind);
}

static void take_back(struct gg_region_thread *thread, struct gg_region_slot *slot)
{
	thread->operations += GG_ANNOUNCED_STEP;
	GG_STEP();
	/* Release: who sees it sees what was applied. */
	gg_store_release(&slot->state, thread->operations);
}

/* The thread's slot: nothing is announced in it, so a reader does not look at the rest. */
static struct gg_region_slot *slot_of(struct gg_region *region, struct gg_region_thread *thread)
{
	return gg_region_at(region, GG_TABLE_SLOTS, thread->slot_plus_1 - 1);
}

/* The same whole bytes when it comes as when it goes, so nothing is left over. */
static uint64_t whole_bytes(const struct gg_sums *sums)
{
	return (uint64_t)(gg_fixed_wide(sums->bytes) >> GG_FIXED_SHIFT);
}

static void meter(struct gg_region *region, const struct gg_sums *sums, bool comes)
{
	if (gg_unlikely(gg_load_relaxed(&region->is_metered) != 0))
		gg_add_relaxed(&region->live_bytes, comes ? whole_bytes(sums) : -whole_bytes(sums));
}

/* The caller owns the row. */
static void apply_alloc(struct gg_region *region, struct gg_region_thread *thread, uint32_t live,
                        uint32_t row_index, const struct gg_region_sample *sample)
{
	struct gg_region_slot *slot = slot_of(region, thread);
	struct gg_region_row *row = gg_region_at(region, GG_TABLE_ROWS, row_index);
	const struct gg_sums *weighed = weigh(thread, sample);
	struct gg_sums sums = row->allocated;
	uint64_t where = (uint64_t)row_index << 32 | live;

	gg_sums_add(&sums, weighed);
	gg_put_words(&slot->live, &where, sizeof(where)); /* live, row */
	gg_put_words(&slot->sums, &sums, sizeof(sums));
	gg_put_words(&slot->sample, sample, sizeof(*sample));
	announce(thread, slot, GG_ANNOUNCED_ALLOC);
	gg_put_words(gg_region_at(region, GG_TABLE_LIVE, live), sample, sizeof(*sample));
	gg_put_words(&row->allocated, &sums, sizeof(sums));
	take_back(thread, slot);
	meter(region, weighed, true);
}

/* The caller owns the row and has claimed the sample. */
static void apply_free(struct gg_region *region, struct gg_region_thread *thread, uint32_t live,
                       uint32_t row_index, const struct gg_region_sample *sample, uint64_t now_ns)
{
	struct gg_region_slot *slot = slot_of(region, thread);
	struct gg_region_row *row = gg_region_at(region, GG_TABLE_ROWS, row_index);
	struct gg_region_sample *place = gg_region_at(region, GG_TABLE_LIVE, live);
	const struct gg_sums *weighed = weigh(thread, sample);
	struct gg_sums sums = row->freed;
	uint32_t lifetime = gg_lifetime_index(now_ns > sample->time_ns ? now_ns - sample->time_ns
	                                                               : 0);
	uint32_t lifetime_sum = row->lifetimes[lifetime] + 1;
	uint64_t where = (uint64_t)row_index << 32 | live;
	uint64_t histogram = (uint64_t)lifetime_sum << 32 | lifetime;

	gg_sums_add(&sums, weighed);
	gg_put_words(&slot->live, &where, sizeof(where));
	gg_put_words(&slot->lifetime, &histogram, sizeof(histogram)); /* lifetime, lifetime_sum */
	gg_put_words(&slot->sums, &sums, sizeof(sums));
	announce(thread, slot, GG_ANNOUNCED_FREE);
	GG_STEP();
	gg_store_release(&place->id, 0);
	gg_put_words(&row->freed, &sums, sizeof(sums));
	GG_STEP();
	gg_store_release(&row->lifetimes[lifetime], lifetime_sum);
	take_back(thread, slot);
	meter(region, weighed, false);
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

/*
 * Closes the sample, unless somebody else does, or its row cannot be had.  Since it was found another
 * thread may have closed it and used its place again, for another address.  *sample is what was
 * closed, if it returns true.
 */
static bool close_sample(struct gg_region *region, struct gg_region_thread *thread, uint32_t live,
                         uint32_t *entry, uint64_t address, uint64_t id, uint64_t now_ns,
                         uint32_t free_stack, enum gg_region_counter counter,
                         struct gg_region_sample *sample)
{
	uint32_t row;

	if (!copy_record(region, live, sample) || sample->address != address ||
	    (id != 0 && sample->id != id))
		return false;
	row = find_row(region, sample->stack, thread->thread);
	if (row == GG_INDEX_NONE || !own_row(region, row, thread->slot_plus_1 - 1)) {
		gg_region_count(region, GG_COUNT_FREE_DEFERRED, 1);
		return false;
	}
	if (!claim(region, live, sample->id)) {
		disown_row(region, row);
		return false;
	}
	apply_free(region, thread, live, row, sample, now_ns);
	disown_row(region, row);
	withdraw_live(region, thread, live, sample->address, entry);
	if (counter != GG_COUNT_FREES) /* these are counted by the rows */
		gg_region_count(region, counter, 1);
	put_event(region, counter == GG_COUNT_MISSED_FREES ? GG_EVENT_MISSED_FREE : GG_EVENT_FREE,
	          now_ns, thread->thread, free_stack, sample);
	return true;
}

bool gg_region_look_up(const struct gg_region *region, const void *pointer,
                       struct gg_region_live_hit *ret_place)
{
	ret_place->address = (uint64_t)(uintptr_t)pointer;
	ret_place->live = find_live(region, ret_place->address, &ret_place->entry);
	return ret_place->live != GG_INDEX_NONE;
}

bool gg_region_record_close(struct gg_region *region, struct gg_region_thread *thread,
                            const struct gg_region_live_hit *place, uint64_t id, uint64_t now_ns,
                            uint32_t free_stack, struct gg_region_sample *ret_sample)
{
	bool closed;

	if (!enter(region, thread))
		return false;
	/* Needed in a moment, and far away by now. */
	__builtin_prefetch(gg_region_at(region, GG_TABLE_LIVE, place->live), 1);
	__builtin_prefetch(&region->homes[place->live], 1);
	closed = close_sample(region, thread, place->live, place->entry, place->address, id, now_ns,
	                      free_stack, GG_COUNT_FREES, ret_sample);
	leave(thread);
	return closed;
}

bool gg_region_record_free(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint64_t now_ns, uint32_t free_stack)
{
	struct gg_region_sample freed;
	struct gg_region_live_hit place;

	return gg_region_look_up(region, pointer, &place) &&
	       gg_region_record_close(region, thread, &place, id, now_ns, free_stack, &freed);
}

uint32_t gg_region_find_place(const struct gg_region *region, uint64_t address)
{
	return find_live(region, address, NULL);
}

bool gg_region_find(const struct gg_region *region, const void *pointer,
                    struct gg_region_sample *ret_sample)
{
	uint32_t live = find_live(region, (uint64_t)(uintptr_t)pointer, NULL);
	struct gg_region_sample copy;

	if (live == GG_INDEX_NONE || !copy_record(region, live, &copy) ||
	    copy.address != (uint64_t)(uintptr_t)pointer)
		return false;
	*ret_sample = copy;
	return true;
}

bool gg_region_live_at(const struct gg_region *region, uint32_t live,
                       struct gg_region_sample *ret_sample)
{
	return copy_record(region, live, ret_sample);
}

/* The address is new, so what was there is gone: its free never came by. */
static void close_missed(struct gg_region *region, struct gg_region_thread *thread,
                         const struct gg_allocation *sample)
{
	struct gg_region_sample closed;
	uint32_t *entry;
	uint32_t live;

	if (!gg_live_maybe(region, (const void *)(uintptr_t)sample->address))
		return;
	live = find_live(region, sample->address, &entry);
	if (live != GG_INDEX_NONE)
		close_sample(region, thread, live, entry, sample->address, 0, sample->time_ns, 0,
		             GG_COUNT_MISSED_FREES, &closed);
}

/* Packs what is given; false: it does not fit a record. */
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
		.interval = sample->draw.interval,
		.size_bytes = sample->size_bytes,
		.heap = sample->heap,
		.offset_bytes = sample->draw.offset_bytes,
		.scheme = (uint64_t)sample->draw.scheme,
		.flags = sample->flags,
		.slack_bytes = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX,
		.mark_count = sample->draw.mark_count,
		.stack = sample->stack,
		.thread = thread->thread,
		.type = sample->type,
	};
	return true;
}

/* A place and a row for the sample, both taken; the reason to drop it else. */
static enum gg_region_counter record(struct gg_region *region, struct gg_region_thread *thread,
                                     struct gg_region_sample *sample)
{
	uint32_t live, row = find_row(region, sample->stack, thread->thread);

	if (row == GG_INDEX_NONE) {
		sample->stack = GG_STACK_OVERFLOW;
		row = 0;
	}
	live = take_live(region, thread);
	if (live == GG_INDEX_NONE)
		return GG_COUNT_DROP_LIVE_FULL;
	if (!own_row(region, row, thread->slot_plus_1 - 1)) {
		give_live(region, thread, live);
		return GG_COUNT_DROP_ROW_HELD;
	}
	sample->id = gg_add_relaxed(&region->next_id, 1);
	if (!publish_live(region, live, sample)) {
		disown_row(region, row);
		give_live(region, thread, live);
		return GG_COUNT_DROP_LIVE_FULL;
	}
	apply_alloc(region, thread, live, row, sample);
	disown_row(region, row);
	return GG_COUNT_SAMPLES;
}

uint64_t gg_region_record_alloc(struct gg_region *region, struct gg_region_thread *thread,
                                const struct gg_allocation *sample)
{
	struct gg_region_sample packed;
	enum gg_region_counter outcome = GG_COUNT_DROP_SIZE;

	if (!enter(region, thread))
		return 0;
	close_missed(region, thread, sample);
	if (pack(region, thread, sample, &packed))
		outcome = record(region, thread, &packed);
	if (gg_likely(outcome == GG_COUNT_SAMPLES)) /* counted by its row */
		put_event(region, GG_EVENT_ALLOC, packed.time_ns, thread->thread, 0, &packed);
	else
		gg_region_count(region, outcome, 1);
	leave(thread);
	return outcome == GG_COUNT_SAMPLES ? packed.id : 0;
}

/* Stores a word of a live sample, in the truth and in the mirror. */
static void put_word(struct gg_region *region, uint32_t live, size_t word, uint64_t value)
{
	uint64_t *truth = (uint64_t *)(void *)&region->records[live];
	uint64_t *mirror = gg_region_at(region, GG_TABLE_LIVE, live);

	gg_store_relaxed(&truth[word], value);
	GG_STEP();
	gg_store_release(&mirror[word], value);
}

/* The live sample there, if it is the one that is meant; and where the index has it. */
static uint32_t find_meant(const struct gg_region *region, uint64_t address, uint64_t id,
                           struct gg_region_sample *ret_copy, uint32_t **ret_entry)
{
	uint32_t live = find_live(region, address, ret_entry);

	if (live == GG_INDEX_NONE || !copy_record(region, live, ret_copy) ||
	    (id != 0 && ret_copy->id != id))
		return GG_INDEX_NONE;
	return live;
}

static bool move(struct gg_region *region, struct gg_region_thread *thread, uint64_t from,
                 uint64_t to, uint64_t id, uint64_t now_ns)
{
	const struct gg_allocation arrival = { .address = to, .time_ns = now_ns };
	struct gg_region_sample sample;
	uint32_t *entry;
	uint32_t live = find_meant(region, from, id, &sample, &entry);

	if (live == GG_INDEX_NONE)
		return false;
	if (from == to)
		return true;
	close_missed(region, thread, &arrival);
	/* Under the new hash first: if there is no room, all is as before, and can be closed. */
	if (gg_index_add(&region->live_index, address_hash(region, to), live, NULL, NULL) ==
	    GG_INDEX_NONE) {
		close_sample(region, thread, live, entry, from, sample.id, now_ns, 0,
		             GG_COUNT_MISSED_FREES, &sample);
		return false;
	}
	gg_filter_remove(&region->filter, live);
	put_word(region, live, offsetof(struct gg_region_sample, address) / sizeof(uint64_t), to);
	gg_filter_add(&region->filter, live);
	gg_index_remove(&region->live_index, entry, address_hash(region, from), live);
	return true;
}

bool gg_region_record_move(struct gg_region *region, struct gg_region_thread *thread,
                           const void *from, const void *to, uint64_t id, uint64_t now_ns)
{
	bool moved;

	if (to == NULL || !enter(region, thread))
		return false;
	moved = move(region, thread, (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, id,
	             now_ns);
	leave(thread);
	return moved;
}

bool gg_region_record_promote(struct gg_region *region, struct gg_region_thread *thread,
                              const void *pointer, uint64_t id)
{
	enum { FLAGS_WORD = 5 };
	struct gg_region_sample sample;
	uint32_t live, *entry;
	uint64_t words[sizeof(sample) / sizeof(uint64_t)];

	if (!enter(region, thread))
		return false;
	live = find_meant(region, (uint64_t)(uintptr_t)pointer, id, &sample, &entry);
	if (live != GG_INDEX_NONE) {
		sample.flags |= GG_REGION_SAMPLE_OLD;
		memcpy(words, &sample, sizeof(words));
		put_word(region, live, FLAGS_WORD, words[FLAGS_WORD]);
	}
	leave(thread);
	return live != GG_INDEX_NONE;
}

void gg_region_meter(struct gg_region *region)
{
	uint32_t count = gg_load_acquire(&region->tables[GG_TABLE_LIVE].used_count);
	struct gg_region_sample sample;
	uint64_t live_bytes = 0;

	if (gg_load_relaxed(&region->is_metered) != 0)
		return;
	gg_store_relaxed(&region->live_bytes, 0);
	gg_store_relaxed(&region->is_metered, 1);
	for (uint32_t i = 0; i < count; i++) {
		struct gg_draw draw;
		struct gg_sums sums;

		if (!copy_record(region, i, &sample))
			continue;
		draw = gg_region_sample_draw(&sample);
		sums = gg_sums_of(&draw, sample.size_bytes);
		live_bytes += whole_bytes(&sums);
	}
	gg_add_relaxed(&region->live_bytes, live_bytes);
}

void gg_region_record_inherited(struct gg_region *region, uint32_t live)
{
	struct gg_region_sample *sample = &region->records[live];
	struct gg_draw draw = gg_region_sample_draw(sample);
	struct gg_sums sums = gg_sums_of(&draw, sample->size_bytes);
	uint32_t row_index = find_row(region, sample->stack, sample->thread);
	struct gg_region_row *row;

	if (row_index == GG_INDEX_NONE) {
		sample->stack = GG_STACK_OVERFLOW;
		row_index = 0;
	}
	if (!publish_live(region, live, sample)) {
		give_shared(region, live);
		gg_region_count(region, GG_COUNT_INHERIT_DROPPED, 1);
		return;
	}
	row = gg_region_at(region, GG_TABLE_ROWS, row_index);
	gg_sums_add(&row->allocated, &sums);
	meter(region, &sums, true);
	gg_put_words(gg_region_at(region, GG_TABLE_LIVE, live), sample, sizeof(*sample));
	gg_region_count(region, GG_COUNT_INHERITED, 1);
}

void gg_region_record_free_place(struct gg_region *region, uint32_t live)
{
	give_shared(region, live);
}
