/* SPDX-License-Identifier: Apache-2.0 */
/* exact - counters of every allocation and free. */
#include "region/writer/exact.h"

#include <sched.h>
#include <string.h>

#include "base/assert.h"
#include "base/single_thread.h"
#include "region/writer/site_totals.h"
#include "region/writer/space.h"
#include "region/writer/step.h"

enum { WORD_BITS = 48, NOTED_SHIFT = 10, SPINS = 100 };

bool gg_exact_init(struct gg_exact *exact, struct gg_region *region, uint64_t most_count)
{
	gg_exact_done(exact);
	if (!gg_region_open(region) || !gg_exact_live_init(&exact->live, most_count))
		return false;
	exact->region = region;
	region->has_recent_stacks = 1;
	exact->is_on = 1;
	return true;
}

void gg_exact_done(struct gg_exact *exact)
{
	gg_exact_live_done(&exact->live);
	*exact = (struct gg_exact){ 0 };
}

void gg_exact_adopt(struct gg_exact *exact, uint64_t now_ns)
{
	struct gg_region_exact *header = &exact->region->header->exact;

	if (exact->is_stopped) {
		header->stopped_ns = now_ns;
		header->flags |= GG_REGION_EXACT_STOPPED;
	}
	header->inherited_count = gg_exact_live_count(&exact->live);
	header->inherited_bytes = exact->live_bytes;
	exact->forked_ns = gg_exact_live_latest_ns(&exact->live, now_ns);
	exact->live_bytes = exact->peak_bytes = exact->noted_bytes = 0;
	exact->peak_number = 0;
	exact->is_noting = 0;
}

/* --- records --- */

static GG_APART void lock_shared(uint32_t *lock)
{
	uint32_t open = 0;

	/* Acquire: pairs with the release of the last holder. */
	for (int i = 0; !gg_cas_acq_rel(lock, &open, 1); i++) {
		open = 0;
		if (i >= SPINS)
			sched_yield();
	}
}

/*
 * The record of the stack in the thread.  *ret_is_shared: other threads may count in it as well, so
 * the caller has the lock.
 */
static inline struct gg_exact_total *find_total(struct gg_exact *exact, uint32_t *stack,
                                                uint32_t thread, bool *ret_is_shared)
{
	struct gg_region *region = exact->region;
	uint32_t index = *stack != GG_STACK_OVERFLOW
	                         ? gg_region_site_total_find(region, *stack, thread)
	                         : 0;

	if (gg_likely(index != GG_INDEX_NONE && index != 0 && thread != 0) &&
	    gg_likely(region->site_keys[index].thread == thread)) {
		*ret_is_shared = false;
		return gg_region_at(region, GG_TABLE_SITE_TOTALS, index);
	}
	*ret_is_shared = true;
	lock_shared(&exact->shared_lock);
	if (index == GG_INDEX_NONE || region->site_keys[index].thread != thread) {
		*stack = GG_STACK_OVERFLOW;
		index = 0;
	}
	return gg_region_at(region, GG_TABLE_SITE_TOTALS, index);
}

static inline void let_go(struct gg_exact *exact, bool is_shared)
{
	/* Release: the next holder sees the record. */
	if (gg_unlikely(is_shared))
		gg_store_release(&exact->shared_lock, 0);
}

/*
 * Stores a word of a record.  Release: readers of a file that is mapped elsewhere see the stores in
 * their order.
 */
static inline void put(uint64_t *word, uint64_t value)
{
	GG_STEP();
	gg_store_release(word, value);
}

/* Saves the record if it has not changed since the last numbered peak. */
static inline void save_at_peak(const struct gg_exact *exact, struct gg_exact_total *total)
{
	/* Acquire: a thread that sees the number changes the record after that peak. */
	uint32_t number = gg_load_acquire(&exact->peak_number);
	struct gg_exact_sums sums;

	if (gg_likely(total->mark == number))
		return;
	sums = gg_exact_total_sums(total);
	gg_put_words(&total->saved, &sums, sizeof(sums));
	put(&total->mark, number);
}

/* --- the peak --- */

static GG_APART void raise_peak(struct gg_exact *exact, uint64_t live_bytes)
{
	uint64_t peak = gg_load_relaxed(&exact->peak_bytes);

	while (live_bytes > peak && !gg_cas_acq_rel(&exact->peak_bytes, &peak, live_bytes))
		;
	if (live_bytes > peak)
		gg_store_relaxed(&exact->region->header->exact.peak_bytes, live_bytes);
}

/* Numbers the peak that ends now, before the free that ends it is counted. */
static GG_APART void note_peak(struct gg_exact *exact, uint64_t live_bytes, uint64_t now_ns)
{
	struct gg_region_exact *header = &exact->region->header->exact;

	if (gg_exchange_acq_rel(&exact->is_noting, 1) != 0)
		return;
	if (live_bytes > exact->noted_bytes) {
		gg_store_relaxed(&exact->noted_bytes, live_bytes);
		gg_store_relaxed(&header->peak_ns, now_ns);
		/* Release: readers that see the number see the time. */
		gg_store_release(&header->peak_number, exact->peak_number + 1);
		gg_store_release(&exact->peak_number, exact->peak_number + 1);
	}
	gg_store_release(&exact->is_noting, 0);
}

/* --- operations --- */

/*
 * In a forked child, a clock that is a little behind that of a thread of the parent must not make a
 * new block an inherited one.
 */
static inline uint64_t after_fork(const struct gg_exact *exact, uint64_t now_ns)
{
	return gg_likely(now_ns > exact->forked_ns) ? now_ns : exact->forked_ns + 1;
}

static GG_APART void stop(struct gg_exact *exact, uint64_t now_ns)
{
	struct gg_region_exact *header = &exact->region->header->exact;

	if (gg_exchange_acq_rel(&exact->is_stopped, 1) != 0)
		return;
	gg_store_relaxed(&header->stopped_ns, now_ns);
	gg_store_release(&header->flags, (uint32_t)(GG_REGION_EXACT | GG_REGION_EXACT_STOPPED));
}

static inline void count_allocation(struct gg_exact *exact, struct gg_exact_total *total,
                                    uint64_t bytes)
{
	uint64_t count = total->allocated_count;

	save_at_peak(exact, total);
	put(&total->allocated_bytes[(count + 1) & 1], total->allocated_bytes[count & 1] + bytes);
	/* The number makes the bytes valid. */
	put(&total->allocated_count, count + 1);
}

void gg_exact_allocated(struct gg_exact *exact, const struct gg_region_thread *thread,
                        const void *pointer, uint64_t bytes, uint32_t stack, uint64_t now_ns)
{
	struct gg_exact_block block = { .address = (uintptr_t)pointer,
		                        .time_ns = after_fork(exact, now_ns),
		                        .size_bytes = bytes },
			      replaced;
	struct gg_exact_total *total;
	uint64_t live_bytes;
	bool is_shared;

	if (gg_unlikely((block.address | bytes) >> WORD_BITS != 0)) {
		gg_region_count(exact->region, GG_COUNT_DROP_SIZE, 1);
		return;
	}
	total = find_total(exact, &stack, thread->thread, &is_shared);
	count_allocation(exact, total, bytes);
	let_go(exact, is_shared);
	if (gg_unlikely(gg_load_relaxed(&exact->is_stopped) != 0))
		return;
	live_bytes = gg_add_alone_or_relaxed(&exact->live_bytes, bytes) + bytes;
	if (live_bytes > gg_load_relaxed(&exact->peak_bytes))
		raise_peak(exact, live_bytes);
	block.stack = stack;
	switch (gg_exact_live_put(&exact->live, &block, &replaced)) {
	case GG_EXACT_REPLACED:
		gg_region_count(exact->region, GG_COUNT_MISSED_FREES, 1);
		gg_exact_freed(exact, thread, &replaced, false, now_ns);
		break;
	case GG_EXACT_FULL:
		stop(exact, now_ns);
		break;
	default:
		break;
	}
}

bool gg_exact_take(struct gg_exact *exact, const void *pointer, struct gg_exact_block *ret_block)
{
	uint64_t address = (uintptr_t)pointer;

	if (gg_unlikely(gg_load_relaxed(&exact->is_stopped) != 0 || address >> WORD_BITS != 0))
		return false;
	return gg_exact_live_take(&exact->live, address, ret_block);
}

void gg_exact_put_back(struct gg_exact *exact, const struct gg_exact_block *block)
{
	struct gg_exact_block replaced;

	if (gg_exact_live_put(&exact->live, block, &replaced) == GG_EXACT_FULL)
		stop(exact, block->time_ns);
}

static GG_APART void count_inherited(struct gg_exact_total *total, uint64_t bytes)
{
	uint64_t count = total->inherited_freed_count;

	put(&total->inherited_freed_bytes[(count + 1) & 1],
	    total->inherited_freed_bytes[count & 1] + bytes);
	put(&total->inherited_freed_count, count + 1);
}

static inline void count_free(struct gg_exact *exact, struct gg_exact_total *total, uint64_t bytes,
                              bool is_temporary, uint32_t lifetime)
{
	uint64_t count = (total->freed_word >> GG_EXACT_FREED_SHIFT) + 1;
	uint64_t temporary = (total->temporary_word >> 1) + is_temporary;
	uint64_t temporary_bytes = (total->temporary_bytes_word >> 1) + (is_temporary ? bytes : 0);

	save_at_peak(exact, total);
	put(&total->freed_bytes[count & 1], total->freed_bytes[~count & 1] + bytes);
	/* This store makes the bytes valid, and says what the next ones will be. */
	put(&total->freed_word, count << GG_EXACT_FREED_SHIFT |
	                                (is_temporary ? GG_EXACT_FREED_TEMPORARY : 0) | lifetime);
	put(&total->temporary_word, temporary << 1 | (count & 1));
	put(&total->temporary_bytes_word, temporary_bytes << 1 | (count & 1));
	GG_STEP();
	gg_store_release(&total->lifetimes[lifetime], total->lifetimes[lifetime] + 1);
}

void gg_exact_freed(struct gg_exact *exact, const struct gg_region_thread *thread,
                    const struct gg_exact_block *block, bool is_temporary, uint64_t now_ns)
{
	uint64_t lived_ns = now_ns > block->time_ns ? now_ns - block->time_ns : 0, before;
	bool is_inherited = block->time_ns <= exact->forked_ns, is_shared;
	uint32_t stack = block->stack;
	struct gg_exact_total *total;

	if (gg_likely(!is_inherited)) {
		before = gg_add_alone_or_relaxed(&exact->live_bytes, -block->size_bytes);
		if (gg_unlikely(before > exact->noted_bytes + (exact->noted_bytes >> NOTED_SHIFT)))
			note_peak(exact, before, now_ns);
	}
	total = find_total(exact, &stack, thread->thread, &is_shared);
	if (gg_unlikely(is_inherited))
		count_inherited(total, block->size_bytes);
	else
		count_free(exact, total, block->size_bytes, is_temporary,
		           gg_lifetime_index(lived_ns));
	let_go(exact, is_shared);
}

/* --- fork --- */

bool gg_exact_before_fork(struct gg_exact *exact)
{
	uint32_t open = 0;

	if (!gg_exact_live_try_lock_all(&exact->live))
		return false;
	if (gg_cas_acq_rel(&exact->shared_lock, &open, 1))
		return true;
	gg_exact_live_unlock_all(&exact->live);
	return false;
}

void gg_exact_wait_for_locks(struct gg_exact *exact)
{
	gg_exact_live_lock_all(&exact->live);
	lock_shared(&exact->shared_lock);
	gg_exact_after_fork(exact);
}

void gg_exact_after_fork(struct gg_exact *exact)
{
	gg_store_release(&exact->shared_lock, 0);
	gg_exact_live_unlock_all(&exact->live);
}

void gg_exact_open_locks(struct gg_exact *exact)
{
	exact->shared_lock = 0;
	exact->is_noting = 0;
	for (uint32_t i = 0; i < GG_EXACT_SHARDS; i++)
		exact->live.shards[i].lock = 0;
}
