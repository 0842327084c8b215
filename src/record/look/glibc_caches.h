/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_caches - the blocks that glibc's threads keep for themselves, which look in use.
 *
 * Each thread has a table of 64 lists, one for each size, in a chunk of 0x290 bytes.  A walk offers
 * all chunks in use.  Those that look like such a table are checked: each list begins with a block
 * of the right size, and glibc marked all these blocks with the same key.
 *
 * Releases before 2.30 and after 2.42 have other tables, so nothing is known there.
 *
 * Hostile  a program can forge a table; then only this number is wrong.
 */
#pragma once

#include <stdint.h>

#include "record/look/glibc_heap.h"
#include "record/look/heap_window.h"

enum { GG_GLIBC_CACHE_LISTS = 64 };

struct gg_glibc_cache {
	uint16_t counts[GG_GLIBC_CACHE_LISTS];
	uint64_t blocks[GG_GLIBC_CACHE_LISTS]; /* the first of each list; 0: it is empty */
};

struct gg_glibc_caches {
	GG_ARRAY(struct gg_glibc_cache) tables;
};

/* Keeps a chunk in use if it may be the table of a thread. */
void gg_glibc_caches_take(struct gg_glibc_caches *caches, struct gg_heap_window *window,
                          uint64_t chunk, uint64_t bytes, uint64_t end);

/* Returns the bytes of all cached chunks; -1: no table was found, so it is unknown. */
int64_t gg_glibc_caches_bytes(const struct gg_glibc_caches *caches,
                              const struct gg_glibc_view *view);

void gg_glibc_caches_done(struct gg_glibc_caches *caches);
