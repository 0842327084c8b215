/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc - the fast paths: all that an allocation and a free run that are nothing special.
 *
 * Nothing here knows about sampling.  A list that malloc() pops ends where the next sample falls,
 * and a sampled block is in a slab that has another owner (class_sampling.h, sampled_slots.h).
 *
 * Cost   14 instructions for malloc() and 17 for free() in the static library (x86-64;
 *        tools/check_malloc_paths counts them).
 */
#include "geiger/malloc.h"

#include "base/compiler.h"
#include "malloc/list_link.h"
#include "malloc/replaced_names.h"
#include "malloc/slow_paths.h"
#include "malloc/thread_heap.h"

/*
 * A word that other threads may change, for one compare.  gcc folds no atomic load into a compare,
 * which would cost two instructions in free().  An aligned word that is read once is never torn.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GLANCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#endif
#elif defined(__SANITIZE_THREAD__)
#define GLANCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#endif
#ifndef GLANCE
#define GLANCE(word) (word)
#endif

GG_EXPORT void *geiger_malloc(size_t bytes)
{
	struct gg_malloc_heap *heap = gg_malloc_thread_heap;
	struct gg_malloc_block *block;
	unsigned class;

	if (gg_unlikely(bytes > GG_MALLOC_FAST_BYTES))
		return gg_malloc_slow(bytes);
	class = heap->class_of_words[(bytes + 15) / 16];
	block = heap->handed[class];
	if (gg_unlikely(block == NULL))
		return gg_malloc_slow(bytes);
	heap->handed[class] = gg_malloc_link_next(block);
	return block;
}
GG_MALLOC_NAME(malloc, geiger_malloc);

GG_EXPORT void geiger_free(void *p)
{
	struct gg_malloc_heap *heap = gg_malloc_thread_heap;
	struct gg_malloc_block *block = p;
	struct gg_malloc_slab *slab;
	size_t slice = gg_malloc_slice_of(p);

	if (gg_unlikely(slice >= GLANCE(gg_malloc_map.limit))) {
		gg_malloc_free_outside(p);
		return;
	}
	slab = gg_malloc_map.entries[slice];
	if (gg_unlikely(GLANCE(slab->owner) != (uintptr_t)heap)) {
		gg_malloc_free_special(slab, p);
		return;
	}
	gg_malloc_link_set(block, slab->local_free);
	slab->local_free = block;
	slab->countdown--;
	if (gg_unlikely(slab->countdown == 0))
		gg_malloc_slab_event(heap, slab);
}
GG_MALLOC_NAME(free, geiger_free);
