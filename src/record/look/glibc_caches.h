/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_caches - the blocks that glibc's threads keep for themselves, which look in use.
 *
 *   struct gg_glibc_caches caches = { 0 };
 *
 *   ... a walk, which calls gg_glibc_caches_take() for each chunk in use ...
 *   status = gg_glibc_caches_count(&sums, &caches, &view, deadline_ns);
 *   if (sums.is_known)
 *           ... sums.resident_bytes ...
 *   gg_glibc_caches_done(&caches);
 *
 * Each thread has a table of 64 lists, one for each size, in a chunk of 0x290 bytes.  A walk offers
 * all chunks in use.  Those that look like such a table are checked: each list has as many blocks
 * as the table says, all of its size, and glibc marked all blocks with the same key.
 *
 * The first chunk of [heap] is the table of the first thread.  If it has another size, the release
 * has other tables (before 2.30, after 2.41), and nothing is known.
 *
 * A list that changes while it is read is torn.  The table is then read again.  If that does not
 * help, its own counts stand for its lists, and these bytes are unsure.
 *
 * Hostile  a program can forge tables; no list is followed beyond its count, and all tables
 *          together have a limit of blocks that are read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/glibc_heap.h"
#include "record/look/heap_window.h"

enum { GG_GLIBC_CACHE_LISTS = 64 };

/* As it lies in the process. */
struct gg_glibc_cache_table {
	uint16_t counts[GG_GLIBC_CACHE_LISTS];
	uint64_t blocks[GG_GLIBC_CACHE_LISTS]; /* the first of each list; 0: it is empty */
};

struct gg_glibc_cache {
	uint64_t address;
	struct gg_glibc_cache_table table;
};

struct gg_glibc_caches {
	bool has_layout; /* the first chunk of [heap] is a table */
	bool is_full;    /* a table is missing */
	GG_ARRAY(struct gg_glibc_cache) tables;
};

struct gg_glibc_cache_sums {
	bool is_known;
	int64_t resident_bytes; /* of all cached chunks */
	int64_t chunk_count;
	int64_t unsure_bytes; /* part of the first sum: of lists that changed meanwhile */
	/* The bytes that the tables state, if a limit ended the count; otherwise 0. */
	int64_t uncounted_bytes;
};

/* Keeps a chunk in use if it may be the table of a thread. */
void gg_glibc_caches_take(struct gg_glibc_caches *caches, struct gg_heap_window *window,
                          const struct gg_glibc_heap *heap, uint64_t chunk, uint64_t bytes);

/*
 * Checks and counts all lists.  Nothing is known if this thread's processor time passes deadline_ns
 * meanwhile (0: there is no deadline), or if 2 million blocks do not suffice.  Returns 0, or a
 * negative errno value if memory is out or the process may not be read.
 */
int gg_glibc_caches_count(struct gg_glibc_cache_sums *ret, const struct gg_glibc_caches *caches,
                          const struct gg_glibc_view *view, uint64_t deadline_ns);

void gg_glibc_caches_done(struct gg_glibc_caches *caches);
