/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper - fills the heap of glibc or jemalloc in known shapes, lists all live blocks, and knows
 * the exact truth about the free memory around them.
 *
 *   struct keeper *keeper = keeper_new();
 *
 *   keeper_fill(keeper, "sixty-fourth", 1);  // a shape and a seed
 *   keeper_walk(keeper);                     // the truth, by the caller's own process
 *   keeper->blocks[i].pinned_bytes; keeper->truth.returnable_bytes;
 *   keeper_free_role(keeper, KEEPER_INDEX);
 *
 * The list is in shared memory: a parent reads what its child filled in.  It disturbs no heap.  The
 * truth comes from a walk over all chunks of all heaps that hold a listed block, and from the
 * residency of their pages.  A listed block that is no chunk in use ends the process.  With
 * jemalloc underneath, the truth comes from its slabs; then only pinned_bytes are known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The allocating part of the program. Each role has a function, and so a stack. */
enum keeper_role { KEEPER_INDEX, KEEPER_NAMES, KEEPER_CACHE, KEEPER_NODES, KEEPER_ROLE_COUNT };

struct keeper_block {
	char *address; /* NULL: freed */
	size_t size_bytes, usable_bytes;
	enum keeper_role role;
	/* Free resident bytes beside it on its pages, or half if the next block has the page. */
	double pinned_bytes;
};

struct keeper_truth {
	size_t walked_bytes;       /* the heaps */
	size_t used_bytes;         /* resident, of chunks in use with their size words */
	size_t free_bytes;         /* of free chunks without the tops, resident or not */
	size_t top_bytes;          /* of the tops, resident or not */
	size_t returnable_bytes;   /* free resident bytes on pages that nothing holds */
	size_t pinned_bytes;       /* free resident bytes on other pages */
	double other_pinned_bytes; /* of chunks that are not listed, such as cached ones */
};

struct keeper {
	struct keeper_block *blocks;
	size_t count, capacity;
	uint64_t random;
	struct keeper_truth truth;
};

/* The shapes' names, up to NULL. */
extern const char *const keeper_shapes[];
/* The functions that allocate for the roles. */
extern const char *const keeper_role_names[KEEPER_ROLE_COUNT];

struct keeper *keeper_new(void);
void keeper_delete(struct keeper *keeper);
/* False if there is no such shape. */
bool keeper_fill(struct keeper *keeper, const char *shape, uint64_t seed);
void keeper_walk(struct keeper *keeper);

/* True if the program runs over jemalloc: then keeper_walk_slabs() is the walk. */
bool keeper_has_slabs(void);
/* Blocks in the calling thread's cache become free before. */
void keeper_walk_slabs(struct keeper *keeper);
/* Returns all free pages, as malloc_trim(0) does with glibc. */
void keeper_trim_slabs(void);

void keeper_free_role(struct keeper *keeper, enum keeper_role role);
