/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned_neighbors - finds the functions among whose freed blocks the blocks of a row of pinned
 * memory were allocated.
 *
 *   struct gg_pinned_neighbors *rows;
 *
 *   if (gg_pinned_find_neighbors(model, result, 30, &rows, error) == 0)
 *           ... rows[i] belongs to result->rows[i], for i < 30 ...
 *   free(rows);
 *
 * A block keeps free memory because its neighbors left.  Allocators place blocks that a thread
 * allocates one after the other close together, so the neighbors are likely among the samples that
 * the same thread allocated shortly before and after.  Those that were freed before the look left
 * the free memory.
 *
 * Stretch  GG_PINNED_STRETCH samples of the thread on either side, and at most one second.  Samples
 *          of an unknown thread count as those of one thread of their process.
 * Weight   A freed sample stands for the bytes that such blocks had on the page of their neighbor:
 *          its size, and at most a page, over its probability.
 * Share    The weights around one block add up to what the block keeps, so a share is that of the
 *          row's pinned memory.  Blocks without a freed neighbor keep their part for nobody.
 * Cost     0.14 s of processor time for 30 rows of 1 M samples (bench_report).
 */
#pragma once

#include "query/query.h"

enum {
	GG_PINNED_STRETCH = 32,
	GG_PINNED_NEIGHBOR_MAX = 3, /* functions of a row */
	/* A function has at least as many freed samples around the row's blocks. */
	GG_PINNED_NEIGHBOR_LEAST = 5,
};

/* A function has at least this share of the row's pinned memory. */
#define GG_PINNED_NEIGHBOR_SHARE 0.25

struct gg_pinned_neighbor {
	uint32_t function;         /* that allocated the freed blocks */
	double share;              /* of the row's pinned memory, from 0 to 1 */
	double median_lifetime_ns; /* of the freed blocks, by weight */
};

/* The functions of a row with the largest shares, the largest first. */
struct gg_pinned_neighbors {
	size_t count;
	struct gg_pinned_neighbor functions[GG_PINNED_NEIGHBOR_MAX];
};

/*
 * Finds the neighbors of the first `row_count` rows of a result of the metric pinned, or of all if
 * it has fewer.  A row counts the blocks that it has itself.  The caller frees the array, which
 * also exists if there is no row.  -ENOMEM.
 */
GG_MUST_CHECK int gg_pinned_find_neighbors(const struct gg_model *model,
                                           const struct gg_query_result *result, size_t row_count,
                                           struct gg_pinned_neighbors **ret_rows,
                                           struct gg_error *error);
