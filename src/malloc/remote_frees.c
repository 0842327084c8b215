/* SPDX-License-Identifier: Apache-2.0 */
/* remote_frees - pushes blocks and slabs, and collects those of orphans. */
#include "malloc/remote_frees.h"

#include "malloc/list_link.h"

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

void gg_malloc_free_remote(struct gg_malloc_slab *slab, struct gg_malloc_block *block)
{
	struct gg_malloc_block *first = gg_load_relaxed(&slab->remote);

	/* Release: pairs with gg_malloc_take_remote_blocks(). */
	do
		gg_malloc_link_set(block, first);
	while (!gg_cas_acq_rel(&slab->remote, &first, block));
	if (first == NULL)
		put_slab(slab);
}
