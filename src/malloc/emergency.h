/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emergency - blocks for signal handlers that interrupt the allocator on their own thread.
 *
 * They come from mappings of 128 MiB, front to back.  When the last block of a mapping is freed,
 * the mapping is used from its front again.  The next mapping is made when those before it are
 * used up: so handlers of which some block is live at any time need two.  They are never sampled.
 *
 * Threads  any, also in signal handlers: no locks.
 * Failure  NULL if all GG_MALLOC_EMERGENCY_MAPPINGS are used up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GG_MALLOC_EMERGENCY_MAPPINGS = 16 };

/* alignment_bytes: a power of two.  The bytes have any value. */
void *gg_malloc_emergency_alloc(size_t bytes, size_t alignment_bytes);

/* The usable size; 0: p is no emergency block. */
size_t gg_malloc_emergency_size(const void *p);

/* False: p is no emergency block. */
bool gg_malloc_emergency_free(void *p);
