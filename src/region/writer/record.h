/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - a sample appears, a sample disappears.
 *
 * Each changes two things in the file: the place of the sample among the live ones, and the totals
 * of its stack in this thread.  So that a kill between any two stores leaves no half of it, the
 * thread first writes all new values into its slot (struct gg_region_slot), announces them by one
 * release store, applies them, and takes the announcement back.  Who reads an announcement applies
 * it again: it holds values, not differences, so twice is as good as once.
 *
 *   at every instant, for each stack, after finishing what is announced:
 *     sum over its rows of (allocated - freed)  ==  sum over its live samples of what each adds
 *
 * to the last bit (fixed.h).  tests/unit/test_region_step.c looks after every store.
 *
 * Rows      a thread counts in its own row of the stack, also what it frees of others' samples.
 *           Where the table of rows is full, it counts in the first row of the stack; a stack
 *           without any becomes GG_STACK_OVERFLOW, whose row is always there.  So sums by stack
 *           stay exact; by thread they are off by what GG_COUNT_ROWS_FOLDED says.
 * Owner     a row is changed by who holds its (private) owner word.  It is a CAS that almost always
 *           succeeds, as rows are a thread's own; where not, it is tried a bounded number of times.
 *           Then an allocation is dropped and counted.  A free is left undone and counted: the
 *           sample stays live, on both sides of the equation, until its address is new again.
 * Moved     an address, or the flags, of a live sample are one word each of its place, and no
 *           announcement is of them: they change by a store.
 * Claim     two threads may be about to close the same sample (a reused address against a realloc);
 *           the CAS of the record's id to 0 decides.
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
	uint8_t flags; /* GG_SAMPLE_... */
};

/*
 * After the real allocation, before the program has the pointer.  If the address is live already,
 * its free was missed: that sample is closed first, at this one's time, and counted.
 * Returns the sample's id; 0: dropped and counted.
 */
uint64_t gg_region_record_alloc(struct gg_region *region, struct gg_region_thread *thread,
                                const struct gg_allocation *sample);

/*
 * Before the real free, when gg_live_maybe() said yes.  id: only if the sample is that one (from
 * gg_region_find()), 0: whichever.  free_stack: where, for the ring; or 0.
 * True: it was a sample and is closed.
 */
bool gg_region_record_free(struct gg_region *region, struct gg_region_thread *thread,
                           const void *pointer, uint64_t id, uint64_t now_ns, uint32_t free_stack);

/* Where a sample is, as gg_region_look_up() found it; a guess, which gg_region_record_close() checks. */
struct gg_region_live_hit {
	uint64_t address;
	uint32_t live;
	uint32_t *entry; /* of the index */
};

/*
 * Is there a sample at that address?  Of what gg_live_maybe() lets pass some is none: this says so for one
 * miss, before anything else is done for it.
 */
bool gg_region_look_up(const struct gg_region *region, const void *pointer,
                       struct gg_region_live_hit *ret_place);

/* As gg_region_record_free(), of what was looked up.  *ret_sample is anything if it is none any more. */
bool gg_region_record_close(struct gg_region *region, struct gg_region_thread *thread,
                            const struct gg_region_live_hit *place, uint64_t id, uint64_t now_ns,
                            uint32_t free_stack, struct gg_region_sample *ret_sample);

/* How many allocations the sample stands for that this thread has just recorded or closed. */
static inline double gg_region_counted(const struct gg_region_thread *thread)
{
	return gg_fixed_value(thread->memo_sums.count);
}

/*
 * The sample at that address.  For realloc: found before the real call, closed by its id after
 * success; if another thread was given the address in between and recorded it as new, that has
 * closed this one, and closing it by id does nothing.  False: there is none.
 */
bool gg_region_find(const struct gg_region *region, const void *pointer,
                    struct gg_region_sample *ret_sample);

/* Where the record of the sample at that address is; GG_INDEX_NONE: there is none. */
uint32_t gg_region_find_place(const struct gg_region *region, uint64_t address);

/*
 * A collector has moved the object: the sample at `from` is found at `to` from now on.  One that is live
 * at `to` is closed first, as missed.  id: only that sample, or 0.  By whoever the object belongs to:
 * nobody may record or free at either address meanwhile.  False: there is none, or it is dropped (no place
 * in the index: then it is closed as missed, too).
 */
bool gg_region_record_move(struct gg_region *region, struct gg_region_thread *thread,
                           const void *from, const void *to, uint64_t id, uint64_t now_ns);

/* The sample at that address is of the old generation now.  False: there is none. */
bool gg_region_record_promote(struct gg_region *region, struct gg_region_thread *thread,
                              const void *pointer, uint64_t id);

/* The live sample of a record, from 0 on; false: it is free.  Others may be closing it. */
bool gg_region_live_at(const struct gg_region *region, uint32_t live,
                       struct gg_region_sample *ret_sample);

/* For the adoption by a child, before any thread records: what the private record `live` says is
 * counted and findable again; or the record is free. */
void gg_region_record_inherited(struct gg_region *region, uint32_t live);
void gg_region_record_free_place(struct gg_region *region, uint32_t live);
