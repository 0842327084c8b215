/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_trace - random allocations, frees and reallocations, with the contents of every block
 * checked.
 *
 * Each block is filled with a byte of its own, up to its usable size.  A block that overlaps
 * another one, or that a call does not copy, shows a wrong byte when it is resized or freed.
 */
#pragma once

#include <string.h>

#include "geiger/malloc.h"
#include "malloc/guarded_blocks.h"
#include "malloc/sampled_slots.h"
#include "malloc/thread_heap.h"
#include "random.h"
#include "test.h"

enum { TRACE_BLOCKS = 2000 };

struct trace {
	uint64_t random;
	uint64_t homes; /* a hash of the home addresses, in their order */
	uint64_t wrong; /* blocks with a wrong byte, size, or alignment */
	struct trace_block {
		unsigned char *p;
		size_t bytes; /* requested */
		size_t usable;
		unsigned char fill;
	} blocks[TRACE_BLOCKS];
};

/* Returns the place that the block would have without sampling, from the arena's start. */
static inline uint64_t trace_home(void *p)
{
	struct gg_malloc_slab *slab = gg_malloc_slab_of(p);

	struct gg_malloc_guarded guarded;

	if (gg_malloc_guard_has((uintptr_t)p)) {
		if (!gg_malloc_guard_find(p, &guarded))
			return 1;
		p = guarded.home;
		slab = gg_malloc_slab_of(p);
	}
	if (slab == NULL)
		return 0;
	if (slab->owner == GG_MALLOC_OWNER_SLOTS)
		p = gg_malloc_slots_find(slab, p)->home;
	return (uintptr_t)p - gg_malloc_map.base;
}

/* Sizes: mostly small; one in 16 up to 64 KiB, one in 512 up to 1 MiB. */
static inline size_t trace_size(struct trace *trace)
{
	uint64_t kind = random_next(&trace->random) % 512, r = random_next(&trace->random) >> 16;

	return kind == 0 ? r % (1 << 20) : kind < 32 ? r % 65536 : kind < 128 ? r % 2048 : r % 300;
}

static inline bool trace_is_filled(const struct trace_block *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (block->p[i] != block->fill)
			return false;
	return true;
}

static inline void trace_enter(struct trace *trace, struct trace_block *block, void *p,
                               size_t bytes)
{
	size_t usable = geiger_malloc_usable_size(p);

	trace->wrong += p == NULL || usable < bytes || (uintptr_t)p % 16 != 0;
	trace->homes = (trace->homes ^ trace_home(p)) * UINT64_C(0x9e3779b97f4a7c15);
	trace->homes ^= trace->homes >> 29;
	*block = (struct trace_block){ p, bytes, usable,
		                       (unsigned char)random_next(&trace->random) };
	memset(p, block->fill, usable);
}

static inline void trace_leave(struct trace *trace, struct trace_block *block)
{
	trace->wrong += geiger_malloc_usable_size(block->p) != block->usable ||
	                !trace_is_filled(block, block->usable);
	geiger_free(block->p);
	block->p = NULL;
}

static inline void trace_resize(struct trace *trace, struct trace_block *block)
{
	size_t bytes = trace_size(trace);
	struct trace_block moved = *block;

	moved.p = geiger_realloc(block->p, bytes);
	if (bytes == 0) { /* the block is freed */
		trace->wrong += moved.p != NULL;
		block->p = NULL;
		return;
	}
	trace->wrong += !trace_is_filled(&moved, bytes < moved.usable ? bytes : moved.usable);
	trace_enter(trace, block, moved.p, bytes);
}

static inline void trace_allocate(struct trace *trace, struct trace_block *block)
{
	uint64_t kind = random_next(&trace->random) % 16;
	size_t bytes = trace_size(trace), alignment = (size_t)1 << random_next(&trace->random) % 17;
	unsigned char *p;

	if (kind == 0) {
		p = geiger_calloc(1, bytes);
		for (size_t i = 0; i < bytes; i++)
			trace->wrong += p[i] != 0;
	} else if (kind == 1) {
		p = geiger_aligned_alloc(alignment, bytes);
		trace->wrong += (uintptr_t)p % alignment != 0;
	} else {
		p = geiger_malloc(bytes);
	}
	trace_enter(trace, block, p, bytes);
}

static inline void trace_step(struct trace *trace)
{
	struct trace_block *block = &trace->blocks[random_next(&trace->random) % TRACE_BLOCKS];

	if (random_next(&trace->random) % 8192 == 0)
		geiger_malloc_trim();
	if (block->p == NULL)
		trace_allocate(trace, block);
	else if (random_next(&trace->random) % 8 == 0)
		trace_resize(trace, block);
	else
		trace_leave(trace, block);
}

static inline void trace_end(struct trace *trace)
{
	for (size_t i = 0; i < TRACE_BLOCKS; i++)
		if (trace->blocks[i].p != NULL)
			trace_leave(trace, &trace->blocks[i]);
}
