/* SPDX-License-Identifier: Apache-2.0 */
/* slice_map - sets and resets entries. */
#include "malloc/slice_map.h"

#include "base/atomic.h"
#include "base/compiler.h"

enum { REACH_SLICES = 512 }; /* the limit moves so far: a page of entries */

struct gg_malloc_map gg_malloc_map;

/* Relaxed, as all stores here: see gg_malloc_has_slice(). */
static void set(size_t slice, struct gg_malloc_slab *slab)
{
	gg_store_relaxed(&gg_malloc_map.entries[slice], slab);
}

void gg_malloc_map_set_ends(struct gg_malloc_slab *run)
{
	size_t first = gg_malloc_slab_slice(run);

	set(first, run);
	set(first + run->slice_count - 1, run);
}

void gg_malloc_map_set_all(struct gg_malloc_slab *slab)
{
	size_t first = gg_malloc_slab_slice(slab);

	for (size_t i = 0; i < slab->slice_count; i++)
		set(first + i, slab);
}

void gg_malloc_map_reset(size_t slice)
{
	set(slice, &gg_malloc_map.slabs[slice]);
}

void gg_malloc_map_reset_inside(const struct gg_malloc_slab *slab)
{
	size_t first = gg_malloc_slab_slice(slab);

	for (size_t i = 1; i + 1 < slab->slice_count; i++)
		gg_malloc_map_reset(first + i);
}

/* Entries that are set already are those of ends. */
static GG_COLD void move_limit(size_t first, size_t limit)
{
	for (size_t slice = first; slice < limit; slice++)
		if (gg_malloc_map.entries[slice] == NULL)
			gg_malloc_map_reset(slice);
	gg_store_relaxed(&gg_malloc_map.limit, limit);
}

void gg_malloc_map_reach(size_t slice, size_t first_slice, size_t slices_end)
{
	size_t limit = gg_malloc_map.limit, new_limit;

	if (gg_likely(slice < limit))
		return;
	new_limit = (slice + REACH_SLICES) & ~(size_t)(REACH_SLICES - 1);
	move_limit(limit != 0 ? limit : first_slice,
	           new_limit < slices_end ? new_limit : slices_end);
}

bool gg_malloc_map_is_in_run(const void *p, size_t first_slice)
{
	size_t slice = gg_malloc_slice_of(p);

	for (size_t at = slice; gg_malloc_has_slice(slice) && at >= first_slice; at--) {
		const struct gg_malloc_slab *slab = &gg_malloc_map.slabs[at];
		uintptr_t owner = gg_malloc_slab_owner(slab);

		if (owner != GG_MALLOC_OWNER_NONE)
			return owner == GG_MALLOC_OWNER_RUN && slice - at < slab->slice_count;
	}
	return false;
}
