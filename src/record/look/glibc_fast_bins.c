/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_fast_bins - follows the lists of fast bins from mark to mark (look/glibc_fast_bins.h).
 */
#include "record/look/glibc_fast_bins.h"

#include <errno.h>

#include "base/binary_search.h"
#include "base/clock.h"
#include "record/look/glibc_link.h"

enum {
	MARKS_MAX = 1 << 21, /* 64 MiB; with more chunks, nothing is known */
	DIRECT_MAX = 1 << 12,
	LISTS_TRIES_MAX = 3,
	SETTLED_LINKS = 8, /* a thread that ends adds up to 7 chunks of its cache to a list */
	STEPS_PER_CLOCK = 1 << 12,
};

static uint64_t bin_bytes(size_t bin)
{
	return (bin + 2) * GG_GLIBC_HEAD_BYTES;
}

/* Whether a link of this arena may lead here. */
static bool is_link(const struct gg_glibc_view *view, uint64_t arena, uint64_t chunk)
{
	const struct gg_glibc_heap *heap;

	if (chunk == 0)
		return true;
	heap = chunk % GG_GLIBC_UNIT_BYTES == 0 ? gg_glibc_heaps_at(view->heaps, chunk) : NULL;
	return heap != NULL && heap->arena == arena;
}

/* The head of a chunk, and the two words behind it: a link, and what the block had there. */
struct chunk_words {
	struct gg_glibc_head head, links;
};

/* Reads a chunk.  Returns 1, 0 if it is absent, or -Exxx. */
static int read_chunk(const struct gg_glibc_view *view, uint64_t chunk, struct chunk_words *words)
{
	struct gg_glibc_head_request requests[] = {
		{ .chunk = chunk, .ret_head = &words->head },
		{ .chunk = chunk + GG_GLIBC_HEAD_BYTES, .ret_head = &words->links },
	};
	int status = gg_glibc_read_heads(view->residency, requests, 2);

	return status < 0 ? status : requests[0].is_read && requests[1].is_read;
}

/* --- the marks ------------------------------------------------------------------------------ */

/*
 * Finds out whether links are mangled: the first chunk of each list shows it.  Without any list,
 * both are as good.
 */
static int find_mangling(struct gg_glibc_fast_bins *bins, const struct gg_glibc_view *view)
{
	size_t plain_count = 0, mangled_count = 0;

	for (size_t i = 0; i < bins->arenas.items.count * GG_GLIBC_FAST_BINS; i++) {
		const struct gg_glibc_arena *arena =
			&bins->arenas.items.items[i / GG_GLIBC_FAST_BINS];
		uint64_t chunk = arena->fast_heads[i % GG_GLIBC_FAST_BINS];
		uint64_t at = chunk + GG_GLIBC_HEAD_BYTES;
		struct chunk_words words;
		int status;

		if (chunk == 0)
			continue;
		bins->has_chunks = true;
		status = read_chunk(view, chunk, &words);
		if (status < 0)
			return status;
		if (status == 0)
			continue;
		plain_count += is_link(view, arena->state, words.links.previous_bytes);
		mangled_count += is_link(view, arena->state,
		                         gg_glibc_link(true, at, words.links.previous_bytes));
	}
	bins->is_mangled = mangled_count > plain_count;
	return 0;
}

int gg_glibc_fast_bins_begin(struct gg_glibc_fast_bins *bins, const struct gg_glibc_view *view)
{
	int status = gg_glibc_arenas_read(&bins->arenas, view);

	return status < 0 || !bins->arenas.is_known ? status : find_mangling(bins, view);
}

void gg_glibc_fast_bins_note(struct gg_glibc_fast_bins *bins, const struct gg_glibc_heap *heap,
                             uint64_t chunk, uint64_t bytes, uint64_t link)
{
	uint64_t next = gg_glibc_link(bins->is_mangled, chunk + GG_GLIBC_HEAD_BYTES, link);
	struct gg_glibc_fast_mark mark = { .chunk = chunk,
		                           .next = next,
		                           .size = (uint8_t)(bytes / GG_GLIBC_UNIT_BYTES) };

	/* Most lists stay in one heap; other arenas have several, which lie anywhere. */
	if (next != 0 && (next % GG_GLIBC_UNIT_BYTES != 0 ||
	                  (heap->arena == 0 && (next < heap->begin || next >= heap->end))))
		return;
	if (bins->free.free_end == chunk &&
	    bins->free.free_end - bins->free.free_begin < UINT32_MAX)
		mark.free_before = (uint32_t)((bins->free.free_end - bins->free.free_begin) /
		                              GG_GLIBC_UNIT_BYTES);
	if (bins->marks.count >= MARKS_MAX || !gg_array_push(&bins->marks, mark))
		bins->is_full = true;
}

/* Returns the last mark if its chunk ends at `chunk`, or NULL. */
static struct gg_glibc_fast_mark *mark_before(struct gg_glibc_fast_bins *bins, uint64_t chunk)
{
	struct gg_glibc_fast_mark *last = bins->marks.count > 0
	                                          ? &bins->marks.items[bins->marks.count - 1]
	                                          : NULL;

	return last != NULL && last->chunk + (uint64_t)last->size * GG_GLIBC_UNIT_BYTES == chunk
	               ? last
	               : NULL;
}

void gg_glibc_fast_bins_note_free(struct gg_glibc_fast_bins *bins, uint64_t chunk, uint64_t bytes)
{
	struct gg_glibc_fast_mark *before = mark_before(bins, chunk);

	bins->free.free_begin = chunk;
	bins->free.free_end = chunk + bytes;
	if (bytes / GG_GLIBC_UNIT_BYTES > UINT32_MAX)
		bins->is_full = true;
	else if (before != NULL)
		before->free_after = (uint32_t)(bytes / GG_GLIBC_UNIT_BYTES);
}

void gg_glibc_fast_bins_note_top(struct gg_glibc_fast_bins *bins, uint64_t chunk)
{
	struct gg_glibc_fast_mark *before = mark_before(bins, chunk);

	if (before != NULL)
		before->is_before_top = true;
}

struct gg_glibc_fast_place gg_glibc_fast_bins_place(const struct gg_glibc_fast_bins *bins)
{
	struct gg_glibc_fast_place place = bins->free;

	place.mark_count = bins->marks.count;
	return place;
}

void gg_glibc_fast_bins_go_back(struct gg_glibc_fast_bins *bins,
                                const struct gg_glibc_fast_place *place, uint64_t chunk)
{
	struct gg_glibc_fast_mark *before;

	bins->free = *place;
	bins->marks.count = place->mark_count;
	before = mark_before(bins, chunk);
	if (before != NULL) {
		before->free_after = 0;
		before->is_before_top = false;
	}
}

/* --- the lists ------------------------------------------------------------------------------ */

struct list_walk {
	struct gg_glibc_fast_bins *bins;
	const struct gg_glibc_view *view;
	uint64_t arena, bytes;
	size_t at;         /* the mark of the last chunk: the next one is often beside it */
	int settled_count; /* links in a row, up to SETTLED_LINKS, that are as the walk saw them */
	uint64_t deadline_ns;
	size_t step_count;
	bool is_late; /* the deadline has passed */
};

/* Finds the mark of a chunk, at first close to the last one; NULL: the walk made no mark. */
static struct gg_glibc_fast_mark *find_mark(struct list_walk *walk, uint64_t chunk)
{
	const struct gg_glibc_fast_mark *marks = walk->bins->marks.items;
	const size_t count = walk->bins->marks.count;
	size_t low = walk->at, high, found;

	for (size_t step = 1; low > 0 && low < count && marks[low].chunk > chunk; step *= 2)
		low = low > step ? low - step : 0;
	high = walk->at;
	for (size_t step = 1; high < count && marks[high].chunk < chunk; step *= 2)
		high = count - high > step ? high + step : count;
	found = gg_lower_bound(low, high, i, marks[i].chunk < chunk);
	if (found >= count || marks[found].chunk != chunk)
		return NULL;
	walk->at = found;
	return &walk->bins->marks.items[found];
}

/* Reads a chunk without a mark.  Returns as follow(). */
static int follow_directly(struct list_walk *walk, uint64_t chunk, uint64_t *ret_next)
{
	struct chunk_words words;
	int status;

	if (walk->bins->direct_count++ >= DIRECT_MAX)
		return 0;
	walk->settled_count = 0;
	status = read_chunk(walk->view, chunk, &words);
	if (status <= 0)
		return status;
	if (gg_glibc_size(&words.head) != walk->bytes)
		return 0;
	walk->bins->unmarked_bytes += (int64_t)walk->bytes;
	*ret_next = gg_glibc_link(walk->bins->is_mangled, chunk + GG_GLIBC_HEAD_BYTES,
	                          words.links.previous_bytes);
	return 1;
}

/*
 * Reads the link of a marked chunk again: the chunk may have entered the list after the walk saw
 * it.  Returns as follow().
 */
static int check_mark(struct list_walk *walk, struct gg_glibc_fast_mark *mark)
{
	struct chunk_words words;
	uint64_t next;
	int status = read_chunk(walk->view, mark->chunk, &words);

	if (status <= 0)
		return status;
	if (gg_glibc_size(&words.head) != walk->bytes)
		return 0;
	next = gg_glibc_link(walk->bins->is_mangled, mark->chunk + GG_GLIBC_HEAD_BYTES,
	                     words.links.previous_bytes);
	walk->settled_count = next == mark->next ? walk->settled_count + 1 : 0;
	if (next != mark->next && walk->bins->direct_count++ >= DIRECT_MAX)
		return 0;
	mark->next = next;
	return 1;
}

/*
 * Goes to the next chunk of a list.  Chunks enter and leave a list at its head, so the first links
 * are read again until several in a row are as the walk saw them.  Returns 1, 0 if the list is
 * torn, or -Exxx.
 */
static int follow(struct list_walk *walk, uint64_t chunk, uint64_t *ret_next)
{
	struct gg_glibc_fast_mark *mark = find_mark(walk, chunk);
	int status = 1;

	if (++walk->step_count % STEPS_PER_CLOCK == 0 && walk->deadline_ns != 0)
		walk->is_late = gg_clock_thread_ns() > walk->deadline_ns;
	if (walk->is_late)
		return 0;
	if (mark == NULL || (uint64_t)mark->size * GG_GLIBC_UNIT_BYTES != walk->bytes) {
		status = follow_directly(walk, chunk, ret_next);
	} else if (mark->is_member) {
		return 0;
	} else {
		mark->is_member = true;
		if (walk->settled_count < SETTLED_LINKS)
			status = check_mark(walk, mark);
		*ret_next = mark->next;
	}
	return status == 1 ? is_link(walk->view, walk->arena, *ret_next) : status;
}

/* Follows all lists once.  Returns as follow(). */
static int follow_all(struct list_walk *walk)
{
	const struct gg_glibc_arenas *arenas = &walk->bins->arenas;
	int status = 1;

	walk->bins->unmarked_bytes = 0;
	for (size_t i = 0; i < walk->bins->marks.count; i++)
		walk->bins->marks.items[i].is_member = false;
	for (size_t i = 0; i < arenas->items.count && status == 1; i++) {
		walk->arena = arenas->items.items[i].state;
		for (size_t bin = 0; bin < GG_GLIBC_FAST_BINS && status == 1; bin++) {
			uint64_t chunk = arenas->items.items[i].fast_heads[bin];

			walk->bytes = bin_bytes(bin);
			walk->settled_count = 0;
			while (chunk != 0 && status == 1)
				status = follow(walk, chunk, &chunk);
		}
	}
	return status;
}

/* The bytes of all chunks that may be in lists. */
static int64_t marked_bytes(const struct gg_glibc_fast_bins *bins)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < bins->marks.count; i++)
		bytes += (int64_t)bins->marks.items[i].size * GG_GLIBC_UNIT_BYTES;
	return bytes;
}

int gg_glibc_fast_bins_find(struct gg_glibc_fast_bins *bins, const struct gg_glibc_view *view,
                            uint64_t deadline_ns)
{
	struct list_walk walk = { .bins = bins, .view = view, .deadline_ns = deadline_ns };
	int status = 0;

	bins->is_known = false;
	bins->uncounted_bytes = bins->is_full ? marked_bytes(bins) : 0;
	if (!bins->arenas.is_known || bins->is_full)
		return 0;
	for (int i = 0; i < LISTS_TRIES_MAX && status == 0 && !walk.is_late; i++) {
		status = gg_glibc_arenas_read(&bins->arenas, view);
		if (status == 0 && bins->arenas.is_known)
			status = follow_all(&walk);
	}
	bins->is_known = status == 1;
	if (walk.is_late)
		bins->uncounted_bytes = marked_bytes(bins);
	return status < 0 ? status : 0;
}

void gg_glibc_fast_bins_done(struct gg_glibc_fast_bins *bins)
{
	gg_glibc_arenas_done(&bins->arenas);
	gg_array_done(&bins->marks);
}
