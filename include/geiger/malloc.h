/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc - an allocator in which sampling costs nothing (libgeiger-malloc.a).
 *
 *   void *p = geiger_malloc(64);
 *   geiger_free(p);
 *
 * The functions are those of libc under other names, so that a program can use both allocators.  A
 * block of one must not be freed by the other.  docs/MALLOC.md describes how it works.
 *
 * Threads    any.
 * Signals    A handler may call them also where it interrupted one of them on its own thread,
 *            except in the few instructions of the fast paths (docs/MALLOC.md).
 * Errors     NULL, and errno is ENOMEM (EINVAL for an alignment that is no power of two).
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *geiger_malloc(size_t bytes);
void geiger_free(void *p);
void *geiger_calloc(size_t count, size_t bytes);

/* As in glibc, a size of 0 frees the block, and the answer is NULL. */
void *geiger_realloc(void *p, size_t bytes);

void *geiger_aligned_alloc(size_t alignment, size_t bytes);

/* The size that the program may use.  It is constant for the life of a block; 0 for NULL. */
size_t geiger_malloc_usable_size(const void *p);

/* Gives free memory back to the kernel.  Returns 1 if there was some, else 0. */
int geiger_malloc_trim(void);

#ifdef __cplusplus
}
#endif
