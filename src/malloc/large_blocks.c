/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_blocks - runs and huge blocks, which are sampled by a countdown of their bytes.
 *
 * Here a subtraction does not matter.  So the requested size itself decides, as in the agent, and
 * resizing in place draws anew for the new size.
 */
#include "base/assert.h"
#include "malloc/arena.h"
#include "malloc/class_counts.h"
#include "malloc/huge_blocks.h"
#include "malloc/slow_paths.h"

static size_t slices_of(size_t bytes)
{
	return (bytes + GG_MALLOC_SLICE_BYTES - 1) >> GG_MALLOC_SLICE_SHIFT;
}

/* True if an allocation of that size is a sample. */
static bool decide(struct gg_malloc_heap *heap, size_t bytes, struct gg_draw *ret_draw)
{
	struct gg_malloc_section outer;
	bool is_sample;

	gg_malloc_heap_prepare(heap);
	outer = gg_malloc_section_begin();
	heap->visit_left_bytes -= (int64_t)bytes;
	is_sample = heap->plan != NULL && gg_sampler_due(&heap->sampler, bytes) &&
	            gg_sampler_take(&heap->sampler, bytes, ret_draw);
	gg_malloc_section_end(outer);
	return is_sample;
}

static void inform_sampled(void *p, size_t bytes, const struct gg_draw *draw)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (client != NULL && client->sampled != NULL)
		client->sampled(p, bytes, draw);
}

static void inform_freed(void *p)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (client != NULL && client->freed != NULL)
		client->freed(p);
}

/* The size class is that of the request, because the sampler looks the rate up by the request. */
static void set_note(void *p, struct gg_malloc_slab *run, size_t bytes, bool is_sample)
{
	struct gg_malloc_huge_note note = { is_sample, (uint8_t)gg_size_class(bytes) };

	if (run == NULL) {
		gg_malloc_huge_set_note(p, note);
		return;
	}
	run->is_sampled = note.is_sampled;
	gg_store_relaxed(&run->class, note.size_class);
}

static struct gg_malloc_huge_note note_of(const void *p, const struct gg_malloc_slab *run)
{
	struct gg_malloc_huge_note note = { 0 };

	if (run == NULL)
		gg_malloc_huge_read_note(p, &note);
	else
		note = (struct gg_malloc_huge_note){ run->is_sampled, run->class };
	return note;
}

void *gg_malloc_large(struct gg_malloc_heap *heap, size_t bytes, size_t alignment_bytes,
                      bool *ret_is_zero)
{
	struct gg_draw draw;
	bool is_sample = decide(heap, bytes, &draw);
	struct gg_malloc_slab *run = NULL;
	bool is_zero = true;
	void *p;

	if (alignment_bytes < GG_MALLOC_SLICE_BYTES)
		alignment_bytes = GG_MALLOC_SLICE_BYTES;
	if (bytes <= GG_MALLOC_RUN_BYTES_MAX && alignment_bytes <= GG_MALLOC_RUN_BYTES_MAX)
		run = gg_malloc_arena_take(slices_of(bytes + (bytes == 0)), alignment_bytes,
		                           ret_is_zero != NULL);
	if (run != NULL) {
		is_zero = run->is_zero;
		p = gg_malloc_slab_start(run);
	} else {
		/* A block for which the arena has no place is huge as well. */
		p = gg_malloc_huge_alloc(bytes + (bytes == 0), alignment_bytes);
		if (p == NULL)
			return NULL;
	}
	if (ret_is_zero != NULL)
		*ret_is_zero = is_zero;
	set_note(p, run, bytes, is_sample);
	gg_malloc_count_large_allocated(gg_size_class(bytes));
	if (is_sample)
		inform_sampled(p, bytes, &draw);
	return p;
}

static void *resize(void *p, struct gg_malloc_slab *run, size_t bytes)
{
	if (bytes <= GG_MALLOC_CLASS_BYTES_MAX)
		return NULL;
	if (run == NULL)
		return bytes > GG_MALLOC_RUN_BYTES_MAX ? gg_malloc_huge_resize(p, bytes) : NULL;
	return bytes <= GG_MALLOC_RUN_BYTES_MAX && gg_malloc_arena_resize(run, slices_of(bytes))
	               ? p
	               : NULL;
}

/*
 * Closes the record of a huge block that may move, since another thread may map one at the old
 * address at once.
 */
static bool close_before_move(void *p, struct gg_malloc_huge_note note)
{
	if (!note.is_sampled)
		return false;
	note.is_sampled = false;
	gg_malloc_huge_set_note(p, note);
	inform_freed(p);
	return true;
}

/* The block's sample ends, and its size is a new trial. */
static void draw_resized(struct gg_malloc_heap *heap, void *p, struct gg_malloc_slab *run,
                         size_t bytes)
{
	struct gg_draw draw;
	bool is_sample = decide(heap, bytes, &draw);

	set_note(p, run, bytes, is_sample);
	gg_malloc_count_large_allocated(gg_size_class(bytes));
	if (is_sample)
		inform_sampled(p, bytes, &draw);
}

void *gg_malloc_large_resize(void *p, size_t bytes)
{
	struct gg_malloc_slab *run = gg_malloc_slab_of(p);
	struct gg_malloc_heap *heap = gg_malloc_heap_enter();
	struct gg_malloc_huge_note note;
	bool was_closed = false;
	size_t old_bytes;
	void *moved;

	if (heap == NULL)
		return NULL;
	note = note_of(p, run);
	old_bytes = run == NULL ? gg_malloc_huge_size(p) : 0;
	if (run == NULL && bytes > GG_MALLOC_RUN_BYTES_MAX)
		was_closed = close_before_move(p, note);
	moved = resize(p, run, bytes);
	if (moved != NULL) {
		gg_malloc_count_large_freed(note.size_class);
		if (run != NULL && note.is_sampled)
			inform_freed(p);
		draw_resized(heap, moved, run, bytes);
	} else if (was_closed) {
		/* There was no memory: the block stays, as one that was just allocated. */
		gg_malloc_count_large_freed(note.size_class);
		draw_resized(heap, p, NULL, old_bytes);
	}
	gg_malloc_heap_leave(heap);
	return moved;
}
