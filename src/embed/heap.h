/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - the heaps that a program has registered.
 *
 * Lifetime  of the process: a heap is never given up, and its name is copied.
 * Full      GG_EMBED_HEAPS of them, and GG_EMBED_HEAP_TEXT bytes of names: 0, counted.
 * Threads   any; registering takes a lock that is held for the look-up alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/live_objects.h"
#include "embed/public.h"

enum {
	GG_EMBED_HEAPS = 255,        /* what a region's table has, less "none" */
	GG_EMBED_HEAP_NAME_MAX = 256 /* longer names are cut, with the unit and the 0 byte */
};

struct gg_embed_heap {
	char name[GG_EMBED_HEAP_NAME_MAX]; /* with its unit: "stack [slots]" */
	uint32_t name_bytes;
	uint32_t number; /* in the region; 0: not yet asked for, or none */
	size_t (*provide)(void *user, struct geiger_frame *frames, size_t capacity);
	void *provide_user;
	struct gg_embed_tracked tracked;
};

/* In a forked child: the lock is nobody's. */
void gg_embed_heap_forked(void);

/* The heap of that number; NULL: never registered, which is counted. */
struct gg_embed_heap *gg_embed_heap_of(uint32_t heap);
