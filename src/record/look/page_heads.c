/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_heads - one system call for many pages (look/page_heads.h).
 */
#include "record/look/page_heads.h"

#include "base/clock.h"

/* Pages of a search without a deadline: 256 GiB of 4 KiB pages. */
enum { ALL_PAGES_MAX = 1 << 26 };

int gg_page_heads_read(struct gg_page_heads *heads, struct gg_residency *residency, uint64_t begin,
                       size_t page_count)
{
	const struct gg_memory_source *source = residency->source;
	size_t wanted = 0;

	heads->count = 0;
	for (size_t i = 0; i < page_count && wanted < GG_PAGE_HEADS_MAX; i++) {
		const uint64_t address = begin + i * residency->page_bytes;
		struct gg_page_head *head = &heads->items[wanted];

		if (!gg_residency_has(residency, address))
			continue;
		head->address = address;
		heads->ranges[wanted++] = (struct gg_memory_range){ address, sizeof(head->words),
			                                            head->words };
	}
	for (size_t done = 0; done < wanted;) {
		ssize_t got = source->read_ranges(source->context, heads->ranges + done,
		                                  wanted - done);

		if (got < 0)
			return (int)got;
		for (ssize_t i = 0; i < got; i++)
			heads->items[heads->count++] = heads->items[done++];
		done += done < wanted; /* the range that failed is unmapped by now */
	}
	return 0;
}

void gg_page_heads_search_begin(struct gg_page_heads_search *search,
                                const struct gg_residency *residency, uint64_t deadline_ns)
{
	gg_residency_init(&search->residency, residency->source, residency->page_bytes);
	search->deadline_ns = deadline_ns;
	search->page_count = 0;
}

static bool may_go_on(struct gg_page_heads_search *search, size_t page_count)
{
	search->page_count += page_count;
	return search->deadline_ns != 0 ? gg_clock_thread_ns() <= search->deadline_ns
	                                : search->page_count <= ALL_PAGES_MAX;
}

int gg_page_heads_search_read(struct gg_page_heads_search *search, uint64_t begin,
                              size_t page_count)
{
	int status;

	if (!may_go_on(search, page_count))
		return 0;
	status = gg_page_heads_read(&search->heads, &search->residency, begin, page_count);
	return status < 0 ? status : 1;
}

int gg_page_heads_search_areas(const struct gg_memory_map *map, bool with_brk,
                               gg_page_heads_search_area *visit, void *context)
{
	int status = 1;

	for (size_t i = 0; i < map->areas.count && status == 1; i++)
		if (map->areas.items[i].is_writable && (with_brk || !map->areas.items[i].is_brk))
			status = visit(&map->areas.items[i], context);
	return status;
}
