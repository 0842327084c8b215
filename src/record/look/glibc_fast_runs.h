/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_fast_runs - the free memory around chunks of fast bins, joined as malloc_trim() joins it.
 *
 *   struct gg_glibc_fast_run run = { 0 };
 *
 *   while (gg_glibc_fast_runs_next(&run, &bins, &heaps))
 *           ... run.gap ...
 *
 * A run is one gap between two chunks in use.  It consists of chunks in fast bins and of free
 * chunks, which a walk took for gaps of their own.
 *
 * Threads  any; one owner of the residency at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/look/glibc_fast_bins.h"
#include "record/look/glibc_free.h"

struct gg_glibc_fast_run {
	struct gg_glibc_free gap;
	size_t first, end; /* marks: all members among them belong to the run */
};

/* Goes to the next run; the first call gets an all-zero run.  False: no run is left. */
bool gg_glibc_fast_runs_next(struct gg_glibc_fast_run *run, const struct gg_glibc_fast_bins *bins,
                             const struct gg_glibc_heaps *heaps);

/* All runs, ascending.  Their heaps are those of the view. */
struct gg_glibc_fast_gaps {
	GG_ARRAY(struct gg_glibc_free) items;
};

/* Returns the run that begins with the chunk at `address`, or NULL. */
const struct gg_glibc_free *gg_glibc_fast_gaps_from(const struct gg_glibc_fast_gaps *gaps,
                                                    uint64_t address);

/* Returns the run that ends at the chunk at `address`, or NULL. */
const struct gg_glibc_free *gg_glibc_fast_gaps_to(const struct gg_glibc_fast_gaps *gaps,
                                                  uint64_t address);

void gg_glibc_fast_gaps_done(struct gg_glibc_fast_gaps *gaps);

/* Corrections for the totals of a walk that took these chunks for chunks in use. */
struct gg_glibc_fast_sums {
	struct gg_glibc_free_sums free; /* bytes of chunks in use are fewer by the same amount */
	int64_t arena_bytes;            /* the part in arenas beside the main one */
	int64_t fast_bytes;             /* resident bytes of chunks in fast bins */
	int64_t extent_bytes;           /* of these chunks, resident or not */
	int64_t chunk_count;
};

/*
 * Sums up all runs, and adds them to `gaps`.  Returns 0, or a negative errno value if memory is out
 * or the page table cannot be read.
 */
int gg_glibc_fast_runs_count(struct gg_glibc_fast_sums *ret, struct gg_glibc_fast_gaps *gaps,
                             const struct gg_glibc_fast_bins *bins,
                             const struct gg_glibc_heaps *heaps, struct gg_residency *residency);
