/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_heads - copies the first words of many pages of another process.
 *
 *   struct gg_page_heads *heads = calloc(1, sizeof(*heads));
 *
 *   status = gg_page_heads_read(heads, &residency, begin, GG_PAGE_HEADS_MAX);
 *   for (size_t i = 0; i < heads->count; i++)
 *           ... heads->items[i].address, heads->items[i].words ...
 *
 * Pages that are not resident are left out, so that the reader faults none in.
 *
 * Threads  one owner at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/look/residency.h"

enum {
	GG_PAGE_HEADS_MAX = 512,
	GG_PAGE_HEAD_WORDS = 6,
	GG_PAGE_HEADS_ALL_MAX =
		1 << 26, /* of a search without a deadline: 256 GiB of 4 KiB pages */
};

struct gg_page_head {
	uint64_t address;
	uint64_t words[GG_PAGE_HEAD_WORDS];
};

struct gg_page_heads {
	size_t count;
	struct gg_page_head items[GG_PAGE_HEADS_MAX]; /* ascending */
	struct gg_memory_range ranges[GG_PAGE_HEADS_MAX];
};

/*
 * Reads the heads of the resident ones of `page_count` pages from `begin` on, GG_PAGE_HEADS_MAX at
 * most.  Returns 0, or a negative errno value if the process may not be read.
 */
int gg_page_heads_read(struct gg_page_heads *heads, struct gg_residency *residency, uint64_t begin,
                       size_t page_count);
