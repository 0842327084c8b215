/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_gaps - reads and checks the heads around each block (look/glibc_gaps.h).
 */
#include "record/look/glibc_gaps.h"

#include <errno.h>
#include <stdlib.h>

/* The heads to read, in three rounds: each round knows where to look from the one before. */
enum head_role {
	HEAD_BEFORE, /* of the free chunk before the block */
	HEAD_OWN,
	HEAD_AFTER,  /* of the chunk behind the block */
	HEAD_BEHIND, /* of the chunk behind that one */
	HEAD_COUNT,
};

struct block_look {
	const struct gg_block_place *place;
	struct gg_glibc_gaps *ret;
	uint64_t begin, end; /* the heap that holds the block, or its mapping */
	bool is_other_arena;
	bool is_done; /* its state is known */
	bool is_before_free, is_after_free, is_top_after;
	bool has_read[HEAD_COUNT];   /* this head needs no further round */
	uint64_t chunks[HEAD_COUNT]; /* 0: not to be read */
	struct gg_glibc_head heads[HEAD_COUNT];
};

/* Many blocks in one pass. */
struct gap_pass {
	const struct gg_glibc_view *view;
	struct block_look *looks;
	size_t count;
	struct gg_glibc_head_request *requests; /* room for 2 of each block */
};

static void finish(struct block_look *look, enum gg_gaps_state state)
{
	look->ret->state = state;
	look->is_done = true;
}

static bool is_to_read(const struct block_look *look, int role)
{
	return !look->is_done && look->chunks[role] != 0 && !look->has_read[role];
}

/* Reads the heads of some roles of all blocks, at most two of which a block still wants. */
static int read_round(struct gap_pass *pass, enum head_role first, enum head_role second)
{
	size_t count = 0, at = 0;
	int status;

	for (size_t i = 0; i < pass->count; i++)
		for (int role = first; role <= (int)second; role++)
			if (is_to_read(&pass->looks[i], role))
				pass->requests[count++] = (struct gg_glibc_head_request){
					.chunk = pass->looks[i].chunks[role],
					.ret_head = &pass->looks[i].heads[role],
				};
	status = gg_glibc_read_heads(pass->view->residency, pass->requests, count);
	for (size_t i = 0; i < pass->count && status == 0; i++) {
		struct block_look *look = &pass->looks[i];
		bool is_absent = false;

		for (int role = first; role <= (int)second; role++)
			is_absent |= is_to_read(look, role) && !pass->requests[at++].is_read;
		if (is_absent)
			finish(look, GG_GAPS_ABSENT);
	}
	return status;
}

/* The sample says where its block ends, so most heads behind blocks are read with their own. */
static void guess_after(struct block_look *look, uint64_t page_bytes)
{
	const uint64_t own = look->chunks[HEAD_OWN];
	const uint64_t bytes = look->place->usable_bytes + GG_GLIBC_WORD_BYTES;

	if (bytes % GG_GLIBC_HEAD_BYTES == 0 && bytes < page_bytes &&
	    own / page_bytes == (own + bytes) / page_bytes)
		look->chunks[HEAD_AFTER] = own + bytes;
}

/* Finds the memory that the block's neighbours can lie in, and its own head. */
static void begin_look(struct block_look *look, const struct gg_glibc_view *view)
{
	const uint64_t address = look->place->address;
	const struct gg_memory_area *area = gg_memory_map_find(view->map, address);
	const struct gg_glibc_heap *heap = gg_glibc_heaps_at(view->heaps, address);

	if (area == NULL || !area->is_writable || address % GG_GLIBC_HEAD_BYTES != 0 ||
	    address - area->begin < GG_GLIBC_HEAD_BYTES) {
		finish(look, GG_GAPS_FOREIGN);
		return;
	}
	look->begin = heap != NULL ? heap->begin : area->begin;
	look->end = heap != NULL ? heap->end : area->end;
	look->is_other_arena = heap != NULL && heap->arena != 0;
	look->chunks[HEAD_OWN] = address - GG_GLIBC_HEAD_BYTES;
	guess_after(look, view->residency->page_bytes);
}

/*
 * A block with a mapping of its own.  Bytes before its head are free where it was aligned; whole
 * pages of these were never touched.
 */
static void take_mapped(struct block_look *look, struct gg_residency *residency)
{
	const struct gg_glibc_head *own = &look->heads[HEAD_OWN];
	const uint64_t page_bytes = residency->page_bytes, chunk = look->chunks[HEAD_OWN];
	uint64_t before = own->previous_bytes, bytes = gg_glibc_size(own), lead;

	if (before > chunk - look->begin || bytes > look->end - chunk ||
	    (chunk - before) % page_bytes != 0 || (bytes + before) % page_bytes != 0 ||
	    bytes < GG_GLIBC_CHUNK_LEAST_BYTES ||
	    look->place->usable_bytes > bytes - GG_GLIBC_HEAD_BYTES) {
		finish(look, GG_GAPS_FOREIGN);
		return;
	}
	lead = chunk % page_bytes < before ? chunk % page_bytes : before;
	look->ret->pinned_bytes = gg_residency_has(residency, chunk) ? (double)lead : 0;
	finish(look, GG_GAPS_SEEN);
}

/* Checks the block's own head, and finds those beside it. */
static void take_own(struct block_look *look, struct gg_residency *residency)
{
	const struct gg_glibc_head *own = &look->heads[HEAD_OWN];
	const uint64_t chunk = look->chunks[HEAD_OWN], bytes = gg_glibc_size(own);

	look->ret->is_mapped = gg_glibc_has(own, GG_GLIBC_IS_MMAPPED);
	if (look->ret->is_mapped) {
		take_mapped(look, residency);
		return;
	}
	look->is_before_free = !gg_glibc_has(own, GG_GLIBC_PREVIOUS_IN_USE);
	if (chunk < look->begin || !gg_glibc_fits(chunk, bytes, look->end) ||
	    look->end - chunk - bytes < GG_GLIBC_HEAD_BYTES ||
	    gg_glibc_has(own, GG_GLIBC_NON_MAIN_ARENA) != look->is_other_arena ||
	    look->place->usable_bytes > bytes - GG_GLIBC_WORD_BYTES ||
	    (look->is_before_free &&
	     (own->previous_bytes > chunk - look->begin ||
	      !gg_glibc_fits(chunk - own->previous_bytes, own->previous_bytes, chunk)))) {
		finish(look, GG_GAPS_FOREIGN);
		return;
	}
	look->chunks[HEAD_BEFORE] = look->is_before_free ? chunk - own->previous_bytes : 0;
	look->has_read[HEAD_OWN] = true;
	look->has_read[HEAD_AFTER] = look->chunks[HEAD_AFTER] == chunk + bytes;
	look->chunks[HEAD_AFTER] = chunk + bytes;
}

/* Checks the heads beside the block.  Chunks of at most one head mark the end of a heap. */
static void take_neighbours(struct block_look *look)
{
	const struct gg_glibc_head *before = &look->heads[HEAD_BEFORE];
	const struct gg_glibc_head *after = &look->heads[HEAD_AFTER];
	const uint64_t chunk = look->chunks[HEAD_AFTER], bytes = gg_glibc_size(after);

	if ((look->is_before_free &&
	     (gg_glibc_size(before) != look->heads[HEAD_OWN].previous_bytes ||
	      !gg_glibc_has(before, GG_GLIBC_PREVIOUS_IN_USE))) ||
	    !gg_glibc_has(after, GG_GLIBC_PREVIOUS_IN_USE) ||
	    gg_glibc_has(after, GG_GLIBC_IS_MMAPPED)) {
		finish(look, GG_GAPS_FOREIGN);
	} else if (bytes <= GG_GLIBC_HEAD_BYTES) {
		look->is_after_free = false;
	} else if (!gg_glibc_fits(chunk, bytes, look->end)) {
		/* The top has grown since the look knows the end of the heap. */
		finish(look, gg_glibc_fits(chunk, bytes, chunk + GG_GLIBC_HEAP_MAX_BYTES)
		                     ? GG_GAPS_TORN
		                     : GG_GAPS_FOREIGN);
	} else if (bytes == look->end - chunk) {
		look->is_top_after = true;
	} else if (look->end - chunk - bytes < GG_GLIBC_HEAD_BYTES) {
		finish(look, GG_GAPS_FOREIGN);
	} else {
		look->chunks[HEAD_BEHIND] = chunk + bytes;
	}
}

static void take_behind(struct block_look *look)
{
	const struct gg_glibc_head *behind = &look->heads[HEAD_BEHIND];

	if (look->chunks[HEAD_BEHIND] == 0)
		return;
	look->is_after_free = !gg_glibc_has(behind, GG_GLIBC_PREVIOUS_IN_USE);
	if (look->is_after_free &&
	    behind->previous_bytes != gg_glibc_size(&look->heads[HEAD_AFTER]))
		finish(look, GG_GAPS_FOREIGN);
}

/* Free bytes of the gap [begin, end) on the page at its begin, or at its end if is_at_end. */
static double share(struct gg_residency *residency, uint64_t begin, uint64_t end, uint64_t at)
{
	const uint64_t page_bytes = residency->page_bytes;
	uint64_t page = at / page_bytes * page_bytes;
	uint64_t low = page > begin ? page : begin;
	uint64_t high = page + page_bytes < end ? page + page_bytes : end;
	bool is_on_one_page = begin / page_bytes == (end - 1) / page_bytes;

	if (!gg_residency_has(residency, page))
		return 0;
	return (double)(high - low) / (is_on_one_page ? 2 : 1);
}

/* Adds up the gaps of a block. */
static int count_gaps(struct gg_glibc_gaps *gaps, struct gg_residency *residency)
{
	const uint64_t page_bytes = residency->page_bytes;
	uint64_t own = gaps->chunk + GG_GLIBC_WORD_BYTES;
	uint64_t before = gaps->begin + GG_GLIBC_WORD_BYTES;
	uint64_t after = gaps->after + GG_GLIBC_WORD_BYTES;
	uint64_t behind = gaps->end + GG_GLIBC_WORD_BYTES;
	uint64_t first_page = (after + page_bytes - 1) / page_bytes * page_bytes;
	struct gg_residency_counts counts = { 0 };
	int status = 0;

	gaps->pinned_bytes = 0;
	if (before < own)
		gaps->pinned_bytes += share(residency, before, own, own - 1);
	if (gaps->is_top_after) {
		if (gg_residency_has(residency, after))
			gaps->pinned_bytes +=
				(double)((first_page < gaps->end ? first_page : gaps->end) - after);
	} else if (after < behind) {
		gaps->pinned_bytes += share(residency, after, behind, after);
		status = gg_residency_count(residency, first_page,
		                            (behind - 1) / page_bytes * page_bytes, &counts);
	}
	gaps->returnable_bytes = counts.resident_bytes;
	return status;
}

/* Takes over the gaps of a block whose heads agree. */
static int keep_gaps(struct block_look *look, struct gg_residency *residency)
{
	struct gg_glibc_gaps *gaps = look->ret;

	gaps->chunk = look->chunks[HEAD_OWN];
	gaps->begin = look->is_before_free ? look->chunks[HEAD_BEFORE] : gaps->chunk;
	gaps->after = look->chunks[HEAD_AFTER];
	gaps->end = look->is_after_free ? look->chunks[HEAD_BEHIND] : gaps->after;
	gaps->is_top_after = look->is_top_after;
	if (gaps->is_top_after)
		gaps->end = look->end;
	finish(look, GG_GAPS_SEEN);
	return count_gaps(gaps, residency);
}

static int run_pass(struct gap_pass *pass)
{
	int status;

	for (size_t i = 0; i < pass->count; i++)
		begin_look(&pass->looks[i], pass->view);
	status = read_round(pass, HEAD_OWN, HEAD_AFTER);
	for (size_t i = 0; i < pass->count && status == 0; i++)
		if (!pass->looks[i].is_done)
			take_own(&pass->looks[i], pass->view->residency);
	if (status == 0)
		status = read_round(pass, HEAD_BEFORE, HEAD_AFTER);
	for (size_t i = 0; i < pass->count && status == 0; i++)
		if (!pass->looks[i].is_done)
			take_neighbours(&pass->looks[i]);
	if (status == 0)
		status = read_round(pass, HEAD_BEHIND, HEAD_BEHIND);
	for (size_t i = 0; i < pass->count && status == 0; i++)
		if (!pass->looks[i].is_done)
			take_behind(&pass->looks[i]);
	return status;
}

/* Whether two looks at a block read other words. */
static bool has_changed(const struct block_look *first, const struct block_look *second)
{
	for (int role = 0; role < HEAD_COUNT; role++)
		if (first->chunks[role] != second->chunks[role] ||
		    first->heads[role].size_word != second->heads[role].size_word ||
		    first->heads[role].previous_bytes != second->heads[role].previous_bytes)
			return true;
	return false;
}

/* Looks once more at blocks whose heads contradict each other: threads may have been busy. */
static int repeat_foreign(struct gap_pass *pass)
{
	struct gap_pass again = { .view = pass->view, .requests = pass->requests };
	int status;

	again.looks = calloc(pass->count + 1, sizeof(*again.looks));
	if (again.looks == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < pass->count; i++)
		if (pass->looks[i].is_done && pass->looks[i].ret->state == GG_GAPS_FOREIGN)
			again.looks[again.count++] = (struct block_look){
				.place = pass->looks[i].place,
				.ret = pass->looks[i].ret,
			};
	status = run_pass(&again);
	for (size_t i = 0, at = 0; i < pass->count && at < again.count && status == 0; i++) {
		struct block_look *next = &again.looks[at];

		if (pass->looks[i].place != next->place)
			continue;
		if (next->is_done && next->ret->state == GG_GAPS_FOREIGN &&
		    has_changed(&pass->looks[i], next))
			next->ret->state = GG_GAPS_TORN;
		pass->looks[i] = *next;
		at++;
	}
	free(again.looks);
	return status;
}

/*
 * Blocks and their gaps do not overlap.  A block that reaches into the next one is not glibc's, so
 * that no page counts for many blocks.
 */
static void drop_overlaps(struct gap_pass *pass)
{
	uint64_t next = UINT64_MAX; /* the chunk of the block above */

	for (size_t i = pass->count; i-- > 0;) {
		struct block_look *look = &pass->looks[i];
		uint64_t end = look->chunks[look->is_after_free ? HEAD_BEHIND : HEAD_AFTER];

		if (look->is_done)
			continue;
		if (end > next)
			finish(look, GG_GAPS_FOREIGN);
		else
			next = look->chunks[HEAD_OWN];
	}
}

int gg_glibc_gaps_find(struct gg_glibc_gaps *ret, const struct gg_block_place *const *places,
                       size_t count, const struct gg_glibc_view *view)
{
	struct gap_pass pass = { .view = view, .count = count };
	int status = -ENOMEM;

	pass.looks = calloc(count + 1, sizeof(*pass.looks));
	pass.requests = calloc(2 * count + 1, sizeof(*pass.requests));
	if (pass.looks == NULL || pass.requests == NULL)
		goto out;
	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct gg_glibc_gaps){ 0 };
		pass.looks[i] = (struct block_look){ .place = places[i], .ret = &ret[i] };
	}
	status = run_pass(&pass);
	if (status == 0)
		status = repeat_foreign(&pass);
	if (status == 0)
		drop_overlaps(&pass);
	for (size_t i = 0; i < count && status == 0; i++)
		if (!pass.looks[i].is_done)
			status = keep_gaps(&pass.looks[i], view->residency);
out:
	free(pass.looks);
	free(pass.requests);
	return status;
}

int gg_glibc_gaps_join(struct gg_glibc_gaps *gaps, size_t count,
                       const struct gg_glibc_fast_gaps *fast, struct gg_residency *residency)
{
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++) {
		const struct gg_glibc_free *before, *behind;

		if (gaps[i].chunk == 0)
			continue;
		before = gg_glibc_fast_gaps_to(fast, gaps[i].chunk);
		behind = gg_glibc_fast_gaps_from(fast, gaps[i].after);
		if (before == NULL && behind == NULL)
			continue;
		if (before != NULL)
			gaps[i].begin = before->begin;
		if (behind != NULL) {
			gaps[i].end = behind->end;
			gaps[i].is_top_after = behind->is_top;
		}
		status = count_gaps(&gaps[i], residency);
	}
	return status;
}
