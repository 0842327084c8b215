/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space - memory from the system for the heap, and what happens to it in a collection.  For heap.c
 * and collect.c; others use heap.h.
 */
#pragma once

#include "heap.h"

/* Maps zeroed memory.  If memory runs out, it ends the program. */
void *space_map(size_t bytes);

/* Room for an object at the end of a space, which grows by a chunk where it must. */
void *space_allocate(struct space *space, size_t bytes);

/* Gives back all chunks: the space is empty. */
void space_release(struct space *space);

/*
 * The nursery's reachable objects go to the old space, and its reachable objects to new chunks.
 * The former leaves the nursery as it is, with addresses for headers; the latter wants it empty.
 */
void collect_minor(struct heap *heap);
void collect_major(struct heap *heap);
