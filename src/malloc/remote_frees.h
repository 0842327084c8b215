/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_frees - blocks that are freed by other threads than the one whose heap they are from.
 *
 * Two lock-free lists, each of which is only ever pushed to, or taken as a whole:
 *
 *   slab.remote         blocks of the slab
 *   heap.remote_slabs   slabs of the heap whose `remote` is not empty
 *
 * The thread that makes `remote` non-empty puts the slab into its heap's list.  The heap takes its
 * list, and then the blocks of each slab in it.  So a slab is in the list at most once: it can be
 * put there again only after its blocks were taken, and it was out of the list then.
 *
 * Lifetime  The blocks in `remote` count as used, so the slab cannot be given back, nor change its
 *           heap, until the heap has taken them.
 * Orphans   The pushing thread and the thread that abandons the heap each first write (the list,
 *           the state) and then read what the other one writes.  Both in one total order, so one of
 *           them sees that an orphan has something to collect, and collects it.
 * Fork      A child may get a slab whose first block was pushed by a thread that the child does not
 *           have, and that had not put the slab into its heap's list.  So that thread's heap counts
 *           such pushes while they are under way.  If there is one, the child looks for the slab.
 *           In the same way it collects what such a thread had left of an orphan's list.  A child
 *           that a handler made inside of a push repairs nothing, and neither does one whose thread
 *           had left a push by siglongjmp: such blocks stay in use there.
 * Cost      one compare-and-swap, and a second one for the first block of a slab.
 */
#pragma once

#include "base/atomic.h"
#include "malloc/thread_heap.h"

/* Frees a block of another thread's slab. */
void gg_malloc_free_remote(struct gg_malloc_slab *slab, struct gg_malloc_block *block);

static inline bool gg_malloc_has_remote_slabs(const struct gg_malloc_heap *heap)
{
	/* Relaxed: a hint; what is missed now is collected at the next refill. */
	return gg_load_relaxed(&heap->remote_slabs) != NULL;
}

/* Takes all slabs out of the heap's list; they are linked by `remote_next`. */
static inline struct gg_malloc_slab *gg_malloc_take_remote_slabs(struct gg_malloc_heap *heap)
{
	/* Acquire: pairs with the push, so that `remote_next` is visible. */
	return gg_exchange_acq_rel(&heap->remote_slabs, NULL);
}

static inline struct gg_malloc_block *gg_malloc_take_remote_blocks(struct gg_malloc_slab *slab)
{
	/*
	 * Acquire: pairs with the push, so that the links, and the freeing thread's last accesses
	 * to the blocks, are visible.
	 */
	return gg_exchange_acq_rel(&slab->remote, NULL);
}
