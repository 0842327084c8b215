/* SPDX-License-Identifier: Apache-2.0 */
/* class_counts - adds up what heaps and slabs count. */
#include "malloc/class_counts.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "malloc/arena.h"
#include "malloc/guarded_blocks.h"
#include "malloc/huge_blocks.h"
#include "malloc/list_link.h"
#include "malloc/sampled_slots.h"
#include "malloc/thread_heap.h"

enum { SLICES_MOST = 65536 }; /* that one count looks at */

struct counts {
	double allocated[GG_MALLOC_CLASS_COUNT], live[GG_MALLOC_CLASS_COUNT];
};

static uint64_t large_allocated[GG_SIZE_CLASS_COUNT], large_freed[GG_SIZE_CLASS_COUNT];

void gg_malloc_count_large_allocated(unsigned size_class)
{
	gg_add_relaxed(&large_allocated[size_class], 1);
}

void gg_malloc_count_large_freed(unsigned size_class)
{
	gg_add_relaxed(&large_freed[size_class], 1);
}

/* Blocks that a heap was handed and has not used; of another thread only those behind a cut. */
static double count_unused(const struct gg_malloc_heap *heap, unsigned class)
{
	const struct gg_malloc_block *block = NULL;
	double count = gg_load_relaxed(&heap->supplies[class].rest_count);

	if (heap == gg_malloc_thread_heap)
		block = heap->handed[class];
	for (; block != NULL; block = gg_malloc_link_glance(block))
		count++;
	return count;
}

static void count_heaps(struct counts *counts)
{
	const struct gg_malloc_heap *heap;

	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++) {
			uint64_t handed = gg_load_relaxed(&heap->supplies[i].handed_count);
			double unused;

			if (handed == 0)
				continue;
			unused = count_unused(heap, i);
			counts->allocated[i] += (double)handed - unused;
			counts->live[i] -= unused;
		}
}

/* The used blocks of a slab, as another thread sees them; -1: it sees no sensible number. */
static int64_t count_used(const struct gg_malloc_slab *slab)
{
	/* Between two stores of its thread, the sum may be that of neither moment. */
	uint32_t used = gg_load_relaxed(&slab->countdown) + gg_load_relaxed(&slab->bias);

	return used <= gg_load_relaxed(&slab->capacity) ? (int64_t)used : -1;
}

/* The slab or run that begins in the slice; NULL: none begins there. */
static struct gg_malloc_slab *slab_at(size_t slice)
{
	struct gg_malloc_slab *slab = gg_load_relaxed(&gg_malloc_map.entries[slice]);

	return slab != NULL && gg_malloc_slab_slice(slab) == slice ? slab : NULL;
}

/*
 * Large arenas are counted by one slice of each window of `step` slices, each as likely as the
 * others, and each such slice adds the share of its slab.
 */
static size_t step_of(size_t limit)
{
	return (limit - gg_malloc_arena_first_slice()) / SLICES_MOST + 1;
}

/* The slab of a heap that the window's slice is of; NULL: none is. */
static const struct gg_malloc_slab *slab_over(size_t window, size_t step, size_t limit,
                                              uint32_t *ret_slices)
{
	size_t slice = step == 1 ? window : window + gg_hash_integer(window, step) % step;
	const struct gg_malloc_slab *slab;

	if (slice >= limit)
		return NULL;
	slab = gg_load_relaxed(&gg_malloc_map.entries[slice]);
	if (slab == NULL || gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_SLOTS)
		return NULL;
	*ret_slices = gg_load_relaxed(&slab->slice_count);
	return slice - gg_malloc_slab_slice(slab) < *ret_slices ? slab : NULL;
}

static void count_slabs(struct counts *counts)
{
	size_t limit = gg_load_relaxed(&gg_malloc_map.limit), step = step_of(limit);

	for (size_t i = gg_malloc_arena_first_slice(); i < limit; i += step) {
		uint32_t slices;
		const struct gg_malloc_slab *slab = slab_over(i, step, limit, &slices);
		int64_t used = slab != NULL ? count_used(slab) : 0;

		if (used > 0)
			counts->live[gg_load_relaxed(&slab->class)] += (double)used / slices *
			                                               (double)step;
	}
}

void gg_malloc_count_blocks(struct gg_malloc_block_counts ret_classes[static GG_MALLOC_CLASS_COUNT],
                            struct gg_malloc_large_counts *ret_large)
{
	size_t limit = gg_load_relaxed(&gg_malloc_map.limit);
	const struct gg_malloc_heap *heap;

	memset(ret_classes, 0, GG_MALLOC_CLASS_COUNT * sizeof(ret_classes[0]));
	*ret_large = (struct gg_malloc_large_counts){ 0 };
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++)
			ret_classes[i].handed += gg_load_relaxed(&heap->supplies[i].handed_count);
	for (size_t i = gg_malloc_arena_first_slice(); i < limit; i++) {
		const struct gg_malloc_slab *slab = slab_at(i);
		struct gg_malloc_block_counts *class;
		int64_t used;

		if (slab == NULL || gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_FREE)
			continue;
		if (gg_malloc_slab_owner(slab) == GG_MALLOC_OWNER_RUN) {
			ret_large->run_count++;
			ret_large->run_bytes += gg_malloc_run_bytes(slab);
			continue;
		}
		used = count_used(slab);
		if (used < 0)
			continue;
		class = &ret_classes[gg_load_relaxed(&slab->class) % GG_MALLOC_CLASS_COUNT];
		class->slabs++;
		class->used += (uint64_t)used;
		class->free += gg_load_relaxed(&slab->capacity) - (uint64_t)used;
	}
}

void gg_malloc_count_bytes(uint64_t *ret_allocated_bytes, uint64_t *ret_active_bytes)
{
	size_t limit = gg_load_relaxed(&gg_malloc_map.limit), step;
	uint64_t active = gg_malloc_huge_total_bytes() + gg_malloc_arena_used_bytes();
	double unused = 0; /* bytes of slabs in which no block is */

	step = limit != 0 ? step_of(limit) : 1;
	for (size_t i = gg_malloc_arena_first_slice(); i < limit; i += step) {
		uint32_t slices;
		const struct gg_malloc_slab *slab = slab_over(i, step, limit, &slices);
		int64_t used = slab != NULL ? count_used(slab) : -1;

		if (used >= 0)
			unused += (GG_MALLOC_SLICE_BYTES -
			           (double)used * gg_load_relaxed(&slab->block_bytes) / slices) *
			          (double)step;
	}
	*ret_active_bytes = active;
	*ret_allocated_bytes = unused < (double)active ? active - (uint64_t)unused : 0;
}

void gg_malloc_count_slab(const void *p, size_t *ret_free_count, size_t *ret_count,
                          size_t *ret_bytes, uint64_t *ret_address)
{
	struct gg_malloc_slab *slab = gg_malloc_slab_of(p);
	struct gg_malloc_guarded guarded;
	int64_t used = -1;

	*ret_free_count = *ret_count = *ret_bytes = 0;
	*ret_address = 0;
	if (gg_malloc_guard_has((uintptr_t)p) && gg_malloc_guard_find(p, &guarded))
		slab = gg_malloc_slab_of(guarded.home);
	if (slab != NULL && gg_malloc_slab_owner(slab) == GG_MALLOC_OWNER_SLOTS)
		slab = gg_malloc_slab_of(gg_malloc_slots_find(slab, p)->home);
	if (slab == NULL || gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_FREE)
		return;
	*ret_address = (uintptr_t)gg_malloc_slab_start(slab);
	if (gg_malloc_slab_owner(slab) == GG_MALLOC_OWNER_RUN) {
		*ret_count = 1;
		*ret_bytes = gg_malloc_run_bytes(slab);
		return;
	}
	used = count_used(slab);
	if (used <= 0)
		return;
	*ret_count = gg_load_relaxed(&slab->capacity);
	*ret_free_count = *ret_count - (size_t)used;
	*ret_bytes = *ret_count * gg_load_relaxed(&slab->block_bytes);
}

static void add(struct gg_optimal_class *to, double size_bytes, double allocated, double live)
{
	if (!(allocated > 0))
		return;
	if (live > allocated)
		live = allocated;
	to->size_bytes = (to->size_bytes * to->allocated + size_bytes * allocated) /
	                 (to->allocated + allocated);
	to->allocated += allocated;
	to->live += live > 0 ? live : 0;
}

void gg_malloc_count_classes(struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT])
{
	struct counts counts = { 0 };

	for (unsigned i = 0; i < GG_SIZE_CLASS_COUNT; i++) {
		double least = (double)gg_size_class_bytes(i);
		double allocated = (double)gg_load_relaxed(&large_allocated[i]);

		ret_classes[i] = (struct gg_optimal_class){ 0 };
		add(&ret_classes[i], least * 1.125, allocated,
		    allocated - (double)gg_load_relaxed(&large_freed[i]));
	}
	if (gg_load_relaxed(&gg_malloc_map.limit) == 0)
		return;
	count_heaps(&counts);
	count_slabs(&counts);
	for (unsigned i = 0; i < GG_MALLOC_CLASS_COUNT; i++) {
		size_t bytes = gg_malloc_class_bytes(i);

		add(&ret_classes[gg_size_class(bytes)], (double)bytes, counts.allocated[i],
		    counts.live[i]);
	}
}
