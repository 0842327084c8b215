/* SPDX-License-Identifier: Apache-2.0 */
/* functions - calloc, realloc and aligned allocations, by the paths of malloc() and free(). */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/bad_free.h"
#include "malloc/emergency.h"
#include "malloc/guarded_blocks.h"
#include "malloc/huge_blocks.h"
#include "malloc/replaced_names.h"
#include "malloc/sampled_slots.h"
#include "malloc/slow_paths.h"

/*
 * Smaller blocks reach the next power of two in a few steps of 16 bytes.  Runs grow in place where
 * there is room behind them.
 */
enum { GROWS_FROM_BYTES = 64 };

GG_EXPORT void *geiger_calloc(size_t count, size_t bytes)
{
	struct gg_malloc_heap *heap;
	bool is_zero = false;
	size_t total;
	void *p;

	if (__builtin_mul_overflow(count, bytes, &total) || total > PTRDIFF_MAX)
		return gg_malloc_no_memory();
	if (total <= GG_MALLOC_CLASS_BYTES_MAX) {
		p = geiger_malloc(total);
	} else {
		heap = gg_malloc_heap_enter();
		p = NULL;
		if (heap != NULL) {
			p = gg_malloc_large(heap, total, GG_MALLOC_SLICE_BYTES, &is_zero);
			gg_malloc_heap_leave(heap);
		}
		if (p == NULL)
			p = gg_malloc_fall_back(total, 1);
	}
	return p == NULL || is_zero ? p : memset(p, 0, total);
}
GG_MALLOC_NAME(calloc, geiger_calloc);

GG_EXPORT size_t geiger_malloc_usable_size(const void *p)
{
	const struct gg_malloc_slab *slab = gg_malloc_slab_of(p);
	const struct gg_malloc_client *client = gg_malloc_client;
	size_t bytes;

	if (gg_unlikely(slab == NULL)) {
		struct gg_malloc_guarded block;

		if (gg_malloc_guard_has((uintptr_t)p))
			return gg_malloc_guard_find(p, &block) ? block.bytes : 0;
		bytes = p != NULL ? gg_malloc_emergency_size(p) : 0;
		/* It may be a huge block, of which another allocator must not read a header. */
		if (bytes == 0 && gg_malloc_lock_is_mine(&gg_malloc_huge_lock))
			return 0;
		if (bytes == 0 && p != NULL)
			bytes = gg_malloc_huge_size(p);
		if (bytes == 0 && !gg_malloc_arena_has(p) && p != NULL && client != NULL &&
		    client->foreign_size != NULL)
			bytes = client->foreign_size((void *)p); /* NOLINT */
		return bytes;
	}
	switch (gg_malloc_slab_owner(slab)) {
	case GG_MALLOC_OWNER_NONE:
	case GG_MALLOC_OWNER_FREE:
		return 0;
	case GG_MALLOC_OWNER_RUN:
		return gg_malloc_run_bytes(slab);
	default: /* a slot has its home's size, although it may be larger */
		return gg_malloc_class_bytes(slab->class);
	}
}

/* True if a block of `usable` bytes is kept for a request of `bytes`. */
static bool fits(size_t usable, size_t bytes)
{
	return bytes <= usable && bytes >= usable / 2;
}

/*
 * A block of another thread, or a sample, that stays where it is.  A sample whose size changes in
 * place stays a sample, with the same probability.
 */
static GG_COLD void keep_special(struct gg_malloc_slab *slab, void *p, size_t bytes)
{
	struct gg_malloc_slot *slot;

	if (!gg_malloc_is_block(slab, p))
		gg_malloc_bad_realloc(p, "the pointer leads into a block");
	if (gg_malloc_slab_owner(slab) != GG_MALLOC_OWNER_SLOTS)
		return;
	if (!gg_malloc_slots_is_taken(slab, p))
		gg_malloc_bad_realloc(p, "the block is free already");
	slot = gg_malloc_slots_find(slab, p);
	gg_malloc_slots_inform_freed(p, slot);
	gg_malloc_slots_inform_sampled(p, slab->class, bytes, slot);
}

/*
 * Returns a block for one that grows.  It may go on in small steps, so it gets a quarter more room
 * than it had; otherwise each block class would mean a copy.  Many programs limit such blocks to a
 * power of two, beyond which they would never use the room.
 */
static void *allocate_grown(size_t usable, size_t bytes)
{
	size_t room = usable + usable / 4, power;
	struct gg_malloc_heap *heap;
	void *p;

	if (usable < GROWS_FROM_BYTES || bytes >= room)
		return geiger_malloc(bytes);
	power = (size_t)1 << (64 - __builtin_clzll(bytes - 1));
	if (room > power)
		room = power;
	if (bytes >= room || room > GG_MALLOC_CLASS_BYTES_MAX)
		return geiger_malloc(bytes);
	heap = gg_malloc_heap_enter();
	if (heap == NULL)
		return gg_malloc_fall_back(bytes, 1);
	p = gg_malloc_heap_pop(heap, gg_malloc_class_of(room), bytes);
	gg_malloc_heap_leave(heap);
	return p != NULL ? p : gg_malloc_fall_back(bytes, 1);
}

/* Moves the contents of a block of `usable` bytes, of which the first `content_bytes` matter. */
static void *move(void *p, size_t usable, size_t content_bytes, size_t bytes)
{
	void *moved;

	/* glibc's realloc() frees here, and some programs free in this way. */
	if (bytes == 0) {
		geiger_free(p);
		return NULL;
	}
	moved = bytes > usable ? allocate_grown(usable, bytes) : geiger_malloc(bytes);
	if (moved == NULL)
		return NULL;
	memcpy(moved, p, content_bytes < bytes ? content_bytes : bytes);
	geiger_free(p);
	return moved;
}

/*
 * A guarded block that an unsampled one would be kept for moves to another slot with its home, so
 * that its ends are those of the new size.  It stays a sample, with the same probability.
 */
static GG_COLD void *resize_guarded(void *p, size_t bytes)
{
	struct gg_malloc_guarded block;
	void *moved;

	if (!gg_malloc_guard_find(p, &block)) {
		gg_malloc_guard_free(p); /* reports it */
		return geiger_malloc(bytes);
	}
	if (!fits(gg_malloc_class_bytes(block.class), bytes))
		return move(p, gg_malloc_class_bytes(block.class), block.bytes, bytes);
	moved = gg_malloc_guard_or_slot(block.home, block.class, bytes, 16, block.class_interval);
	memcpy(moved, p, block.bytes < bytes ? block.bytes : bytes);
	gg_malloc_guard_free(p);
	return moved;
}

GG_EXPORT void *geiger_realloc(void *p, size_t bytes)
{
	struct gg_malloc_slab *slab = gg_malloc_slab_of(p);
	size_t usable;
	void *moved;

	/* A block of the own thread, as most are. */
	if (gg_likely(slab != NULL &&
	              gg_malloc_slab_owner(slab) == (uintptr_t)gg_malloc_thread_heap)) {
		usable = slab->block_bytes;
		return gg_likely(fits(usable, bytes)) ? p : move(p, usable, usable, bytes);
	}
	if (p == NULL)
		return geiger_malloc(bytes);
	if (bytes > PTRDIFF_MAX)
		return gg_malloc_no_memory();
	if (gg_malloc_guard_has((uintptr_t)p))
		return resize_guarded(p, bytes);
	usable = geiger_malloc_usable_size(p);
	if (gg_unlikely(usable == 0)) {
		if (gg_malloc_arena_has(p))
			gg_malloc_bad_realloc(p, gg_malloc_no_block(p));
		return gg_malloc_no_memory(); /* a foreign block of unknown size cannot be copied */
	}
	if (slab != NULL && gg_malloc_slab_owner(slab) != GG_MALLOC_OWNER_RUN) {
		if (!fits(usable, bytes))
			return move(p, usable, usable, bytes);
		keep_special(slab, p, bytes);
		return p;
	}
	if (slab != NULL && gg_unlikely(p != gg_malloc_slab_start(slab)))
		gg_malloc_bad_realloc(p, "the pointer leads into a block");
	moved = slab != NULL || gg_malloc_huge_size(p) != 0 ? gg_malloc_large_resize(p, bytes)
	                                                    : NULL;
	return moved != NULL ? moved : move(p, usable, usable, bytes);
}
GG_MALLOC_NAME(realloc, geiger_realloc);

/* The size whose class serves an alignment; larger than any class: none does. */
static size_t size_for_alignment(size_t alignment, size_t bytes)
{
	size_t rounded;

	if (alignment > GG_MALLOC_SLICE_BYTES || bytes > GG_MALLOC_CLASS_BYTES_MAX)
		return SIZE_MAX;
	bytes += bytes == 0;
	for (;;) {
		rounded = (bytes + alignment - 1) & ~(alignment - 1);
		if (rounded > GG_MALLOC_CLASS_BYTES_MAX)
			return SIZE_MAX;
		bytes = gg_malloc_class_bytes(gg_malloc_class_of(rounded));
		if (bytes % alignment == 0)
			return bytes;
	}
}

GG_EXPORT void *geiger_aligned_alloc(size_t alignment, size_t bytes)
{
	struct gg_malloc_heap *heap;
	size_t class_bytes;
	void *p;

	if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
		errno = EINVAL;
		return NULL;
	}
	if (alignment <= 16)
		return geiger_malloc(bytes);
	if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX)
		return gg_malloc_no_memory();
	heap = gg_malloc_heap_enter();
	if (heap == NULL)
		return gg_malloc_fall_back(bytes, alignment);
	class_bytes = size_for_alignment(alignment, bytes);
	heap->alignment_bytes = alignment;
	p = class_bytes <= GG_MALLOC_CLASS_BYTES_MAX
	            ? gg_malloc_heap_pop(heap, gg_malloc_class_of(class_bytes), bytes)
	            : gg_malloc_large(heap, bytes, alignment, NULL);
	heap->alignment_bytes = 0;
	gg_malloc_heap_leave(heap);
	return p != NULL ? p : gg_malloc_fall_back(bytes, alignment);
}
GG_MALLOC_NAME(aligned_alloc, geiger_aligned_alloc);

GG_EXPORT int geiger_malloc_trim(void)
{
	struct gg_malloc_heap *heap = gg_malloc_heap_enter();
	bool any;

	if (heap != NULL) {
		gg_malloc_heap_trim(heap);
		gg_malloc_heap_leave(heap);
	}
	gg_malloc_heap_trim_orphan();
	any = gg_malloc_slots_purge();
	return gg_malloc_arena_purge() || any ? 1 : 0;
}
