/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - the heaps that the program has registered.
 *
 * Lifetime  of the process: no heap is ever removed.  Its name is copied.
 * Full      beyond GG_EMBED_HEAPS heaps registering returns 0, and a counter records it
 * Threads   any; registering holds a lock for the look-up only
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/live_objects.h"
#include "embed/public.h"

enum {
	GG_EMBED_HEAPS = 255,        /* the region's table has 256 entries, and 0 means no heap */
	GG_EMBED_HEAP_NAME_MAX = 256 /* longer names are cut; with the unit and the 0 byte */
};

struct gg_embed_heap {
	char name[GG_EMBED_HEAP_NAME_MAX]; /* with its unit: "stack [slots]" */
	uint32_t name_bytes;
	uint32_t number; /* number in the region; 0: not known yet */
	geiger_frame_provider *provide;
	void *provide_user;
	struct gg_embed_live_objects live_objects;
};

/* In a forked child: frees the lock, whose owner may exist in the parent alone. */
void gg_embed_heap_forked(void);

/* Another region may give the heaps other numbers. */
void gg_embed_heap_forget_numbers(void);

/* Returns the heap of that number.  NULL: it was never registered, and a counter records that. */
struct gg_embed_heap *gg_embed_heap_of(uint32_t heap);
