/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_arenas - the arenas of glibc's malloc in another process, and the heads of their fast bins.
 *
 *   struct gg_glibc_arenas arenas = { 0 };
 *
 *   status = gg_glibc_arenas_read(&arenas, &view);
 *   if (status == 0 && arenas.is_known)
 *           ... arenas.items.items[0].fast_heads[2] ...
 *   gg_glibc_arenas_done(&arenas);
 *
 * The main arena is a variable of libc without a symbol.  Its bins show it: each of 127 bins is a
 * pair of links that lead into the heap, or back to the pair itself if the bin is empty.  The other
 * arenas follow in a ring, and each of them must own a heap that the look has found.
 *
 * Releases 2.27 to 2.42 have this layout.  In others nothing is known.
 *
 * Hostile  a program can forge an arena; every address that is found lies in a heap of its arena.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/glibc_heap.h"

enum { GG_GLIBC_FAST_BINS = 10 };

struct gg_glibc_arena {
	uint64_t state;                          /* as in struct gg_glibc_heap; 0: the main arena */
	uint64_t fast_heads[GG_GLIBC_FAST_BINS]; /* the first chunk of each bin; 0: it is empty */
};

struct gg_glibc_arenas {
	bool is_known; /* the list has all arenas */
	GG_ARRAY(struct gg_glibc_arena) items;
};

/*
 * Reads the arenas anew.  Returns 0, or a negative errno value if memory is out or the process may
 * not be read.
 */
int gg_glibc_arenas_read(struct gg_glibc_arenas *arenas, const struct gg_glibc_view *view);

void gg_glibc_arenas_done(struct gg_glibc_arenas *arenas);
