/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_mapped - looks at the first words of pages, and compares with glibc's own sum
 * (look/glibc_mapped.h).
 */
#include "record/look/glibc_mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/look/libc_data.h"
#include "record/look/page_heads.h"

enum {
	TRIES_MAX = 3,   /* the program maps and unmaps meanwhile */
	HEADS_LEAST = 4, /* pages of a copy behind a chunk, where the next chunk is likely */
};

/* --- glibc's own sum ------------------------------------------------------------------------ */

/*
 * The end of glibc's parameters.  In releases up to 2.34 the counts lie 4 bytes closer to
 * mapped_bytes, because the member before them has another size.
 */
struct parameter_counts {
	uint32_t count, count_limit, count_most, is_fixed;
};

struct parameter_sums {
	uint64_t mapped_bytes, mapped_bytes_most, brk_begin;
};

enum { PADDING_BYTES = 4, COUNTS_ROOM_BYTES = 24 /* whole words for counts and padding */ };

/* Whether counts that fit these sums begin here. */
static bool are_counts(const unsigned char *counts, const struct parameter_sums *sums)
{
	struct parameter_counts found;

	memcpy(&found, counts, sizeof(found));
	return found.count_limit > 0 && found.count <= found.count_most &&
	       found.count <= found.count_limit && found.is_fixed <= 1 &&
	       (found.count == 0) == (sums->mapped_bytes == 0);
}

/* Whether the parameters, whose sums begin at `sums`, lie here. */
static bool are_parameters(const unsigned char *sums, const struct gg_memory_area *brk,
                           uint64_t page_bytes, uint64_t *ret_mapped_bytes)
{
	const unsigned char *counts = sums - sizeof(struct parameter_counts);
	struct parameter_sums found;

	memcpy(&found, sums, sizeof(found));
	if (found.brk_begin < brk->begin || found.brk_begin - brk->begin >= page_bytes ||
	    found.mapped_bytes > found.mapped_bytes_most || found.mapped_bytes % page_bytes != 0 ||
	    found.mapped_bytes_most % page_bytes != 0)
		return false;
	if (!are_counts(counts - PADDING_BYTES, &found) && !are_counts(counts, &found))
		return false;
	*ret_mapped_bytes = found.mapped_bytes;
	return true;
}

static const struct gg_memory_area *find_brk(const struct gg_memory_map *map)
{
	for (size_t i = 0; i < map->areas.count; i++)
		if (map->areas.items[i].is_brk)
			return &map->areas.items[i];
	return NULL;
}

/* Finds glibc's sum of mapped chunks.  Returns 1 if there is exactly one, 0, or -Exxx. */
static int find_sum(const struct gg_glibc_view *view, struct gg_residency *residency,
                    uint64_t *ret_mapped_bytes)
{
	const struct gg_memory_area *brk = find_brk(view->map);
	struct gg_libc_data data;
	int status, found_count = 0;

	if (brk == NULL)
		return 0;
	status = gg_libc_data_read(&data, view->map, residency);
	if (status < 0)
		return status;
	for (size_t at = COUNTS_ROOM_BYTES; at + sizeof(struct parameter_sums) <= data.count;
	     at += sizeof(uint64_t))
		found_count += are_parameters(data.bytes + at, brk, residency->page_bytes,
		                              ret_mapped_bytes);
	gg_libc_data_done(&data);
	return found_count == 1;
}

/* --- the search ----------------------------------------------------------------------------- */

struct chunk_search {
	const struct gg_glibc_view *view;
	struct gg_glibc_mapped *found;
	struct gg_page_heads_search pages;
};

/* Whether a mapped chunk begins with this head, in memory that ends at `end`. */
static bool is_mapped_chunk(const struct gg_glibc_head *head, uint64_t chunk, uint64_t end,
                            uint64_t page_bytes)
{
	const uint64_t bytes = gg_glibc_size(head);

	return head->previous_bytes == 0 &&
	       (head->size_word & GG_GLIBC_FLAGS) == GG_GLIBC_IS_MMAPPED && bytes >= page_bytes &&
	       bytes % page_bytes == 0 && bytes <= end - chunk;
}

/* Adds the first chunk among the heads.  Returns its end, 0 without a chunk, or -Exxx. */
static int64_t add_first(struct chunk_search *search, uint64_t end)
{
	for (size_t i = 0; i < search->pages.heads.count; i++) {
		const struct gg_page_head *page = &search->pages.heads.items[i];
		const struct gg_glibc_head head = { page->words[0], page->words[1] };
		const uint64_t chunk = page->address;
		struct gg_residency_counts counts;
		uint64_t bytes;
		int status;

		if (!is_mapped_chunk(&head, chunk, end, search->pages.residency.page_bytes))
			continue;
		bytes = gg_glibc_size(&head);
		status = gg_residency_count(&search->pages.residency, chunk, chunk + bytes,
		                            &counts);
		if (status < 0)
			return status;
		search->found->mapped_bytes += (int64_t)bytes;
		search->found->resident_bytes += counts.resident_bytes;
		return (int64_t)(chunk + bytes);
	}
	return 0;
}

/* Searches [begin, end).  Returns 1, 0 if it gave up, or -Exxx. */
static int search_range(struct chunk_search *search, uint64_t begin, uint64_t end)
{
	const uint64_t page_bytes = search->pages.residency.page_bytes;
	size_t wanted = HEADS_LEAST;

	while (begin < end) {
		uint64_t left = (end - begin) / page_bytes;
		size_t count = left < wanted ? (size_t)left : wanted;
		int64_t next;
		int status;

		if (count == 0)
			return 1;
		status = gg_page_heads_search_read(&search->pages, begin, count);
		if (status != 1)
			return status;
		next = add_first(search, end);
		if (next < 0)
			return (int)next;
		wanted = next > 0                         ? HEADS_LEAST
		         : wanted * 4 < GG_PAGE_HEADS_MAX ? wanted * 4
		                                          : GG_PAGE_HEADS_MAX;
		begin = next > 0 ? (uint64_t)next : begin + count * page_bytes;
	}
	return 1;
}

/* Searches an area around the heaps in it.  Returns as search_range(). */
static int search_area(const struct gg_memory_area *area, void *context)
{
	struct chunk_search *search = context;
	const struct gg_glibc_heaps *heaps = search->view->heaps;
	uint64_t begin = area->begin;
	int status = 1;

	for (size_t i = 0; i < heaps->items.count && status == 1; i++) {
		const struct gg_glibc_heap *heap = &heaps->items.items[i];

		if (heap->end <= begin || heap->begin >= area->end)
			continue;
		status = search_range(search, begin, heap->begin);
		begin = heap->end;
	}
	return status == 1 ? search_range(search, begin, area->end) : status;
}

int gg_glibc_mapped_find(struct gg_glibc_mapped *ret, const struct gg_glibc_view *view,
                         uint64_t deadline_ns)
{
	struct gg_glibc_mapped found = { 0 };
	struct chunk_search *search = calloc(1, sizeof(*search));
	uint64_t sum = 0;
	int status = 1;

	if (search == NULL)
		return -ENOMEM;
	search->view = view;
	search->found = &found;
	for (int i = 0; i < TRIES_MAX && status == 1 && !found.is_known; i++) {
		found = (struct gg_glibc_mapped){ 0 };
		gg_page_heads_search_begin(&search->pages, view->residency, deadline_ns);
		status = gg_page_heads_search_areas(view->map, false, search_area, search);
		if (status == 1)
			status = find_sum(view, &search->pages.residency, &sum);
		found.is_known = status == 1 && (uint64_t)found.mapped_bytes == sum;
	}
	free(search);
	*ret = found;
	return status < 0 ? status : 0;
}
