/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_gaps - the free memory beside blocks of glibc's malloc, without a walk through the heap.
 *
 *   struct gg_glibc_gaps gaps[count];
 *
 *   status = gg_glibc_gaps_find(gaps, places, count, &heap_view);
 *   if (gaps[0].state == GG_GAPS_SEEN)
 *           ... gaps[0].pinned_bytes ...
 *
 * glibc merges neighbouring free chunks, so at most one free chunk, a gap, lies between two chunks
 * in use.  Four heads show both gaps of a block:
 *
 *   - its own says whether the chunk before it is free, and how long;
 *   - the head of that free chunk has the same size, or they are torn;
 *   - the head behind the block has its size, and says that the block is in use;
 *   - the head after that says whether the chunk behind the block is free, and repeats its size.
 *
 * A page of a gap that one neighbour holds is pinned by that neighbour; if both hold it, by each of
 * them half.  Pages that lie in the gap whole are returnable, and count for the block before it.
 * The sum over all chunks in use is what a walk finds (record/look/glibc_walk.h), to the byte.
 *
 * Blocks in a cache of a thread and in fast bins look in use.  A gap ends at them.  A walk finds
 * those in fast bins, and gg_glibc_gaps_join() then makes one gap of them and of the free chunks
 * beside them.  The top of a heap is a gap whose whole pages belong to no block.
 *
 * Hostile  sizes are followed only inside of the heap or mapping that holds the block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/look/block_place.h"
#include "record/look/glibc_fast_runs.h"
#include "record/look/glibc_heap.h"

enum gg_gaps_state {
	GG_GAPS_SEEN,
	GG_GAPS_ABSENT,  /* a head is not resident, so a look at it would change RSS */
	GG_GAPS_TORN,    /* the heads changed meanwhile, and contradict each other */
	GG_GAPS_FOREIGN, /* the heads contradict each other and do not change: not a glibc block */
};

struct gg_glibc_gaps {
	enum gg_gaps_state state;
	bool is_mapped; /* its head says that it is a mapping of its own */
	/*
	 * Free chunks lie in [begin, chunk) and in [after, end); if is_top_after, the second are
	 * the top.  All are 0 for a mapping of its own, and unless it is GG_GAPS_SEEN.
	 */
	uint64_t begin, chunk, after, end;
	bool is_top_after;
	double pinned_bytes; /* these two are 0 unless it is GG_GAPS_SEEN */
	int64_t returnable_bytes;
};

/*
 * Looks at the blocks, which ascend by address; ret[i] belongs to places[i].  Returns 0, or a
 * negative errno value if memory is out or the process may not be read.
 */
int gg_glibc_gaps_find(struct gg_glibc_gaps *ret, const struct gg_block_place *const *places,
                       size_t count, const struct gg_glibc_view *view);

/*
 * Extends the gaps that end at a chunk in a fast bin, and counts them anew.  Returns 0, or a
 * negative errno value if the page table cannot be read.
 */
int gg_glibc_gaps_join(struct gg_glibc_gaps *gaps, size_t count,
                       const struct gg_glibc_fast_gaps *fast, struct gg_residency *residency);
