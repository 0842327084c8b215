/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emergency - blocks for signal handlers that interrupt the allocator on their own thread.
 *
 * They come from one mapping of 64 MiB, front to back.  When the last of them is freed, the mapping
 * is used from its front again.  They are never sampled.
 *
 * Threads  any, also in signal handlers: no locks.
 * Failure  NULL if the mapping is used up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* alignment_bytes: a power of two.  The bytes have any value. */
void *gg_malloc_emergency_alloc(size_t bytes, size_t alignment_bytes);

/* The usable size; 0: p is no emergency block. */
size_t gg_malloc_emergency_size(const void *p);

/* False: p is no emergency block. */
bool gg_malloc_emergency_free(void *p);
