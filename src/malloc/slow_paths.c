/* SPDX-License-Identifier: Apache-2.0 */
/* slow_paths - allocations and frees that are special. */
#include "malloc/slow_paths.h"

#include <errno.h>
#include <stdint.h>

#include "base/assert.h"
#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/huge_blocks.h"
#include "malloc/remote_frees.h"
#include "malloc/sampled_slots.h"

void *gg_malloc_no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *gg_malloc_heap_pop(struct gg_malloc_heap *heap, unsigned class, size_t bytes)
{
	struct gg_malloc_block *block = heap->handed[class];

	if (gg_unlikely(block == NULL))
		return gg_malloc_refill(heap, class, bytes);
	heap->handed[class] = block->next;
	return block;
}

void *gg_malloc_slow(size_t bytes)
{
	struct gg_malloc_heap *heap;
	void *p;
	bool is_zero;

	if (gg_unlikely(bytes > PTRDIFF_MAX))
		return gg_malloc_no_memory();
	heap = gg_malloc_heap_enter();
	if (gg_unlikely(heap == NULL))
		return gg_malloc_no_memory();
	if (gg_likely(bytes <= GG_MALLOC_CLASS_BYTES_MAX))
		p = gg_malloc_heap_pop(heap, gg_malloc_class_of(bytes), bytes);
	else
		p = gg_malloc_large(heap, bytes, GG_MALLOC_SLICE_BYTES, &is_zero);
	gg_malloc_heap_leave(heap);
	return gg_likely(p != NULL) ? p : gg_malloc_no_memory();
}

static void inform_freed(void *p)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (client != NULL && client->freed != NULL)
		client->freed(p);
}

void gg_malloc_free_special(struct gg_malloc_slab *slab, void *p)
{
	switch (gg_malloc_slab_owner(slab)) {
	case GG_MALLOC_OWNER_NONE:
	case GG_MALLOC_OWNER_FREE: /* freed twice */
		__builtin_trap();
	case GG_MALLOC_OWNER_RUN:
		if (gg_unlikely(p != gg_malloc_slab_start(slab)))
			__builtin_trap();
		if (slab->is_sampled)
			inform_freed(p);
		gg_malloc_arena_give(slab);
		break;
	case GG_MALLOC_OWNER_SLOTS:
		geiger_free(gg_malloc_slots_release(slab, p));
		break;
	default:
		gg_malloc_free_remote(slab, p);
	}
}

void gg_malloc_free_outside(void *p)
{
	const struct gg_malloc_client *client = gg_malloc_client;
	bool was_sampled;

	if (p == NULL)
		return;
	if (gg_malloc_huge_is_sampled(p, &was_sampled)) {
		if (was_sampled)
			inform_freed(p);
		gg_malloc_huge_free(p);
	} else if (client != NULL && client->free_foreign != NULL) {
		client->free_foreign(p);
	}
}
