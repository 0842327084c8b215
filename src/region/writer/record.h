/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - records allocations, frees and moves of sampled blocks.
 *
 *   id = gg_region_record_alloc(&region, &thread, &allocation);
 *   if (gg_live_maybe(&region, p))
 *           gg_region_record_free(&region, &thread, p, 0, now_ns, free_stack);
 *
 * A sample is in the private table of live samples (private_live_table.h) and adds to the totals of
 * its stack in its thread (site_totals.h).  The file holds both, and changes both at once
 * (redo_log.h).  At every instant, for each stack, once the published operations are applied:
 *
 *     sum over its site totals of (allocated - freed)  ==  sum over its live samples
 *
 * to the last bit (fixed.h).  tests/unit/test_region_step.c checks that after every store.
 *
 * Totals    a thread counts in its own site total of the stack, also when it frees another
 *           thread's sample.  A stack without a site total becomes GG_STACK_OVERFLOW, whose total
 *           always exists.  So sums by stack are exact, and sums by thread are off by what
 *           GG_COUNT_ROWS_FOLDED counts.
 * Contended a site total that another thread keeps for too long is given up.  The allocation is
 *           dropped and counted.  A free is left undone and counted: the sample stays live on both
 *           sides of the equation until its address is allocated again.
 * Moves     the address and the flags of a live sample are one word each, so a plain store changes
 *           them without the redo log.
 * Races     two threads may want to close the same sample (a reused address against a realloc).
 *           The one that claims it does.
 * Signals   a call that interrupts another call of its own thread is dropped and counted.
 */
#pragma once

#include "region/writer/region.h"

struct gg_allocation {
	uint64_t address; /* not 0 */
	uint64_t time_ns;
	uint64_t size_bytes; /* under 2^48 */
	uint64_t usable_bytes;
	struct gg_draw draw;
	uint32_t stack; /* from gg_region_intern() */
	uint16_t heap, type;
	uint8_t flags; /* GG_REGION_SAMPLE_... */
};

/*
 * Records an allocation: after the real one, and before the program has the pointer.  If the
 * address is live already, its free was missed: that sample is closed first, at this one's time,
 * and counted.  Returns the sample's id, or 0: dropped and counted.
 */
uint64_t gg_region_record_alloc(struct gg_region *region, struct gg_region_thread *thread,
                                const struct gg_allocation *sample);

/*
 * The record of a block's sample, which the caller keeps with the block: neither the filter nor
 * the index knows the block, so it costs no look-up.  An all-zero place has no sample.  Only the
 * owner of the block uses it.
 *
 * Moves     gg_region_record_move() and gg_region_find() do not find such a sample.
 * Fork      A child that adopts the region enters the sample in the index; the place stays valid.
 * Missed    A place that is used again, while its last free was not recorded, closes that sample.
 */
struct gg_region_place {
	uint64_t id; /* of the sample; 0: none */
	uint32_t live_index;
	uint32_t padding;
};

/* gg_region_record_alloc() for a block with a place, which is set if the result is not 0. */
uint64_t gg_region_record_alloc_at(struct gg_region *region, struct gg_region_thread *thread,
                                   const struct gg_allocation *sample,
                                   struct gg_region_place *place);

/*
 * Closes the sample of a block: before the real free, after gg_live_maybe() said yes.  id: close
 * only the sample of that id (from gg_region_find()); 0: any sample of the address.  free_stack:
 * the stack that frees, for the event ring; or 0.  True: there was a sample, and it is closed.
 */
bool gg_region_record_free(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint64_t now_ns, uint32_t free_stack);

/*
 * The sample that gg_region_look_up() found.  It may be gone by now: gg_region_record_close()
 * checks.
 */
struct gg_region_live_hit {
	uint64_t address;
	uint32_t live_index;
	uint32_t *entry; /* of the address index; NULL: the sample is not in it */
};

/*
 * Looks a sample up by its address.  Some addresses that gg_live_maybe() lets pass have no sample:
 * this call finds that out for one cache miss, before the caller takes a time or walks a stack.
 */
bool gg_region_look_up(const struct gg_region *region, const void *pointer,
                       struct gg_region_live_hit *ret_hit);

/* Finds the sample of a block by its place.  Pass its id to gg_region_record_close(). */
bool gg_region_look_up_at(const struct gg_region *region, const void *pointer,
                          const struct gg_region_place *place, struct gg_region_live_hit *ret_hit);

/*
 * Closes a sample like gg_region_record_free(), at the place where gg_region_look_up() found it.
 * *ret_sample is the closed sample if the call returns true, and undefined otherwise.
 */
bool gg_region_record_close(struct gg_region *region, struct gg_region_thread *thread,
                            const struct gg_region_live_hit *hit, uint64_t id, uint64_t now_ns,
                            uint32_t free_stack, struct gg_region_sample *ret_sample);

/* How many allocations the sample stands for that this thread recorded or closed last. */
static inline double gg_region_last_count(const struct gg_region_thread *thread)
{
	return gg_fixed_value(thread->last_sums.count);
}

/*
 * Copies the sample at that address.  realloc() finds it before the real call, and closes it by its
 * id after success.  If another thread was given the address in between and recorded it as new, the
 * sample is closed already, and closing it by its id does nothing.  False: there is no sample.
 */
bool gg_region_find(const struct gg_region *region, const void *pointer,
                    struct gg_region_sample *ret_sample);

/* Copies the sample of a block by its place.  If place is NULL, it calls gg_region_find(). */
bool gg_region_find_at(const struct gg_region *region, const void *pointer,
                       const struct gg_region_place *place, struct gg_region_sample *ret_sample);

/*
 * Gives the sample at `from` the address `to`, because a collector has moved its object.  It first
 * closes a sample that is live at `to`, as missed.  id: move only the sample of that id; 0: any.
 * The caller owns the object: no other thread may record or free at either address meanwhile.
 * Returns false if there is no such sample.  It also returns false if the address index has no room
 * for the new address: it then closes the sample, as missed.
 */
bool gg_region_record_move(struct gg_region *region, struct gg_region_thread *thread,
                           const void *from, const void *to, uint64_t id, uint64_t now_ns);

/* Marks the sample at that address as old: its object survived.  False: there is no such sample. */
bool gg_region_record_promote(struct gg_region *region, struct gg_region_thread *thread,
                              const void *pointer, uint64_t id);

/* Sets the type of the sample at that address.  False: there is no sample. */
bool gg_region_record_type(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint16_t type);

/*
 * Counts a sample that a forked child inherited in its private table, and makes it findable again;
 * or frees its record.  For gg_region_adopt(), before any thread records.
 */
void gg_region_record_inherited(struct gg_region *region, uint32_t live_index);
