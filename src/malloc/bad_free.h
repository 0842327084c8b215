/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_free - ends the process with a message when it frees a pointer that is no live block.
 *
 *   geiger-malloc: free(0x7f30c8a04010): the block is free already
 *   geiger-malloc: realloc(0x7f30c8a04010): the pointer leads into a block
 *
 * Slow paths check what they have at hand, so the checks cost nothing where nothing is special:
 *
 *   always found   a run or a sample that is free already; a block whose slab went back; a pointer
 *                  into a run, into a sample, or into another thread's block; a pointer into memory
 *                  of the arena that no block ever had, except for slots of samples
 *   often found    a block that is free already, when its slab hands its free blocks out again:
 *                  if the list of free blocks has a loop of up to eight blocks near its begin, or
 *                  fewer blocks than were freed
 *
 * The fast path of free() takes any pointer into a slab of its own thread for a block.
 *
 * Signals  one line on standard error, then SIGABRT for the thread; no libc, no allocation.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "malloc/slab.h"

GG_COLD __attribute__((noreturn)) void gg_malloc_bad_free(const void *p, const char *why);
GG_COLD __attribute__((noreturn)) void gg_malloc_bad_realloc(const void *p, const char *why);

/* Ends the process: a block's link in a list of free blocks is damaged (list_link.h). */
GG_COLD __attribute__((noreturn)) void gg_malloc_bad_link(const struct gg_malloc_block *block);

/* True if a pointer into the slab is the begin of a block that was ever handed out. */
static inline bool gg_malloc_is_block(const struct gg_malloc_slab *slab, const void *p)
{
	uint32_t offset = (uint32_t)((const char *)p - gg_malloc_slab_start(slab));

	return offset % slab->block_bytes == 0 && offset / slab->block_bytes < slab->capacity;
}
