/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_window - copies runs of resident pages (look/heap_window.h).
 */
#include "record/look/heap_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gg_heap_window_init(struct gg_heap_window *window, const struct gg_memory_source *source,
                        uint64_t page_bytes)
{
	gg_residency_init(&window->residency, source, page_bytes);
	window->bytes = malloc(GG_WINDOW_PAGES_MAX * page_bytes);
	window->begin = 0;
	window->page_count = 0;
	window->copy_count = 0;
	window->page_shift = __builtin_ctzll(page_bytes);
	window->error = 0;
	return window->bytes == NULL ? -ENOMEM : 0;
}

/* Copies the pages [first, last) of the window, all of them resident. */
static void copy_run(struct gg_heap_window *window, size_t first, size_t last)
{
	const struct gg_memory_source *source = window->residency.source;
	const uint64_t page_bytes = window->residency.page_bytes;
	const struct gg_memory_range range = { window->begin + first * page_bytes,
		                               (last - first) * page_bytes,
		                               window->bytes + first * page_bytes };
	ssize_t got = last > first ? source->read_ranges(source->context, &range, 1) : 0;

	if (got < 0)
		window->error = (int)got;
	for (size_t page = first; page < last; page++)
		window->is_read[page] = got == 1;
}

static void copy(struct gg_heap_window *window, uint64_t address, uint64_t end)
{
	const uint64_t page_bytes = window->residency.page_bytes;
	const uint64_t begin = address / page_bytes * page_bytes;
	const uint64_t last_end = window->begin + window->page_count * page_bytes;
	uint64_t left = (end - begin + page_bytes - 1) / page_bytes;
	size_t wanted = GG_WINDOW_PAGES_LEAST, first = 0;

	if (window->page_count > 0 && begin >= window->begin && begin <= last_end + page_bytes)
		wanted = window->page_count * 4;
	wanted = wanted < GG_WINDOW_PAGES_MAX ? wanted : GG_WINDOW_PAGES_MAX;
	window->begin = begin;
	window->page_count = left < wanted ? left : wanted;
	window->copy_count++;
	for (size_t page = 0; page < window->page_count; page++) {
		window->is_read[page] = false;
		if (gg_residency_has(&window->residency, begin + page * page_bytes))
			continue;
		copy_run(window, first, page);
		first = page + 1;
	}
	copy_run(window, first, window->page_count);
}

bool gg_heap_window_read_far(struct gg_heap_window *window, uint64_t address, uint64_t end,
                             void *ret, size_t bytes)
{
	const uint64_t page_bytes = window->residency.page_bytes;

	if (bytes > page_bytes || address > end || bytes > end - address)
		return false;
	copy(window, address, end);
	return gg_heap_window_read_near(window, address, ret, bytes);
}

void gg_heap_window_forget(struct gg_heap_window *window)
{
	window->page_count = 0;
	window->residency.count = 0;
}

void gg_heap_window_done(struct gg_heap_window *window)
{
	free(window->bytes);
}
