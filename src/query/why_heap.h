/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_heap - divides the resident bytes of an allocator's mappings (query/why.h).
 *
 * Threads  Any; the function only reads the input.
 */
#pragma once

#include "query/why_rows.h"

enum gg_why_part_name {
	GG_WHY_LIVE,
	GG_WHY_ROUNDING,
	GG_WHY_PINNED,
	GG_WHY_RETURNABLE,
	GG_WHY_CACHES,
	GG_WHY_METADATA,
	GG_WHY_HUGE,
	GG_WHY_OLDER,
	GG_WHY_REST,
	GG_WHY_PART_COUNT
};

/* An all-zero part is exactly nothing. */
struct gg_why_part {
	double bytes, low, high;
	enum gg_why_certainty certainty;
};

struct gg_why_heap {
	double bytes; /* resident, without lazy_free_bytes; the sum of the parts */
	double lazy_free_bytes;
	double huge_bytes; /* in huge pages */
	struct gg_why_part parts[GG_WHY_PART_COUNT];
	double pinned_estimate; /* before the parts were made to add up, which may reduce it */
	/* Parts of live blocks that are not resident. */
	struct gg_why_part untouched, swapped;
	double seen_count;    /* samples of blocks whose resident bytes the look saw */
	bool is_contradicted; /* more is live for certain than these mappings hold */
};

/* `heap` has bytes, lazy_free_bytes and huge_bytes; the function fills the other members. */
void gg_why_divide_heap(struct gg_why_heap *heap, const struct gg_why_input *input);
