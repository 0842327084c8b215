/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_paths - what malloc() and free() do when the fast path does not serve (malloc.c).
 *
 * Each keeps errno, except for ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "malloc/slab.h"
#include "malloc/thread_heap.h"

/* An empty list, a first call, or a size over GG_MALLOC_FAST_BYTES. */
GG_APART void *gg_malloc_slow(size_t bytes);

/* NULL, a huge block, or a pointer of another allocator. */
GG_APART void gg_malloc_free_outside(void *p);

/* A block of another thread, a sample, or a run. */
GG_APART void gg_malloc_free_special(struct gg_malloc_slab *slab, void *p);

/* Says what is wrong with a pointer into the arena that leads to no owner. */
GG_COLD const char *gg_malloc_no_block(const void *p);

/*
 * A run or huge block.  alignment_bytes is a power of two.  *ret_is_zero: its bytes are 0; if they
 * are not, the caller zeroes them.  NULL: the caller needs no zeros.
 */
void *gg_malloc_large(struct gg_malloc_heap *heap, size_t bytes, size_t alignment_bytes,
                      bool *ret_is_zero);

/* Resizes a run or huge block, without a copy.  NULL: it cannot be done, and nothing changed. */
void *gg_malloc_large_resize(void *p, size_t bytes);

/*
 * When there is no memory or no heap: serves a signal handler that interrupted the allocator, from
 * the emergency blocks, or passes the request to the next allocator.  Otherwise sets errno and
 * returns NULL.
 */
GG_COLD void *gg_malloc_fall_back(size_t bytes, size_t alignment_bytes);

/* Sets errno and returns NULL. */
void *gg_malloc_no_memory(void);
