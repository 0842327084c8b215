/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_free - what resident memory between two chunks in use counts as.
 *
 *   const struct gg_glibc_free gap = { .begin = chunk, .end = next_chunk, .heap = heap };
 *
 *   status = gg_glibc_free_count(&sums, &gap, &residency);
 *
 * The pages that lie in the gap whole are returnable.  The others are pinned: a neighbor holds them
 * as well.
 *
 * Threads  any; one owner of the residency at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/look/glibc_heap.h"
#include "record/look/residency.h"

struct gg_glibc_free {
	uint64_t begin, end; /* chunks: the first free one, and the one in use behind it */
	const struct gg_glibc_heap *heap;
	bool is_top; /* the gap reaches the end of its heap */
};

/* Resident bytes. */
struct gg_glibc_free_sums {
	int64_t pinned_bytes, returnable_bytes;
	int64_t top_bytes;       /* the part of returnable_bytes that is in tops */
	int64_t trimmable_bytes; /* the part of returnable_bytes that malloc_trim() returns */
};

/* Counts one gap.  Returns 0, or a negative errno value if the page table cannot be read. */
int gg_glibc_free_count(struct gg_glibc_free_sums *ret, const struct gg_glibc_free *gap,
                        struct gg_residency *residency);
