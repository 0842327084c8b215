/* SPDX-License-Identifier: Apache-2.0 */
/* slow_paths - allocations and frees that are special. */
#include "malloc/slow_paths.h"

#include <errno.h>
#include <stdint.h>

#include "base/assert.h"
#include "geiger/malloc.h"
#include "malloc/arena.h"
#include "malloc/bad_free.h"
#include "malloc/class_counts.h"
#include "malloc/emergency.h"
#include "malloc/guarded_blocks.h"
#include "malloc/huge_blocks.h"
#include "malloc/list_link.h"
#include "malloc/remote_frees.h"
#include "malloc/sampled_slots.h"
#include "malloc/slice_map.h"

/* Blocks that handlers could not free, linked by their first words. */
static struct gg_malloc_block *waiting;

void *gg_malloc_no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *gg_malloc_fall_back(size_t bytes, size_t alignment_bytes)
{
	const struct gg_malloc_client *client = gg_malloc_client;
	void *p = NULL;

	/* LeakSanitizer walks stacks by frame pointers, and would lose the caller without this. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	if (gg_malloc_inside != 0)
		p = gg_malloc_emergency_alloc(bytes, alignment_bytes);
	else if (client != NULL && client->is_passing != NULL && client->is_passing())
		p = client->allocate_next(bytes, alignment_bytes);
	return p != NULL ? p : gg_malloc_no_memory();
}

/* For blocks whose kind only the table of huge blocks knows. */
static GG_COLD void let_wait(struct gg_malloc_block *block)
{
	block->next = gg_load_relaxed(&waiting);
	/* Release: pairs with free_waiting(). */
	while (!gg_cas_acq_rel(&waiting, &block->next, block))
		;
}

static GG_COLD void free_waiting(void)
{
	/* Acquire: pairs with let_wait(). */
	struct gg_malloc_block *block = gg_exchange_acq_rel(&waiting, NULL), *next;

	for (; block != NULL; block = next) {
		next = block->next;
		geiger_free(block);
	}
}

void *gg_malloc_heap_pop(struct gg_malloc_heap *heap, unsigned class, size_t bytes)
{
	struct gg_malloc_block *block = heap->handed[class];

	if (gg_unlikely(block == NULL))
		return gg_malloc_refill(heap, class, bytes);
	heap->handed[class] = gg_malloc_link_next(block);
	return block;
}

void *gg_malloc_slow(size_t bytes)
{
	struct gg_malloc_heap *heap;
	void *p;

	if (gg_unlikely(bytes > PTRDIFF_MAX))
		return gg_malloc_no_memory();
	heap = gg_malloc_heap_enter();
	if (gg_unlikely(heap == NULL))
		return gg_malloc_fall_back(bytes, 1);
	if (gg_likely(bytes <= GG_MALLOC_FAST_BYTES))
		p = gg_malloc_heap_pop(heap, heap->class_of_words[(bytes + 15) / 16], bytes);
	else if (gg_likely(bytes <= GG_MALLOC_CLASS_BYTES_MAX))
		p = gg_malloc_heap_pop(heap, gg_malloc_class_of(bytes), bytes);
	else
		p = gg_malloc_large(heap, bytes, GG_MALLOC_SLICE_BYTES, NULL);
	gg_malloc_heap_leave(heap);
	return gg_likely(p != NULL) ? p : gg_malloc_fall_back(bytes, 1);
}

static void inform_freed(void *p)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (client != NULL && client->freed != NULL)
		client->freed(p);
}

const char *gg_malloc_no_block(const void *p)
{
	return gg_malloc_map_is_in_run(p, gg_malloc_arena_first_slice())
	               ? "the pointer leads into a block"
	               : "the block is free already, or never was one";
}

void gg_malloc_free_special(struct gg_malloc_slab *slab, void *p)
{
	switch (gg_malloc_slab_owner(slab)) {
	case GG_MALLOC_OWNER_NONE:
	case GG_MALLOC_OWNER_FREE:
		gg_malloc_bad_free(p, gg_malloc_no_block(p));
	case GG_MALLOC_OWNER_RUN:
		if (gg_unlikely(p != gg_malloc_slab_start(slab)))
			gg_malloc_bad_free(p, "the pointer leads into a block");
		if (slab->is_sampled)
			inform_freed(p);
		gg_malloc_count_large_freed(slab->class);
		gg_malloc_arena_give(slab);
		break;
	case GG_MALLOC_OWNER_SLOTS:
		if (gg_unlikely(!gg_malloc_is_block(slab, p)))
			gg_malloc_bad_free(p, "the pointer leads into a block");
		if (gg_unlikely(!gg_malloc_slots_is_taken(slab, p)))
			gg_malloc_bad_free(p, "the block is free already");
		geiger_free(gg_malloc_slots_release(slab, p));
		break;
	default:
		if (gg_unlikely(!gg_malloc_is_block(slab, p)))
			gg_malloc_bad_free(p, "the pointer leads into a block");
		if (gg_unlikely(gg_load_relaxed(&slab->remote) == p))
			gg_malloc_bad_free(p, "the block is free already");
		gg_malloc_free_remote(slab, p);
	}
}

void gg_malloc_free_outside(void *p)
{
	const struct gg_malloc_client *client = gg_malloc_client;
	struct gg_malloc_huge_note note;

	if (gg_malloc_guard_has((uintptr_t)p)) {
		p = gg_malloc_guard_free(p);
		if (p != NULL)
			geiger_free(p);
		return;
	}
	if (p == NULL || gg_malloc_emergency_free(p))
		return;
	if (gg_unlikely(gg_malloc_lock_is_mine(&gg_malloc_huge_lock))) {
		let_wait(p);
		return;
	}
	if (gg_unlikely(gg_load_relaxed(&waiting) != NULL))
		free_waiting();
	if (gg_malloc_huge_read_note(p, &note)) {
		if (note.is_sampled)
			inform_freed(p);
		gg_malloc_count_large_freed(note.size_class);
		gg_malloc_huge_free(p);
	} else if (gg_unlikely(gg_malloc_arena_has(p))) {
		gg_malloc_bad_free(p, gg_malloc_no_block(p));
	} else if (client != NULL && client->free_foreign != NULL) {
		client->free_foreign(p);
	}
}
