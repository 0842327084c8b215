/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_window - reads chunk heads of another process in ascending order, through large copies.
 *
 *   struct gg_heap_window window;
 *
 *   status = gg_heap_window_init(&window, source, page_bytes);
 *   if (gg_heap_window_read(&window, chunk, end, &head, sizeof(head)))
 *           ... head.size_word ...
 *   gg_heap_window_done(&window);
 *
 * A reader that goes on where the last copy ended gets larger copies, and one that jumps small
 * ones.  Pages that are not resident are left out, so that the reader faults none in.
 *
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/look/glibc_heap.h"
#include "record/look/residency.h"

/* Pages of a copy. */
enum { GG_WINDOW_PAGES_LEAST = 4, GG_WINDOW_PAGES_MAX = 128 };

struct gg_heap_window {
	struct gg_residency residency;
	unsigned char *bytes;
	uint64_t begin;    /* address of bytes[0] */
	size_t page_count; /* in the copy */
	int page_shift;    /* a page has 1 << page_shift bytes */
	bool is_read[GG_WINDOW_PAGES_MAX];
	int64_t copy_count;
	int error; /* negative errno value of a copy that failed; 0: none did */
};

/* Returns 0 or -ENOMEM. */
int gg_heap_window_init(struct gg_heap_window *window, const struct gg_memory_source *source,
                        uint64_t page_bytes);

/* For gg_heap_window_read(): makes another copy first. */
bool gg_heap_window_read_far(struct gg_heap_window *window, uint64_t address, uint64_t end,
                             void *ret, size_t bytes);

/* For gg_heap_window_read(): the bytes lie in the copy. */
static inline bool gg_heap_window_read_near(const struct gg_heap_window *window, uint64_t address,
                                            void *ret, size_t bytes)
{
	uint64_t at = address - window->begin;

	if (!window->is_read[at >> window->page_shift] ||
	    !window->is_read[(at + bytes - 1) >> window->page_shift])
		return false;
	memcpy(ret, window->bytes + at, bytes);
	return true;
}

/*
 * Copies `bytes` bytes at `address`, which ends at or before `end` and lies on one or two pages;
 * the copy never reaches behind `end`.  False: it is not resident, or unmapped by now.
 */
static inline bool gg_heap_window_read(struct gg_heap_window *window, uint64_t address,
                                       uint64_t end, void *ret, size_t bytes)
{
	if (address >= window->begin && address <= end && bytes <= end - address &&
	    address - window->begin + bytes <= window->page_count << window->page_shift)
		return gg_heap_window_read_near(window, address, ret, bytes);
	return gg_heap_window_read_far(window, address, end, ret, bytes);
}

/* Forgets the copy, so that the next question sees the memory as it is now. */
void gg_heap_window_forget(struct gg_heap_window *window);

void gg_heap_window_done(struct gg_heap_window *window);
