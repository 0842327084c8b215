/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab - what is known about a slab or a run, and how a pointer leads to it.
 *
 * All blocks lie in one reservation of slices of 16 KiB (arena.h).  A table has one entry for each
 * slice, so free(p) finds the slab of p by a subtraction, a shift and a load.  The table's limit is
 * 0 before the first allocation.  So one compare sorts out NULL, pointers of other allocators, huge
 * blocks (huge.h) and calls before the start.
 *
 * Owner   One compare of `owner` with the calling thread's heap decides whether free() may take the
 *         fast path.  Runs, slabs of sampled slots and free runs have owners that are no heap.
 * Lists   free() pushes onto `local_free`.  malloc() pops from the list that its thread heap was
 *         handed (thread_heap.h), and no free ever enters that list.
 * Count   Blocks count as used from the moment at which they are handed to a thread heap:
 *
 *             used = countdown + bias        extended = used + blocks in local_free
 *
 *         Frees by other threads are in `remote` and count as used until the owner collects them.
 *         free() decrements `countdown`, and an event follows at 0: a full slab has enough free
 *         blocks to be of use, or a slab is empty.  `bias` is 0 except in full slabs.
 * Threads the owner's thread, except `remote` and `remote_next` (remote_frees.h) and `owner`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "malloc/block_class.h"

struct gg_malloc_heap;

/* A free block.  The rest of its memory has no meaning. */
struct gg_malloc_block {
	struct gg_malloc_block *next;
};

/* Owners that are not the address of a heap. */
enum gg_malloc_owner {
	GG_MALLOC_OWNER_NONE,  /* never used, or part of another run */
	GG_MALLOC_OWNER_FREE,  /* a free run of the arena */
	GG_MALLOC_OWNER_RUN,   /* one large block */
	GG_MALLOC_OWNER_SLOTS, /* sampled blocks of all threads (sampled_slots.h) */
};

enum gg_malloc_slab_state {
	GG_MALLOC_SLAB_CURRENT, /* the slab from which its heap takes blocks of this class */
	GG_MALLOC_SLAB_QUEUED,  /* has free blocks, and waits in its heap's queue */
	GG_MALLOC_SLAB_FULL,    /* few of its blocks are free; in no list */
};

struct gg_malloc_slab {
	/* free() touches these members. */
	uintptr_t owner;
	struct gg_malloc_block *local_free;
	uint32_t countdown; /* frees until the next event */
	uint32_t bias;      /* used blocks besides `countdown` */

	uint32_t extended; /* blocks that were ever handed; the rest of the slab is untouched */
	uint32_t capacity; /* blocks */
	uint32_t block_bytes;
	uint32_t slice_count;
	uint8_t class;     /* of blocks; of a run: gg_size_class() of its request */
	uint8_t state;     /* enum gg_malloc_slab_state */
	bool is_zero;      /* a run: all its bytes are 0 */
	bool is_sampled;   /* a run in use: the client knows it */
	uint32_t freed_ms; /* a free run: when its larger part was freed */
	struct gg_malloc_slab *next, *previous; /* in a queue of a heap, or a bin of the arena */

	/* Frees by other threads touch these members. */
	struct gg_malloc_block *remote __attribute__((aligned(64)));
	struct gg_malloc_slab
		*remote_next; /* in the heap's list; valid while `remote` is not NULL */
} __attribute__((aligned(64)));

/* Which slab each slice belongs to. */
struct gg_malloc_map {
	uintptr_t base;                  /* of the first slice */
	size_t limit;                    /* slices in use, from the first one; 0: none yet */
	struct gg_malloc_slab **entries; /* of each slice (slice_map.h) */
	struct gg_malloc_slab *slabs;    /* the slab whose first slice has the same number */
};
extern struct gg_malloc_map gg_malloc_map __attribute__((visibility("hidden")));

/* Returns the number of the slice of a pointer. */
static inline size_t gg_malloc_slice_of(const void *p)
{
	return ((uintptr_t)p - gg_malloc_map.base) >> GG_MALLOC_SLICE_SHIFT;
}

/* True if the slice is one of the arena's.  The table has an entry for it then. */
static inline bool gg_malloc_has_slice(size_t slice)
{
	/*
	 * Relaxed: the limit and the entry were stored before the block was handed out, and the
	 * program passed the block on to this thread.
	 */
	return slice < __atomic_load_n(&gg_malloc_map.limit, __ATOMIC_RELAXED);
}

/* Returns the slab of a pointer; NULL: it is not a pointer into the arena. */
static inline struct gg_malloc_slab *gg_malloc_slab_of(const void *p)
{
	size_t slice = gg_malloc_slice_of(p);

	return gg_malloc_has_slice(slice) ? gg_malloc_map.entries[slice] : NULL;
}

static inline size_t gg_malloc_slab_slice(const struct gg_malloc_slab *slab)
{
	return (size_t)(slab - gg_malloc_map.slabs);
}

static inline char *gg_malloc_slab_start(const struct gg_malloc_slab *slab)
{
	return (char *)gg_malloc_map.base +
	       (gg_malloc_slab_slice(slab) << GG_MALLOC_SLICE_SHIFT); /* NOLINT */
}

static inline uintptr_t gg_malloc_slab_owner(const struct gg_malloc_slab *slab)
{
	/* Relaxed: see gg_malloc_has_slice(). */
	return __atomic_load_n(&slab->owner, __ATOMIC_RELAXED);
}

/* The usable size of a run. */
static inline size_t gg_malloc_run_bytes(const struct gg_malloc_slab *run)
{
	return (size_t)run->slice_count << GG_MALLOC_SLICE_SHIFT;
}

static inline uint32_t gg_malloc_slab_used(const struct gg_malloc_slab *slab)
{
	return slab->countdown + slab->bias;
}
