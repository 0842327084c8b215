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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/look/memory_map.h"
#include "record/look/residency.h"

enum {
	GG_PAGE_HEADS_MAX = 512,
	GG_PAGE_HEAD_WORDS = 6,
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

/* A search through the heads of many pages, which gives up when it takes too long. */
struct gg_page_heads_search {
	struct gg_residency residency;
	struct gg_page_heads heads; /* of the pages that were read last */
	uint64_t deadline_ns;       /* processor time of this thread; 0: none */
	uint64_t page_count;        /* pages so far; without a deadline their number is limited */
};

/* Begins a search of the same memory as `residency`. */
void gg_page_heads_search_begin(struct gg_page_heads_search *search,
                                const struct gg_residency *residency, uint64_t deadline_ns);

/* Reads the heads of further pages.  Returns 1, 0 if the search gives up, or -Exxx as above. */
int gg_page_heads_search_read(struct gg_page_heads_search *search, uint64_t begin,
                              size_t page_count);

/* Searches one area.  Returns 1, 0 if the search gave up, or -Exxx. */
typedef int gg_page_heads_search_area(const struct gg_memory_area *area, void *context);

/*
 * Calls the function for each writable area, with or without [heap], until one of the calls does
 * not return 1.  Returns what the last call returned.
 */
int gg_page_heads_search_areas(const struct gg_memory_map *map, bool with_brk,
                               gg_page_heads_search_area *visit, void *context);
