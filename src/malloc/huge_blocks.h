/* SPDX-License-Identifier: Apache-2.0 */
/*
 * huge_blocks - blocks with a mapping of their own: those that are too large for a run.
 *
 * A table by address has their sizes.  They lie outside of the arena, so free() gets to them by the
 * same compare that sorts out NULL.  mremap() resizes them without a copy.
 *
 * Threads  any; one lock, whose holder blocks signals.
 * Handlers A signal handler during a fork, whose thread holds the lock, cannot find or allocate a
 *          huge block.  It must not call the other functions then (section.h).
 * Failure  NULL or false; errno is untouched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "malloc/futex_lock.h"

/* Larger blocks than this are huge; runs serve smaller ones. */
#define GG_MALLOC_RUN_BYTES_MAX ((size_t)32 << 20)

/* All bytes are 0.  alignment_bytes: a power of two. */
void *gg_malloc_huge_alloc(size_t bytes, size_t alignment_bytes);

/* Returns the usable size; 0: p is no huge block. */
size_t gg_malloc_huge_size(const void *p);

/* The table keeps it with the block. */
struct gg_malloc_huge_note {
	bool is_sampled;    /* the client knows the block */
	uint8_t size_class; /* gg_size_class() of the request */
};

/* False: p is no huge block. */
bool gg_malloc_huge_read_note(const void *p, struct gg_malloc_huge_note *ret_note);

/* p must be a huge block. */
void gg_malloc_huge_set_note(const void *p, struct gg_malloc_huge_note note);

/* p must be a huge block. */
void gg_malloc_huge_free(void *p);

/* Moves if need be.  NULL: no memory, and nothing changed. */
void *gg_malloc_huge_resize(void *p, size_t bytes);

size_t gg_malloc_huge_total_bytes(void);

extern struct gg_malloc_lock gg_malloc_huge_lock __attribute__((visibility("hidden")));
