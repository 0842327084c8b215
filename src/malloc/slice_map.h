/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_map - keeps the table that leads from each slice to its slab (slab.h).
 *
 * free() trusts the table.  So each entry below the limit leads to one of two descriptions:
 *
 *   that of the slab or run, in use or free, that the slice is in
 *   that of the slice's own number, which has no owner while the slice is inside of a run
 *
 * Slices of sampled slots that were never opened have entries of zero, although they are below the
 * limit: a pointer into one ends with SIGSEGV.
 *
 * All slices of a slab lead to it, and the first and the last slice of a run.  A run may have 2048
 * slices, and the arena looks at the ends only.  A pointer into the middle of a run leads to a
 * description without an owner, so free() takes its slow path, which ends with a message.
 *
 * Stale   An entry that still led to a former slab would be trusted again as soon as a new slab
 *         began where the former one did.  So whoever ends or joins slabs and runs resets the
 *         entries that are inside of a run from then on: two for a run, and all of a slab.
 * Limit   grows with the slices that were ever taken.  Entries behind it take no memory, except for
 *         the ends of free runs; free() does not look at them.
 * Threads the holder of the arena's lock, except for the slices of a slab, which may be set by the
 *         thread that has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "malloc/slab.h"

/* The first and the last slice of a run lead to it. */
void gg_malloc_map_set_ends(struct gg_malloc_slab *run);

/* All slices of a slab lead to it. */
void gg_malloc_map_set_all(struct gg_malloc_slab *slab);

/* Resets what gg_malloc_map_set_all() set, except for the ends. */
void gg_malloc_map_reset_inside(const struct gg_malloc_slab *slab);

/* Resets one entry: the slice is inside of a run, or no slab was ever there. */
void gg_malloc_map_reset(size_t slice);

/* Moves the limit behind a slice.  [first_slice, slices_end): the open slices for runs. */
void gg_malloc_map_reach(size_t slice, size_t first_slice, size_t slices_end);

/* True if a pointer leads into a run that is in use.  Slow: it walks along the table. */
bool gg_malloc_map_is_in_run(const void *p, size_t first_slice);
