/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_heap - the blocks that one thread allocates from.
 *
 * malloc() pops from `handed`, one list for each block class.  Only refill.c fills it, and only
 * when it is empty.  So a handed list shrinks and nothing else, and its length counts down the
 * trials to the next sample (class_sampling.h).
 *
 *   handed[class] -> block -> block -> NULL      what malloc() pops
 *   rest          -> home of the next sample -> block -> ...   behind the cut; NULL: no cut
 *   current       the slab that both came from; its local_free collects what free() pushes
 *   queue         slabs with free blocks, which wait for their turn (first in, first out)
 *
 * Policy    No decision may depend on where a list is cut: refill.c settles the cut before it looks
 *           at any slab, and a list that is taken back is taken back whole.  So the addresses of
 *           all blocks are the same for any seed, and with sampling off (docs/MALLOC.md).
 * Start     The thread-local pointer leads to a static heap whose lists are empty, so the first
 *           call of a thread gets to the slow path, which gives the thread a heap.
 * Ends      A heap outlives its thread.  It becomes an orphan with all its slabs, and the next new
 *           thread adopts it.  Until then, any thread that frees one of its blocks may collect its
 *           remote frees (remote_frees.h).  Allocations of a thread that has ended borrow an
 *           orphan.  The orphan whose thread ended last keeps its empty slabs and the blocks that
 *           it was handed, for the next thread.  All others are trimmed, and give each slab back
 *           when its last block is freed.
 * Fork      In the child, the heaps of all other threads are in an unknown state: their memory is
 *           never used again.
 * Threads   The thread that owns, adopts or borrows the heap; `state` says whether there is one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "malloc/class_sampling.h"
#include "malloc/section.h"
#include "malloc/slab.h"

enum gg_malloc_heap_state {
	GG_MALLOC_HEAP_OWNED, /* by a thread, or for a moment by one that collects or borrows */
	GG_MALLOC_HEAP_ORPHAN,
	GG_MALLOC_HEAP_LOST, /* its thread was in the parent of this process */
};

#define GG_MALLOC_GAP_ENDLESS UINT64_MAX

/* One class of a heap. */
struct gg_malloc_supply {
	struct gg_malloc_slab *current;      /* NULL: none yet */
	struct gg_malloc_slab *first, *last; /* queue */
	struct gg_malloc_block *rest;
	uint32_t rest_count;
	uint32_t empty_looks;         /* of gg_malloc_heap_retire() since there is an empty slab */
	struct gg_malloc_slab *empty; /* the empty slab that waits in the queue; NULL: none */
	bool is_due;                  /* the first block of `rest` is the home of a sample */
	bool has_gap;                 /* `gap` was drawn */
	/*
	 * Trials that fail before the next success, after those handed.  If it was not drawn, it is
	 * 0, or for a heap without a plan GG_MALLOC_GAP_ENDLESS less those handed.
	 */
	uint64_t gap;
	double due_interval;          /* of the draw that made the cut */
	uint64_t handed_count;        /* blocks handed so far, `rest` included */
	uint64_t retire_handed_count; /* that number at the last gg_malloc_heap_retire() */
};

struct gg_malloc_heap {
	struct gg_malloc_block *handed[GG_MALLOC_CLASS_COUNT];
	/* The class of each size up to GG_MALLOC_FAST_BYTES, in steps of 16 bytes. */
	uint8_t class_of_words[GG_MALLOC_FAST_BYTES / 16 + 1];
	struct gg_malloc_supply supplies[GG_MALLOC_CLASS_COUNT];
	size_t alignment_bytes;            /* of the request under way, for guarded blocks; 0: 16 */
	const struct gg_malloc_plan *plan; /* that the draws are from; NULL: nothing is sampled */
	struct gg_rng rng;
	struct gg_sampler sampler;   /* of runs */
	uint64_t number;             /* of the heap: its stream of random numbers */
	int64_t visit_left_bytes;    /* to be handed until the next visit of the client */
	uint64_t seed;               /* of `rng`; 0: from the system, or none yet */
	uint64_t walked_count;       /* steps to cuts, for tests and benchmarks */
	uint32_t purge_countdown;    /* slow paths until one looks at the clock (purge.h) */
	uint32_t retire_ms;          /* when empty slabs were last looked at */
	uint32_t end_rounds;         /* rounds of destructors that the thread's end has had */
	uint32_t end_ms;             /* when its last thread ended */
	bool keeps_nothing;          /* it was trimmed after its thread's end: no slab waits here */
	uint32_t fork_count;         /* of the process that its draws are of */
	uint32_t pushes;             /* remote frees of its thread under way (remote_frees.h) */
	struct gg_malloc_heap *next; /* in the list of all heaps; they are never freed */

	/* Other threads touch these members. */
	struct gg_malloc_slab *remote_slabs __attribute__((aligned(64)));
	uint32_t state;       /* enum gg_malloc_heap_state */
	uint32_t trim_wanted; /* 1: the thread that abandons the heap trims it first */
};

extern __thread struct gg_malloc_heap *gg_malloc_thread_heap
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
extern struct gg_malloc_heap gg_malloc_empty_heap __attribute__((visibility("hidden")));

/* The state that gg_malloc_section_end() restores.  Sections may be nested. */
struct gg_malloc_section {
	struct gg_malloc_heap *heap;
	bool is_nested;
};

/* Around all work on lists and slabs of a heap, without calls of the client (section.h). */
static inline struct gg_malloc_section gg_malloc_section_begin(void)
{
	struct gg_malloc_section outer = {
		.heap = gg_malloc_thread_heap,
		.is_nested = (gg_malloc_inside & GG_MALLOC_PART_HEAP) != 0,
	};

	if (gg_likely(!outer.is_nested))
		gg_malloc_section_sp = gg_malloc_stack_pointer();
	gg_malloc_part_enter(GG_MALLOC_PART_HEAP);
	gg_malloc_thread_heap = &gg_malloc_empty_heap;
	gg_fence_signal();
	return outer;
}

static inline void gg_malloc_section_end(struct gg_malloc_section outer)
{
	gg_fence_signal();
	gg_malloc_thread_heap = outer.heap;
	if (!outer.is_nested)
		gg_malloc_part_leave(GG_MALLOC_PART_HEAP);
}

/* The first of all heaps. */
struct gg_malloc_heap *gg_malloc_first_heap(void);

/*
 * The heap of the calling thread, which gets one at its first call.  It may be borrowed: then
 * gg_malloc_heap_leave() gives it back.  NULL: there is no memory, another allocator must serve, or
 * this is a signal handler that interrupted its thread's work on its heap.
 */
static inline struct gg_malloc_heap *gg_malloc_heap_enter(void);
static inline void gg_malloc_heap_leave(struct gg_malloc_heap *heap);

/* gg_malloc_heap_enter() for a thread that has no heap, or has ended. */
GG_COLD struct gg_malloc_heap *gg_malloc_heap_get(void);

/* Takes a heap that has no thread.  False: it has one, or someone was faster. */
bool gg_malloc_heap_claim(struct gg_malloc_heap *heap);

/* Makes a heap an orphan: it has no thread from now on.  Trims it if that is wanted. */
void gg_malloc_heap_abandon(struct gg_malloc_heap *heap);

/* Abandons a heap whose blocks the next thread may go on with, and trims the one before it. */
GG_COLD void gg_malloc_heap_return(struct gg_malloc_heap *heap);

/* Returns a block of the class, from the heap's list or by a refill; NULL: there is no memory. */
void *gg_malloc_heap_pop(struct gg_malloc_heap *heap, unsigned class, size_t bytes);

/*
 * Returns a block when the handed list of the class is empty: settles a due sample, or hands the
 * next list.  bytes: what the program requests.
 */
GG_APART void *gg_malloc_refill(struct gg_malloc_heap *heap, unsigned class, size_t bytes);

/* The event of a slab whose countdown is 0. */
GG_APART void gg_malloc_slab_event(struct gg_malloc_heap *heap, struct gg_malloc_slab *slab);

/*
 * Draws anew for all blocks that the heap was handed and has not used, in a forked child: otherwise
 * parent and child, and all siblings, would have their next samples at the same blocks.
 */
GG_COLD void gg_malloc_heap_redraw(struct gg_malloc_heap *heap);

/* Takes the blocks that other threads freed back into their slabs. */
GG_APART void gg_malloc_collect_remote(struct gg_malloc_heap *heap);

/*
 * In a forked child: forgets the pushes of threads that it does not have (remote_frees.h).  True:
 * there were some, and the calling thread is in no push.
 */
GG_COLD bool gg_malloc_forget_pushes(struct gg_malloc_heap *own_heap);

/* In a forked child: does what those threads had still to do for slabs and orphans. */
GG_COLD void gg_malloc_collect_for_parent(bool was_pushed);

/* Gives empty slabs back to the arena, and handed blocks to their slabs. */
GG_COLD void gg_malloc_heap_trim(struct gg_malloc_heap *heap);

/*
 * Gives slabs back that were empty at the last call as well, and takes back the blocks of classes
 * that were handed none since.
 */
GG_COLD void gg_malloc_heap_retire(struct gg_malloc_heap *heap);

/* Trims the heap whose thread ended last, unless another thread has adopted it. */
GG_COLD void gg_malloc_heap_trim_orphan(void);

/* Looks at the clock, after some slow paths (purge.h). */
static inline void gg_malloc_heap_count_visit(struct gg_malloc_heap *heap);
GG_APART void gg_malloc_heap_purge(struct gg_malloc_heap *heap);

/* Draws anew by the plan in use. */
GG_APART void gg_malloc_heap_apply_plan(struct gg_malloc_heap *heap,
                                        const struct gg_malloc_plan *plan);

/*
 * Before blocks are handed: lets the client change the plan if it is time, and takes a new plan
 * over.
 */
GG_APART void gg_malloc_heap_visit(struct gg_malloc_heap *heap);

static inline struct gg_malloc_heap *gg_malloc_heap_enter(void)
{
	struct gg_malloc_heap *heap = gg_malloc_thread_heap;

	return gg_likely(heap != &gg_malloc_empty_heap) ? heap : gg_malloc_heap_get();
}

static inline void gg_malloc_heap_leave(struct gg_malloc_heap *heap)
{
	if (gg_unlikely(heap != gg_malloc_thread_heap))
		gg_malloc_heap_return(heap);
}

static inline void gg_malloc_heap_count_visit(struct gg_malloc_heap *heap)
{
	if (__builtin_expect(--heap->purge_countdown == 0, 0))
		gg_malloc_heap_purge(heap);
}

static inline void gg_malloc_heap_prepare(struct gg_malloc_heap *heap)
{
	gg_malloc_heap_count_visit(heap);
	if (__builtin_expect(heap->visit_left_bytes <= 0, 0))
		gg_malloc_heap_visit(heap);
	if (__builtin_expect(heap->plan != gg_malloc_plan(), 0))
		gg_malloc_heap_apply_plan(heap, gg_malloc_plan());
}
