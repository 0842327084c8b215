/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_pools - checks the headers of pools (look/python_pools.h).
 */
#include "record/look/python_pools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/look/page_heads.h"

enum {
	ALIGNMENT_BYTES = 16, /* sizes of blocks are its multiples */
	CLASS_COUNT = 32,
	SMALL_POOL_BYTES = 4 << 10,  /* until Python 3.9 */
	LARGE_POOL_BYTES = 16 << 10, /* from Python 3.10 on */
};

/* The header of a pool, the same from Python 3.7 on. */
struct pool_header {
	uint32_t used_count, padding;
	uint64_t first_free, next_pool, previous_pool;
	uint32_t arena, size_class;
	uint32_t next_offset, last_offset; /* of the block never used, of the last block */
};

_Static_assert(sizeof(struct pool_header) == GG_PAGE_HEAD_WORDS * sizeof(uint64_t),
               "the head of a page holds the header of a pool");

/* Whether a pool of this size begins at `address`, in memory that ends at `end`. */
static bool is_pool(const struct pool_header *header, uint64_t address, uint64_t end,
                    uint32_t pool_bytes)
{
	const uint32_t header_bytes = sizeof(*header);
	const uint32_t bytes = (header->size_class + 1) * ALIGNMENT_BYTES;

	return header->size_class < CLASS_COUNT && header->last_offset == pool_bytes - bytes &&
	       header->next_offset > header_bytes &&
	       (header->next_offset - header_bytes) % bytes == 0 &&
	       header->next_offset <= header->last_offset + bytes &&
	       header->used_count <= (pool_bytes - header_bytes) / bytes &&
	       (header->first_free == 0 || header->first_free - address < pool_bytes) &&
	       address % pool_bytes == 0 && pool_bytes <= end - address;
}

/* Returns the size of the pool with this header, or 0 for other memory. */
static uint32_t pool_size(const struct pool_header *header, uint64_t address, uint64_t end)
{
	if (is_pool(header, address, end, LARGE_POOL_BYTES))
		return LARGE_POOL_BYTES;
	return is_pool(header, address, end, SMALL_POOL_BYTES) ? SMALL_POOL_BYTES : 0;
}

struct pool_search {
	struct gg_python_pools *found;
	struct gg_page_heads_search pages;
};

static int add_pool(struct pool_search *search, const struct pool_header *header, uint64_t address,
                    uint32_t pool_bytes)
{
	const uint32_t bytes = (header->size_class + 1) * ALIGNMENT_BYTES;
	const int64_t used_bytes = (int64_t)header->used_count * bytes;
	int64_t free_bytes = pool_bytes - (int64_t)sizeof(*header) - used_bytes;
	struct gg_residency_counts counts;
	int status = gg_residency_count(&search->pages.residency, address, address + pool_bytes,
	                                &counts);

	if (status < 0)
		return status;
	if (free_bytes > counts.resident_bytes)
		free_bytes = counts.resident_bytes;
	search->found->resident_bytes += counts.resident_bytes;
	search->found->free_bytes += free_bytes;
	return 0;
}

/* Adds the pools among the heads.  `*done` is the end of the last one. */
static int add_pools(struct pool_search *search, uint64_t end, uint64_t *done)
{
	int status = 0;

	for (size_t i = 0; i < search->pages.heads.count && status == 0; i++) {
		const struct gg_page_head *head = &search->pages.heads.items[i];
		struct pool_header header;
		uint32_t pool_bytes;

		if (head->address < *done)
			continue;
		memcpy(&header, head->words, sizeof(header));
		pool_bytes = pool_size(&header, head->address, end);
		if (pool_bytes == 0)
			continue;
		*done = head->address + pool_bytes;
		status = add_pool(search, &header, head->address, pool_bytes);
	}
	return status;
}

/* Searches an area.  Returns 1, 0 if it gave up, or -Exxx. */
static int search_area(const struct gg_memory_area *area, void *context)
{
	struct pool_search *search = context;
	const uint64_t page_bytes = search->pages.residency.page_bytes;
	uint64_t done = area->begin;

	for (uint64_t at = area->begin; at < area->end;) {
		uint64_t count = (area->end - at) / page_bytes;
		int status;

		count = count < GG_PAGE_HEADS_MAX ? count : GG_PAGE_HEADS_MAX;
		if (count == 0)
			return 1;
		status = gg_page_heads_search_read(&search->pages, at, count);
		if (status != 1)
			return status;
		status = add_pools(search, area->end, &done);
		if (status < 0)
			return status;
		at += count * page_bytes;
	}
	return 1;
}

int gg_python_pools_find(struct gg_python_pools *ret, const struct gg_memory_map *map,
                         struct gg_residency *residency, uint64_t deadline_ns)
{
	struct gg_python_pools found = { 0 };
	struct pool_search *search = calloc(1, sizeof(*search));
	int status;

	if (search == NULL)
		return -ENOMEM;
	search->found = &found;
	gg_page_heads_search_begin(&search->pages, residency, deadline_ns);
	status = gg_page_heads_search_areas(map, true, search_area, search);
	free(search);
	found.is_known = status == 1;
	*ret = found;
	return status < 0 ? status : 0;
}
