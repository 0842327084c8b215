/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_walk - goes from chunk to chunk and adds up their extents (look/glibc_walk.h).
 */
#include "record/look/glibc_walk.h"

#include <string.h>

#include "base/clock.h"
#include "record/look/glibc_caches.h"
#include "record/look/glibc_free.h"
#include "record/look/heap_window.h"

enum {
	SOUND_CHUNKS = 16, /* as many in a row are no accident */
	/* From the state of an arena to its first chunk, in releases 2.26 to 2.42. */
	ARENA_STATE_BYTES = 0x8a0,
	ARENA_STATE_LEAST_BYTES = 0x200,
	RESUMES_MAX = 256, /* of a walk */
	RETURNS_MAX = 6,   /* of a stretch that changes while the walk reads it */
	RESUME_BYTES_MAX = 16 << 20,
};

/* How a chunk follows from its own head and the next one. */
enum chunk_use {
	CHUNK_USED,
	CHUNK_FREE,
	CHUNK_TOP,  /* it reaches the end of the heap */
	CHUNK_MARK, /* an empty chunk, which marks the end of older memory */
	CHUNK_END,  /* the last mark of a heap */
	CHUNK_ABSENT,
	CHUNK_UNSOUND,
};

struct heap_walk {
	struct gg_glibc_totals *totals;
	struct gg_heap_window window;
	struct gg_residency residency; /* for counting, apart from that of the window */
	struct gg_glibc_caches caches;
	struct gg_glibc_fast_bins fast_bins;
	const struct gg_glibc_view *view;
	const struct gg_glibc_heap *heap;
	uint64_t at;         /* the chunk that the walk has come to */
	uint64_t used_begin; /* where the chunks in use before this one begin, without a hole */
	uint64_t deadline_ns;
	int64_t checked_copies;
	/*
	 * The last two copies of the window began here.  A chunk that changed since it was read
	 * may not begin any more where the walk expects it, but one before it leads past it.
	 */
	struct walk_point {
		struct gg_glibc_totals totals;
		uint64_t chunk, used_begin;
		size_t table_count;
		struct gg_glibc_fast_place fast_place;
	} last, before_last;
	uint64_t stuck_at; /* the furthest chunk that contradicted another; 0: none */
	int try_count;     /* of going back since then */
	size_t known_next; /* the first known chunk that may lie ahead */
	int resume_count;
	uint64_t resume_bytes;
	enum gg_glibc_obstacle obstacle;
	int status;
};

static uint64_t round_down(const struct heap_walk *walk, uint64_t address)
{
	return address / walk->residency.page_bytes * walk->residency.page_bytes;
}

static bool read_head(struct heap_walk *walk, uint64_t chunk, struct gg_glibc_head *head)
{
	return gg_heap_window_read(&walk->window, chunk, walk->heap->end, head, sizeof(*head));
}

/* Finds the use of a chunk, and reads the head behind it. */
static enum chunk_use classify(struct heap_walk *walk, uint64_t chunk,
                               const struct gg_glibc_head *head, struct gg_glibc_head *next)
{
	const uint64_t end = walk->heap->end, bytes = gg_glibc_size(head);

	if (gg_glibc_has(head, GG_GLIBC_IS_MMAPPED) ||
	    (walk->heap->arena == 0 && gg_glibc_has(head, GG_GLIBC_NON_MAIN_ARENA)))
		return CHUNK_UNSOUND;
	if (bytes == 0 && chunk + GG_GLIBC_HEAD_BYTES == end && walk->heap->arena != 0)
		return CHUNK_END;
	if (bytes == GG_GLIBC_HEAD_BYTES && end - chunk >= 2 * GG_GLIBC_HEAD_BYTES)
		return read_head(walk, chunk + bytes, next) ? CHUNK_MARK : CHUNK_ABSENT;
	if (!gg_glibc_fits(chunk, bytes, end))
		return CHUNK_UNSOUND;
	if (bytes == end - chunk)
		return gg_glibc_has(head, GG_GLIBC_PREVIOUS_IN_USE) ? CHUNK_TOP : CHUNK_UNSOUND;
	if (end - chunk - bytes < GG_GLIBC_HEAD_BYTES)
		return CHUNK_UNSOUND;
	if (!read_head(walk, chunk + bytes, next))
		return CHUNK_ABSENT;
	if (gg_glibc_has(next, GG_GLIBC_PREVIOUS_IN_USE))
		return CHUNK_USED;
	return next->previous_bytes == bytes && gg_glibc_has(head, GG_GLIBC_PREVIOUS_IN_USE)
	               ? CHUNK_FREE
	               : CHUNK_UNSOUND;
}

/* Whether a row of sound chunks begins here. */
static bool is_sound(struct heap_walk *walk, uint64_t chunk)
{
	struct gg_glibc_head head, next;

	if (!read_head(walk, chunk, &head))
		return false;
	for (int i = 0; i < SOUND_CHUNKS; i++) {
		enum chunk_use use = classify(walk, chunk, &head, &next);

		if (use == CHUNK_TOP || use == CHUNK_END)
			return true;
		if (use == CHUNK_ABSENT || use == CHUNK_UNSOUND)
			return false;
		chunk += gg_glibc_size(&head);
		head = next;
	}
	return true;
}

/* Finds the next sound chunk in [chunk, end); 0: no chunk is, or the search takes too long. */
static uint64_t find_sound(struct heap_walk *walk, uint64_t chunk, uint64_t end)
{
	struct gg_glibc_head head;

	if (++walk->resume_count > RESUMES_MAX)
		return 0;
	while (chunk < end && end - chunk >= GG_GLIBC_HEAD_BYTES) {
		uint64_t next = chunk + GG_GLIBC_HEAD_BYTES;

		if (!read_head(walk, chunk, &head)) /* the page is absent */
			next = round_down(walk, chunk + walk->residency.page_bytes);
		else if (is_sound(walk, chunk))
			return chunk;
		walk->resume_bytes += next - chunk;
		if (walk->resume_bytes > RESUME_BYTES_MAX || walk->window.error != 0)
			return 0;
		chunk = next;
	}
	return 0;
}

/* Finds the next sound chunk ahead that a live block has; 0: no such chunk is left. */
static uint64_t find_known(struct heap_walk *walk, uint64_t chunk)
{
	const struct gg_glibc_view *view = walk->view;

	while (walk->known_next < view->chunk_count && view->chunks[walk->known_next] < chunk)
		walk->known_next++;
	for (size_t i = walk->known_next;
	     i < view->chunk_count && view->chunks[i] < walk->heap->end; i++)
		if (is_sound(walk, view->chunks[i]))
			return view->chunks[i];
	return 0;
}

static int64_t resident_bytes(struct heap_walk *walk, uint64_t begin, uint64_t end)
{
	struct gg_residency_counts counts = { 0 };
	int status = gg_residency_count(&walk->residency, begin, end, &counts);

	if (status < 0)
		walk->status = status;
	walk->totals->resident_bytes += counts.resident_bytes;
	return counts.resident_bytes;
}

/* Adds the chunks in use up to `end`, and begins the next row of them at `next`. */
static void add_used(struct heap_walk *walk, uint64_t end, uint64_t next)
{
	walk->totals->in_use_bytes += resident_bytes(walk, walk->used_begin, end);
	walk->used_begin = next;
}

/* Adds memory that is no chunk; chunks in use reach up to its begin. */
static void add_other(struct heap_walk *walk, int64_t *sum, uint64_t begin, uint64_t end)
{
	add_used(walk, begin, end);
	*sum += resident_bytes(walk, begin, end);
}

/* Adds free memory up to `end`; chunks in use reach up to its begin. */
static void add_gap(struct heap_walk *walk, uint64_t chunk, uint64_t end, bool is_top)
{
	const struct gg_glibc_free gap = { chunk, end, walk->heap, is_top };
	struct gg_glibc_totals *totals = walk->totals;
	struct gg_glibc_free_sums sums;
	int status;

	add_used(walk, chunk + GG_GLIBC_WORD_BYTES, is_top ? end : end + GG_GLIBC_WORD_BYTES);
	status = gg_glibc_free_count(&sums, &gap, &walk->residency);
	if (status < 0)
		walk->status = status;
	totals->resident_bytes += sums.pinned_bytes + sums.returnable_bytes;
	totals->pinned_bytes += sums.pinned_bytes;
	totals->returnable_bytes += sums.returnable_bytes;
	totals->top_bytes += sums.top_bytes;
	totals->trimmable_bytes += sums.trimmable_bytes;
}

/* Adds a sound chunk.  Returns whether the heap goes on behind it. */
static bool add_chunk(struct heap_walk *walk, enum chunk_use use, uint64_t chunk,
                      const struct gg_glibc_head *head)
{
	const uint64_t begin = chunk + GG_GLIBC_WORD_BYTES, bytes = gg_glibc_size(head);

	switch (use) {
	case CHUNK_USED:
		walk->totals->header_bytes += GG_GLIBC_WORD_BYTES;
		gg_glibc_caches_take(&walk->caches, &walk->window, walk->heap, chunk, bytes);
		return true;
	case CHUNK_MARK:
		add_other(walk, &walk->totals->metadata_bytes, begin, begin + bytes);
		return true;
	case CHUNK_END:
		add_other(walk, &walk->totals->metadata_bytes, begin, walk->heap->end);
		return false;
	case CHUNK_FREE:
		walk->totals->free_bytes += (int64_t)bytes;
		gg_glibc_fast_bins_note_free(&walk->fast_bins, chunk, bytes);
		add_gap(walk, chunk, chunk + bytes, false);
		return true;
	default:
		gg_glibc_fast_bins_note_top(&walk->fast_bins, chunk);
		add_gap(walk, chunk, walk->heap->end, true);
		return false;
	}
}

/* Finds where the heap's first chunk is likely to be. */
static uint64_t first_chunk(const struct heap_walk *walk, const struct gg_glibc_heaps *heaps)
{
	const struct gg_glibc_heap *heap = walk->heap;
	const struct gg_glibc_heap *first;

	if (heap->arena == 0)
		return heap->begin;
	if (heap->arena >= heap->begin && heap->arena < heap->end)
		return heap->arena + ARENA_STATE_BYTES;
	first = gg_glibc_heaps_at(heaps, heap->arena);
	return heap->begin + (first != NULL ? heap->arena - first->begin : GG_GLIBC_HEAD_BYTES);
}

/* The first sound chunk of the heap; 0: no chunk is sound. */
static uint64_t begin_heap(struct heap_walk *walk, const struct gg_glibc_heaps *heaps)
{
	const struct gg_glibc_heap *heap = walk->heap;
	uint64_t chunk = first_chunk(walk, heaps);
	bool is_begun = false;

	for (int i = 0; i < RETURNS_MAX && !is_begun; i++) {
		gg_heap_window_forget(&walk->window);
		is_begun = is_sound(walk, chunk);
	}
	if (!is_begun) {
		chunk = heap->begin;
		if (heap->arena >= heap->begin && heap->arena < heap->end)
			chunk = heap->arena + ARENA_STATE_LEAST_BYTES;
		chunk = find_sound(walk, chunk, heap->end);
	}
	return chunk;
}

/* Whether the walk may go on: it has time, and the process may be read. */
static bool may_go_on(struct heap_walk *walk)
{
	if (walk->window.error != 0)
		walk->status = walk->window.error;
	if (walk->checked_copies != walk->window.copy_count && walk->deadline_ns != 0 &&
	    gg_clock_thread_ns() > walk->deadline_ns)
		walk->obstacle = GG_GLIBC_TOO_LARGE;
	walk->checked_copies = walk->window.copy_count;
	return walk->status == 0 && walk->obstacle == GG_GLIBC_NO_OBSTACLE;
}

/* Notes the place of the walk when it has made another copy of the heap. */
static void note_point(struct heap_walk *walk, uint64_t chunk)
{
	walk->before_last = walk->last;
	walk->last = (struct walk_point){ *walk->totals, chunk, walk->used_begin,
		                          walk->caches.tables.count,
		                          gg_glibc_fast_bins_place(&walk->fast_bins) };
}

/*
 * Goes back to where an earlier copy began, and so reads the memory from there on again.  Returns
 * the chunk there; 0: that does not help.
 */
static uint64_t go_back(struct heap_walk *walk, uint64_t chunk)
{
	walk->stuck_at = chunk > walk->stuck_at ? chunk : walk->stuck_at;
	while (walk->try_count < RETURNS_MAX) {
		const struct walk_point *point = walk->try_count++ < RETURNS_MAX / 2
		                                         ? &walk->last
		                                         : &walk->before_last;

		gg_heap_window_forget(&walk->window);
		if (point->chunk == 0 || !is_sound(walk, point->chunk))
			continue;
		*walk->totals = point->totals;
		walk->used_begin = point->used_begin;
		walk->caches.tables.count = point->table_count;
		gg_glibc_fast_bins_go_back(&walk->fast_bins, &point->fast_place, point->chunk);
		return point->chunk;
	}
	return 0;
}

/*
 * Goes on behind a chunk that contradicts the next one.  Returns the place to go on from; 0: no
 * chunk of the heap is known any more.  The bytes in between are unread.
 */
static uint64_t go_on(struct heap_walk *walk, uint64_t chunk)
{
	const uint64_t end = walk->heap->end;
	struct gg_glibc_head head;
	uint64_t known, next = 0;

	gg_heap_window_forget(&walk->window);
	known = find_known(walk, chunk);
	/* The top has grown if it reaches beyond the end; it holds heads of long ago. */
	if (known != 0 || !read_head(walk, chunk, &head) || gg_glibc_size(&head) <= end - chunk)
		next = find_sound(walk, chunk, known != 0 ? known : end);
	next = next != 0 ? next : known;
	add_other(walk, &walk->totals->unread_bytes, chunk + GG_GLIBC_WORD_BYTES,
	          next != 0 ? next + GG_GLIBC_WORD_BYTES : end);
	walk->try_count = 0;
	walk->stuck_at = 0;
	walk->last = (struct walk_point){ 0 };
	return next;
}

/* Whether the chunk, or the one behind it, has its head in the swap. */
static bool is_swapped(struct heap_walk *walk, uint64_t chunk)
{
	struct gg_residency_counts counts = { 0 };
	struct gg_glibc_head head;
	uint64_t at = read_head(walk, chunk, &head) ? chunk + gg_glibc_size(&head) : chunk;

	if (at >= walk->heap->end)
		return false;
	return gg_residency_count(&walk->residency, at, at + GG_GLIBC_HEAD_BYTES, &counts) == 0 &&
	       counts.swapped_bytes > 0;
}

/* Finds where to go on after a contradiction; 0: the walk of this heap is over. */
static uint64_t resume(struct heap_walk *walk, uint64_t chunk, enum chunk_use use)
{
	uint64_t next;

	if (use == CHUNK_ABSENT && is_swapped(walk, chunk)) {
		walk->obstacle = GG_GLIBC_SWAPPED;
		return 0;
	}
	next = go_back(walk, chunk);
	return next != 0 ? next : go_on(walk, chunk);
}

/* Reads the link that a chunk in a fast bin has.  False: the chunk is in no fast bin. */
static bool read_link(struct heap_walk *walk, uint64_t chunk, const struct gg_glibc_head *head,
                      uint64_t *ret_link)
{
	return gg_glibc_fast_bins_wants(&walk->fast_bins, gg_glibc_size(head)) &&
	       gg_heap_window_read(&walk->window, chunk + GG_GLIBC_HEAD_BYTES, walk->heap->end,
	                           ret_link, sizeof(*ret_link));
}

static void walk_heap(struct heap_walk *walk, const struct gg_glibc_heaps *heaps)
{
	uint64_t chunk = begin_heap(walk, heaps);
	struct gg_glibc_head head, next;
	bool is_open = chunk != 0 && read_head(walk, chunk, &head);
	int64_t copies = -1;

	walk->last = walk->before_last = (struct walk_point){ 0 };
	walk->try_count = 0;
	walk->stuck_at = 0;
	walk->at = walk->used_begin = walk->heap->begin;
	if (!is_open) {
		walk->obstacle = GG_GLIBC_UNEXPECTED;
		return;
	}
	add_other(walk, &walk->totals->metadata_bytes, walk->heap->begin,
	          chunk + GG_GLIBC_WORD_BYTES);
	while (is_open && may_go_on(walk)) {
		enum chunk_use use;
		uint64_t link;
		bool has_link;

		if (walk->try_count > 0 && chunk > walk->stuck_at)
			walk->try_count = 0;
		if (walk->try_count == 0 && copies != walk->window.copy_count)
			note_point(walk, chunk);
		copies = walk->window.copy_count;
		/* Before the next head, because the window goes forward best. */
		has_link = read_link(walk, chunk, &head, &link);
		use = classify(walk, chunk, &head, &next);
		if (use == CHUNK_USED && has_link)
			gg_glibc_fast_bins_note(&walk->fast_bins, walk->heap, chunk,
			                        gg_glibc_size(&head), link);
		if (use != CHUNK_ABSENT && use != CHUNK_UNSOUND) {
			is_open = add_chunk(walk, use, chunk, &head);
			chunk += gg_glibc_size(&head);
			walk->at = chunk;
			head = next;
			continue;
		}
		chunk = resume(walk, chunk, use);
		is_open = chunk != 0 && read_head(walk, chunk, &head);
	}
}

/* --- free blocks that look in use ----------------------------------------------------------- */

/* Counts chunks in fast bins as free. */
static int take_fast(struct heap_walk *walk, struct gg_glibc_fast_gaps *gaps)
{
	struct gg_glibc_totals *totals = walk->totals;
	struct gg_glibc_fast_sums sums;
	int status = gg_glibc_fast_bins_find(&walk->fast_bins, walk->view, walk->deadline_ns);

	totals->fast_bytes = -1;
	totals->uncounted_fast_bytes = walk->fast_bins.uncounted_bytes > 0
	                                       ? walk->fast_bins.uncounted_bytes
	                                       : -1;
	if (status < 0 || !walk->fast_bins.is_known)
		return status;
	status = gg_glibc_fast_runs_count(&sums, gaps, &walk->fast_bins, walk->view->heaps,
	                                  &walk->residency);
	if (status < 0)
		return status;
	totals->fast_bytes = sums.fast_bytes;
	totals->free_bytes += sums.extent_bytes;
	totals->pinned_bytes += sums.free.pinned_bytes;
	totals->returnable_bytes += sums.free.returnable_bytes;
	totals->top_bytes += sums.free.top_bytes;
	totals->trimmable_bytes += sums.free.trimmable_bytes;
	totals->in_use_bytes -= sums.free.pinned_bytes + sums.free.returnable_bytes;
	totals->arena_in_use_bytes -= sums.arena_bytes;
	totals->header_bytes -= sums.chunk_count * GG_GLIBC_WORD_BYTES;
	totals->changed_bytes += walk->fast_bins.unmarked_bytes;
	return 0;
}

static int take_cached(struct heap_walk *walk)
{
	struct gg_glibc_totals *totals = walk->totals;
	struct gg_glibc_cache_sums sums;
	int status = gg_glibc_caches_count(&sums, &walk->caches, walk->view, walk->deadline_ns);

	totals->cached_bytes = -1;
	totals->uncounted_bytes = sums.uncounted_bytes > 0 ? sums.uncounted_bytes : -1;
	if (status < 0 || !sums.is_known)
		return status;
	totals->cached_bytes = sums.resident_bytes;
	totals->header_bytes -= sums.chunk_count * GG_GLIBC_WORD_BYTES;
	totals->changed_bytes += sums.unsure_bytes;
	return 0;
}

static void walk_heaps(struct heap_walk *walk)
{
	const struct gg_glibc_heaps *heaps = walk->view->heaps;
	struct gg_glibc_totals *totals = walk->totals;

	for (size_t i = 0; i < heaps->items.count && may_go_on(walk); i++) {
		const int64_t resident = totals->resident_bytes, in_use = totals->in_use_bytes;

		walk->heap = &heaps->items.items[i];
		walk_heap(walk, heaps);
		totals->walked_bytes += (int64_t)((walk->obstacle == GG_GLIBC_NO_OBSTACLE
		                                           ? walk->heap->end
		                                           : walk->at) -
		                                  walk->heap->begin);
		if (walk->heap->arena == 0)
			continue;
		totals->arena_bytes += totals->resident_bytes - resident;
		totals->arena_in_use_bytes += totals->in_use_bytes - in_use;
		totals->arena_count += walk->heap->arena >= walk->heap->begin &&
		                       walk->heap->arena < walk->heap->end;
	}
}

int gg_glibc_walk(struct gg_glibc_totals *ret, enum gg_glibc_obstacle *ret_obstacle,
                  struct gg_glibc_fast_gaps *gaps, const struct gg_glibc_view *view,
                  uint64_t deadline_ns)
{
	const uint64_t page_bytes = view->residency->page_bytes;
	struct gg_glibc_totals totals = { 0 };
	struct heap_walk walk = { .totals = &totals, .view = view, .deadline_ns = deadline_ns };

	gg_residency_init(&walk.residency, view->residency->source, page_bytes);
	walk.status = gg_heap_window_init(&walk.window, view->residency->source, page_bytes);
	if (walk.status < 0)
		return walk.status;
	walk.status = gg_glibc_fast_bins_begin(&walk.fast_bins, view);
	walk_heaps(&walk);
	if (walk.status == 0 && walk.obstacle == GG_GLIBC_NO_OBSTACLE)
		walk.status = take_fast(&walk, gaps);
	if (walk.status == 0 && walk.obstacle == GG_GLIBC_NO_OBSTACLE)
		walk.status = take_cached(&walk);
	gg_glibc_fast_bins_done(&walk.fast_bins);
	gg_glibc_caches_done(&walk.caches);
	gg_heap_window_done(&walk.window);
	if (walk.status < 0)
		return walk.status;
	*ret_obstacle = walk.obstacle;
	*ret = totals;
	return 0;
}
