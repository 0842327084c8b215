/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_fast_bins - the free chunks in fast bins, which look in use to a walk through the heap.
 *
 *   struct gg_glibc_fast_bins bins = { 0 };
 *
 *   status = gg_glibc_fast_bins_begin(&bins, &view);
 *   ... a walk, which calls gg_glibc_fast_bins_note(), _note_free() and _note_top() ...
 *   status = gg_glibc_fast_bins_find(&bins, &view, deadline_ns);
 *   if (bins.is_known)
 *           ... bins.marks.items[0].is_member ...
 *   gg_glibc_fast_bins_done(&bins);
 *
 * Each arena has ten lists of free chunks of 32 to 176 bytes.  Nothing in a chunk says that it is
 * in a list, so only the lists tell.  A list may have millions of chunks, and following it through
 * the memory of another process would take a system call for each.  So the walk, which copies all
 * memory anyhow, keeps a mark for each chunk whose first word may be a link.  The lists are then
 * followed from mark to mark.  The process may have changed a list meanwhile, but only from its
 * head on.  So the first links of each list are read again, until eight in a row are unchanged.
 *
 * A list that leads to no such chunk, to a chunk of another size, or to the same chunk twice, is
 * torn.  The heads are then read again.  If that does not help, nothing is known.
 *
 * Cost     some 10 ns for each chunk of a list, 32 bytes for each mark; up to 8 system calls for
 *          each unchanged list.
 * Hostile  every link stays inside the heaps of its arena, and no list is followed in a circle.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/glibc_arenas.h"

enum {
	GG_GLIBC_FAST_BYTES_MAX = 16 * (GG_GLIBC_FAST_BINS + 1),
	GG_GLIBC_UNIT_BYTES = 16, /* sizes of chunks are multiples of it */
};

/* A chunk that looks in use and may be in a list. */
struct gg_glibc_fast_mark {
	uint64_t chunk, next;
	uint32_t free_before, free_after; /* units of 16 bytes: free chunks beside it */
	uint8_t size;                     /* units of 16 bytes */
	bool is_before_top;
	bool is_member; /* it is in a list */
};

struct gg_glibc_fast_bins {
	struct gg_glibc_arenas arenas;
	bool is_known;
	bool is_mangled;
	bool has_chunks;                           /* before the walk; otherwise no mark is kept */
	bool is_full;                              /* a mark is missing */
	GG_ARRAY(struct gg_glibc_fast_mark) marks; /* ascending */
	/* All lists hold so much at most, if a limit prevented following them; otherwise 0. */
	int64_t uncounted_bytes;
	int64_t unmarked_bytes; /* chunks of lists that the walk did not mark: it was busy */
	struct gg_glibc_fast_place {
		size_t mark_count;
		uint64_t free_begin, free_end; /* the last free chunk that the walk told */
	} free;
	size_t direct_count; /* chunks that were read one by one */
};

/*
 * Prepares for a walk.  Returns 0, or a negative errno value if memory is out or the process may
 * not be read.
 */
int gg_glibc_fast_bins_begin(struct gg_glibc_fast_bins *bins, const struct gg_glibc_view *view);

/* Whether the walk should call gg_glibc_fast_bins_note() for a chunk of so many bytes. */
static inline bool gg_glibc_fast_bins_wants(const struct gg_glibc_fast_bins *bins, uint64_t bytes)
{
	return bins->has_chunks && bytes <= GG_GLIBC_FAST_BYTES_MAX;
}

/* Marks a chunk that looks in use; `link` is the first word of its block. */
void gg_glibc_fast_bins_note(struct gg_glibc_fast_bins *bins, const struct gg_glibc_heap *heap,
                             uint64_t chunk, uint64_t bytes, uint64_t link);

/* Tells of a free chunk; the walk tells all chunks in their order. */
void gg_glibc_fast_bins_note_free(struct gg_glibc_fast_bins *bins, uint64_t chunk, uint64_t bytes);

/* Tells of the top of a heap. */
void gg_glibc_fast_bins_note_top(struct gg_glibc_fast_bins *bins, uint64_t chunk);

/* Returns the place of the walk, for going back to it. */
struct gg_glibc_fast_place gg_glibc_fast_bins_place(const struct gg_glibc_fast_bins *bins);

/* Forgets what the walk told since then; it goes on at `chunk`. */
void gg_glibc_fast_bins_go_back(struct gg_glibc_fast_bins *bins,
                                const struct gg_glibc_fast_place *place, uint64_t chunk);

/*
 * Follows all lists.  Gives up and sets uncounted_bytes when this thread's processor time passes
 * deadline_ns, or if marks are missing; deadline_ns 0: it has no deadline.  Returns as
 * gg_glibc_fast_bins_begin().
 */
int gg_glibc_fast_bins_find(struct gg_glibc_fast_bins *bins, const struct gg_glibc_view *view,
                            uint64_t deadline_ns);

void gg_glibc_fast_bins_done(struct gg_glibc_fast_bins *bins);
