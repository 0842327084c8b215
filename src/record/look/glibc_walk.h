/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_walk - walks through all heaps of glibc's malloc, chunk by chunk, for exact totals.
 *
 *   struct gg_glibc_totals totals;
 *   enum gg_glibc_obstacle obstacle;
 *   struct gg_glibc_fast_gaps gaps = { 0 };
 *
 *   status = gg_glibc_walk(&totals, &obstacle, &gaps, &view, deadline_ns);
 *   if (status == 0 && obstacle == GG_GLIBC_NO_OBSTACLE)
 *           ... totals.pinned_bytes ...
 *
 * Each resident byte of the heaps is exactly one of these:
 *
 *   in use       of a chunk in use, with its size word; also if a thread's cache holds it
 *   pinned       free, on a page that a chunk in use or metadata holds as well
 *   returnable   free, on a page that nothing else holds
 *   metadata     of headers of heaps and arenas, and marks at their ends
 *   unread       between chunks that contradict each other: the program was busy, or another
 *                user of brk() owns this memory
 *
 * Chunks in fast bins are free if the walk can read the fast bins, and otherwise look in use
 * (record/look/glibc_fast_bins.h).
 *
 * The program runs on meanwhile.  When chunks contradict each other, the walk goes back to where it
 * last copied memory, and reads that again.  If that does not help, it goes on at the next place
 * from which a row of chunks is sound, at the latest at a block that is known to be live.
 *
 * Hostile  no size leads out of its heap, and the walk goes forward only.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdint.h>

#include "record/look/glibc_fast_runs.h"
#include "record/look/glibc_heap.h"

/* Bytes; resident ones, but for the first two. */
struct gg_glibc_totals {
	int64_t walked_bytes; /* the heaps' sizes */
	int64_t free_bytes;   /* in free chunks without the tops, resident or not */
	int64_t resident_bytes;
	int64_t in_use_bytes, pinned_bytes, returnable_bytes, metadata_bytes, unread_bytes;
	int64_t header_bytes; /* size words of chunks in use; part of in_use_bytes */
	int64_t cached_bytes; /* in caches of threads; part of in_use_bytes; -1: unknown */
	/* If a limit prevented the count of caches: what they state to have; otherwise -1. */
	int64_t uncounted_bytes;
	/* If a limit prevented following fast bins: what may be in them; otherwise -1. */
	int64_t uncounted_fast_bytes;
	int64_t fast_bytes; /* in fast bins; part of pinned and returnable bytes; -1: unknown */
	int64_t top_bytes;  /* whole pages of the heaps' tops; part of returnable_bytes */
	int64_t trimmable_bytes;    /* what malloc_trim() returns; part of returnable_bytes */
	int64_t arena_bytes;        /* of all arenas but the main one; part of resident_bytes */
	int64_t arena_in_use_bytes; /* part of arena_bytes and of in_use_bytes */
	int64_t arena_count;        /* without the main arena: a number, not bytes */
	/*
	 * The process allocated or freed so much meanwhile.  The walk fills in lists that changed
	 * while it read them, and the caller adds the most that samples allow.
	 */
	int64_t changed_bytes;
};

/* Why a walk gave up before it knew all totals. */
enum gg_glibc_obstacle {
	GG_GLIBC_NO_OBSTACLE,
	GG_GLIBC_TOO_LARGE,  /* the time allowed is over */
	GG_GLIBC_SWAPPED,    /* the walk must not swap the heads of chunks in */
	GG_GLIBC_UNEXPECTED, /* a heap has no row of sound chunks */
};

/*
 * Walks, and fills *gaps, which is empty, with the runs of chunks in fast bins; the caller calls
 * gg_glibc_fast_gaps_done() in any case.  Returns 0, or a negative errno value if memory is out or
 * the process may not be read.  After an obstacle, only walked_bytes counts: how far the walk came.
 * The walk gives up when this thread's processor time (gg_clock_thread_ns()) passes deadline_ns; 0:
 * it has no deadline.
 */
int gg_glibc_walk(struct gg_glibc_totals *ret, enum gg_glibc_obstacle *ret_obstacle,
                  struct gg_glibc_fast_gaps *gaps, const struct gg_glibc_view *view,
                  uint64_t deadline_ns);
