/* SPDX-License-Identifier: Apache-2.0 */
/* remote_frees - pushes blocks and slabs, and collects those of orphans. */
#include "malloc/remote_frees.h"

#include "malloc/arena.h"
#include "malloc/list_link.h"

/* Those of this thread that gg_malloc_empty_heap counts. */
static __thread uint32_t pushes_without_heap __attribute__((tls_model("initial-exec")));

/* Collects what was freed in a heap without a thread. */
static GG_APART void collect_orphan(struct gg_malloc_heap *heap)
{
	if (!gg_malloc_heap_claim(heap))
		return;
	gg_malloc_collect_remote(heap);
	gg_malloc_heap_abandon(heap); /* collects again what comes until then */
}

static void put_slab(struct gg_malloc_slab *slab)
{
	struct gg_malloc_heap *heap = (struct gg_malloc_heap *)gg_malloc_slab_owner(
		slab); /* NOLINT */
	struct gg_malloc_slab *first = gg_load_relaxed(&heap->remote_slabs);

	/* Relaxed: the exchange below publishes it. */
	do
		gg_store_relaxed(&slab->remote_next, first);
	while (!gg_cas_seq_cst(&heap->remote_slabs, &first, slab));
	/* Sequentially consistent: pairs with gg_malloc_heap_abandon() (header). */
	if (gg_unlikely(gg_load_seq_cst(&heap->state) == GG_MALLOC_HEAP_ORPHAN))
		collect_orphan(heap);
}

/*
 * Counts a push that is about to be the first one of a slab, in the heap of the thread.  Threads
 * without a heap, and handlers that interrupted a section, share the counter of the empty heap.
 */
static struct gg_malloc_heap *begin_push(void)
{
	struct gg_malloc_heap *heap = gg_malloc_thread_heap;

	if (gg_likely(heap != &gg_malloc_empty_heap)) {
		gg_store_relaxed(&heap->pushes, gg_load_relaxed(&heap->pushes) + 1);
	} else {
		pushes_without_heap++;
		gg_add_relaxed(&heap->pushes, 1);
	}
	/* A forked child has the memory as of one moment of this thread, so this order suffices. */
	gg_fence_signal();
	return heap;
}

static void end_push(struct gg_malloc_heap *heap)
{
	gg_fence_signal();
	if (gg_likely(heap != &gg_malloc_empty_heap)) {
		gg_store_relaxed(&heap->pushes, gg_load_relaxed(&heap->pushes) - 1);
	} else {
		gg_add_relaxed(&heap->pushes, UINT32_MAX);
		pushes_without_heap--;
	}
}

void gg_malloc_free_remote(struct gg_malloc_slab *slab, struct gg_malloc_block *block)
{
	struct gg_malloc_block *first = gg_load_relaxed(&slab->remote);
	struct gg_malloc_heap *counting = NULL;

	/* Release: pairs with gg_malloc_take_remote_blocks(). */
	do {
		if (first == NULL && counting == NULL)
			counting = begin_push();
		gg_malloc_link_set(block, first);
	} while (!gg_cas_acq_rel(&slab->remote, &first, block));
	if (first == NULL)
		put_slab(slab);
	if (counting != NULL)
		end_push(counting);
}

bool gg_malloc_forget_pushes(struct gg_malloc_heap *own_heap)
{
	bool is_mine = pushes_without_heap != 0 ||
	               (own_heap != NULL && gg_load_relaxed(&own_heap->pushes) != 0);
	uint32_t count = gg_load_relaxed(&gg_malloc_empty_heap.pushes) - pushes_without_heap;

	gg_store_relaxed(&gg_malloc_empty_heap.pushes, pushes_without_heap);
	for (struct gg_malloc_heap *heap = gg_malloc_first_heap(); heap != NULL;
	     heap = heap->next) {
		if (heap == own_heap)
			continue;
		count |= gg_load_relaxed(&heap->pushes);
		gg_store_relaxed(&heap->pushes, 0);
	}
	return count != 0 && !is_mine;
}

static bool is_put(const struct gg_malloc_heap *heap, const struct gg_malloc_slab *slab)
{
	const struct gg_malloc_slab *other = gg_load_relaxed(&heap->remote_slabs);

	while (other != NULL && other != slab)
		other = gg_load_relaxed(&other->remote_next);
	return other != NULL;
}

/* The slab of a heap that begins there, and has blocks that its heap does not know of. */
static struct gg_malloc_slab *unknown_slab(size_t slice)
{
	struct gg_malloc_slab *slab = gg_malloc_map.entries[slice];
	const struct gg_malloc_heap *heap;

	if (slab == NULL || gg_malloc_slab_slice(slab) != slice ||
	    gg_malloc_slab_owner(slab) <= GG_MALLOC_OWNER_SLOTS ||
	    gg_load_relaxed(&slab->remote) == NULL)
		return NULL;
	heap = (const struct gg_malloc_heap *)gg_malloc_slab_owner(slab); /* NOLINT */
	return gg_load_relaxed(&heap->state) != GG_MALLOC_HEAP_LOST && !is_put(heap, slab) ? slab
	                                                                                   : NULL;
}

void gg_malloc_collect_for_parent(bool was_pushed)
{
	struct gg_malloc_heap *heap;

	for (size_t i = gg_malloc_arena_first_slice(); was_pushed && i < gg_malloc_map.limit; i++) {
		struct gg_malloc_slab *slab = unknown_slab(i);

		if (slab != NULL)
			put_slab(slab);
	}
	for (heap = gg_malloc_first_heap(); heap != NULL; heap = heap->next)
		if (gg_malloc_has_remote_slabs(heap) &&
		    gg_load_relaxed(&heap->state) == GG_MALLOC_HEAP_ORPHAN)
			collect_orphan(heap);
}
