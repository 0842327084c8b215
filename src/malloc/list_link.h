/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_link - the links of lists of free blocks, which programs may overwrite.
 *
 * A write to a block after its free changes the link in the block's first word.  malloc() would
 * then hand out whatever address the program wrote.  With Meson's option `malloc_encoded`, a link
 * is stored as
 *
 *       next ^ key ^ address of the block
 *
 * where the key is random in each process.  A word that a program writes there decodes to a random
 * address.  The next block is in the same slab, so an address that is further away than a slab is
 * long ends the process with a message.  A random address passes with a chance of 2^-46.
 *
 * Cost   without the option: none.  With it, docs/MALLOC.md has the instructions.
 * Not so a program that reads a freed block learns the key.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "malloc/bad_free.h"
#include "malloc/slab.h"

#ifdef GG_MALLOC_ENCODED

/* The longest slab. */
enum { GG_MALLOC_LINK_SPAN = 16 << GG_MALLOC_SLICE_SHIFT };

/* Random; set before the first block is handed out. */
extern uintptr_t gg_malloc_link_key __attribute__((visibility("hidden")));

/* Decodes without a check, for walks along lists that change meanwhile. */
static inline struct gg_malloc_block *gg_malloc_link_glance(const struct gg_malloc_block *block)
{
	return (struct gg_malloc_block *)((uintptr_t)block->next ^ gg_malloc_link_key ^ /* NOLINT */
	                                  (uintptr_t)block);
}

static inline struct gg_malloc_block *gg_malloc_link_next(const struct gg_malloc_block *block)
{
	struct gg_malloc_block *next = gg_malloc_link_glance(block);
	uintptr_t distance = (uintptr_t)next - (uintptr_t)block + GG_MALLOC_LINK_SPAN;

	if (gg_unlikely(distance > 2 * (uintptr_t)GG_MALLOC_LINK_SPAN) && next != NULL)
		gg_malloc_bad_link(block);
	return next;
}

static inline void gg_malloc_link_set(struct gg_malloc_block *block,
                                      const struct gg_malloc_block *next)
{
	block->next = (struct gg_malloc_block *)((uintptr_t)next ^ gg_malloc_link_key ^ /* NOLINT */
	                                         (uintptr_t)block);
}

#else

static inline struct gg_malloc_block *gg_malloc_link_glance(const struct gg_malloc_block *block)
{
	return block->next;
}

static inline struct gg_malloc_block *gg_malloc_link_next(const struct gg_malloc_block *block)
{
	return block->next;
}

static inline void gg_malloc_link_set(struct gg_malloc_block *block, struct gg_malloc_block *next)
{
	block->next = next;
}

#endif
