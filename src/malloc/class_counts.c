/* SPDX-License-Identifier: Apache-2.0 */
/* class_counts - adds up what heaps and slabs count. */
#include "malloc/class_counts.h"

#include "base/atomic.h"
#include "malloc/arena.h"
#include "malloc/thread_heap.h"

enum { SLICES_MOST = 65536 }; /* that one count looks at */

struct counts {
	double allocated[GG_MALLOC_CLASS_COUNT], live[GG_MALLOC_CLASS_COUNT];
};

static uint64_t large_allocated[GG_SIZE_CLASS_COUNT], large_freed[GG_SIZE_CLASS_COUNT];

void gg_malloc_count_large_allocated(size_t bytes)
{
	gg_add_relaxed(&large_allocated[gg_size_class(bytes)], 1);
}

void gg_malloc_count_large_freed(size_t bytes)
{
	gg_add_relaxed(&large_freed[gg_size_class(bytes)], 1);
}

/* Blocks that a heap was handed and has not used; of another thread only those behind a cut. */
static double count_unused(const struct gg_malloc_heap *heap, unsigned class)
{
	const struct gg_malloc_block *block = NULL;
	double count = gg_load_relaxed(&heap->supplies[class].rest_count);

	if (heap == gg_malloc_thread_heap)
		block = heap->handed[class];
	for (; block != NULL; block = block->next)
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

static void count_slabs(struct counts *counts)
{
	size_t limit = gg_load_relaxed(&gg_malloc_map.limit), i = gg_malloc_arena_first_slice();
	size_t step = (limit - i) / SLICES_MOST + 1;

	for (; i < limit; i += step) {
		struct gg_malloc_slab *slab = gg_load_relaxed(&gg_malloc_map.entries[i]);
		uint32_t used;

		if (slab == NULL || gg_malloc_slab_slice(slab) != i ||
		    gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_SLOTS)
			continue;
		/* Between two stores of its thread, the sum may be that of neither moment. */
		used = gg_load_relaxed(&slab->countdown) + gg_load_relaxed(&slab->bias);
		if (used <= gg_load_relaxed(&slab->capacity))
			counts->live[gg_load_relaxed(&slab->class)] += (double)used * (double)step;
	}
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
