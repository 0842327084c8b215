/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_slots - where sampled blocks live, so that free() recognizes them at no cost.
 *
 * A sampled block gets a slot in a slab whose owner is no thread.  The compare of owners in free()
 * fails, and the slow path finds the slot by its number; there is no hash and no filter.  The block
 * that an unsampled allocation would have got is its *home*.  It stays reserved while the sample
 * lives, and is freed in its place.  So slabs fill and empty exactly as they do without sampling.
 *
 * Slots    of a class are as large as its blocks, rounded up to 64 bytes, so that threads do not
 *          share cache lines, and as well aligned as its blocks.  All threads share the slabs of a
 *          class.
 * Purge    Slabs of slots stay, and their memory goes back to the kernel: once a second (purge.h),
 *          pages go of which all slots were free at the last look as well, and not used since.
 * Threads  any; a slot is claimed and freed by one atomic operation on a bitmap.  A purge claims
 *          the slots of a page as a sample does, and frees them again.  It holds the arena's lock,
 *          so no process is forked meanwhile.
 * Full     without memory for a slot, the home is handed out: the sample is dropped, and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "malloc/class_sampling.h"
#include "malloc/slab.h"

struct gg_malloc_slot {
	void *home;
	double class_interval; /* of the draw; 0: every block is a sample */
	struct gg_malloc_note note;
};

/* Moves a block to a slot and informs the client.  Returns the slot, or the home. */
GG_APART void *gg_malloc_slots_sample(void *home, unsigned class, size_t bytes,
                                      double class_interval);

/* Informs the client, gives the slot back, and returns its home, which the caller frees. */
void *gg_malloc_slots_release(struct gg_malloc_slab *slab, void *p);

/* False: the block was freed already.  p must be the begin of a slot. */
bool gg_malloc_slots_is_taken(const struct gg_malloc_slab *slab, const void *p);

/* Informs the client of a sample, or of its end, without any change of the slot. */
void gg_malloc_slots_inform_sampled(void *p, unsigned class, size_t bytes,
                                    struct gg_malloc_slot *slot);
void gg_malloc_slots_inform_freed(void *p, struct gg_malloc_slot *slot);

/* The slot of a block; p must be one. */
struct gg_malloc_slot *gg_malloc_slots_find(struct gg_malloc_slab *slab, const void *p);

/* Gives pages of free slots back to the kernel, however young they are.  True: there were some. */
bool gg_malloc_slots_purge(void);

/* Gives old ones back, if some time has passed since the last call. */
void gg_malloc_slots_purge_aged(uint32_t now_ms);

struct gg_malloc_slots_totals {
	uint64_t live_count, dropped_count;
};
void gg_malloc_slots_read_totals(struct gg_malloc_slots_totals *ret_totals);

/* For the validator: calls visit() with each live slot. */
void gg_malloc_slots_visit(void (*visit)(void *user, struct gg_malloc_slab *slab, void *p,
                                         const struct gg_malloc_slot *slot),
                           void *user);
