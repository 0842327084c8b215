/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_live_table - the private table of live samples, which the profiled program trusts.
 *
 *   live_index = gg_region_live_find(region, address, &entry);
 *   if (live_index != GG_INDEX_NONE && gg_region_live_copy(region, live_index, &sample) &&
 *       gg_region_live_claim(region, live_index, sample.id))
 *           gg_region_live_remove(region, thread, live_index, address, entry);
 *
 * A record of the table is free (id 0) or one live sample.  The address index finds it, and the
 * filter answers for its address.  The file has a mirror of the table at the same indexes, which
 * redo_log.c writes; nothing is ever read back from that mirror.
 *
 * Life      take, insert, (move, set the flags,) claim, remove.  A thread that has claimed a
 *           sample is the only one that closes it.
 * Free      records form a stack through `time_ns`; a thread keeps the record of its last free for
 *           its next sample, which usually follows while the record is still in the cache.
 * Threads   any; also in signal handlers.  Copies are made while others change the record, so
 *           only a successful claim proves that a copy was whole: ids are never used again.
 * Full      gg_region_live_take() returns GG_INDEX_NONE.
 */
#pragma once

#include "region/writer/region.h"

/*
 * The record of the sample at that address, or GG_INDEX_NONE.  *ret_entry (may be NULL) is its
 * entry in the address index.  The record may be closed or reused at any time after the call.
 */
uint32_t gg_region_live_find(const struct gg_region *region, uint64_t address,
                             uint32_t **ret_entry);

/* Copies a record.  False: it is free.  The copy may mix two samples until a claim succeeds. */
bool gg_region_live_copy(const struct gg_region *region, uint32_t live_index,
                         struct gg_region_sample *ret_sample);

/* True: the sample is the caller's to close.  False: another thread has claimed it. */
bool gg_region_live_claim(struct gg_region *region, uint32_t live_index, uint64_t id);

/* A free record, which nobody else uses until the caller gives it back; GG_INDEX_NONE: full. */
uint32_t gg_region_live_take(struct gg_region *region, struct gg_region_thread *thread);
void gg_region_live_give(struct gg_region *region, struct gg_region_thread *thread,
                         uint32_t live_index);

/* Gives a record back to all threads, for a caller that has no thread or whose thread ends. */
void gg_region_live_give_shared(struct gg_region *region, uint32_t live_index);

/*
 * Stores the sample in a record that was taken, and makes it findable.  False: its buckets in the
 * address index are full; nothing has changed, and the caller still owns the record.
 */
bool gg_region_live_insert(struct gg_region *region, uint32_t live_index,
                           const struct gg_region_sample *sample);

/* The same without the filter and the index: only a place (record.h) leads to the sample. */
void gg_region_live_insert_apart(struct gg_region *region, uint32_t live_index,
                                 const struct gg_region_sample *sample);

/*
 * Removes a claimed sample and gives its record back.  entry: of the address index; NULL: it is in
 * neither the index nor the filter.
 */
void gg_region_live_remove(struct gg_region *region, struct gg_region_thread *thread,
                           uint32_t live_index, uint64_t address, uint32_t *entry);

/*
 * Gives a live sample another address, in the table and in its mirror.  `entry`: of the address
 * index, from gg_region_live_find().  False: the buckets of the new address are full; nothing has
 * changed.
 */
bool gg_region_live_move(struct gg_region *region, uint32_t live_index, uint32_t *entry,
                         uint64_t from, uint64_t to);

/* Stores the type of `sample`, likewise. */
void gg_region_live_set_type(struct gg_region *region, uint32_t live_index,
                             const struct gg_region_sample *sample);

/* Stores the flags of `sample`, a copy of this live record, in the table and in its mirror. */
void gg_region_live_set_flags(struct gg_region *region, uint32_t live_index,
                              const struct gg_region_sample *sample);

/*
 * Starts to keep region->live_bytes up to date: the estimated bytes of all live samples.  While
 * other threads record, the sum is right to within the samples that are under way.
 */
void gg_region_meter(struct gg_region *region);

/* Whole bytes.  A sample adds and takes away the same number, so the sum returns to 0. */
static inline uint64_t gg_region_whole_bytes(const struct gg_sums *sums)
{
	return (uint64_t)(gg_fixed_wide(sums->bytes) >> GG_FIXED_SHIFT);
}

/* Changes region->live_bytes for a sample that is recorded or closed, if anybody wants to know. */
static inline void gg_region_meter_change(struct gg_region *region, const struct gg_sums *sums,
                                          bool is_recorded)
{
	uint64_t bytes = gg_region_whole_bytes(sums);

	if (gg_unlikely(gg_load_relaxed(&region->is_metered) != 0))
		gg_add_relaxed(&region->live_bytes, is_recorded ? bytes : -bytes);
}
