/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_heads - one system call for many pages (look/page_heads.h).
 */
#include "record/look/page_heads.h"

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
