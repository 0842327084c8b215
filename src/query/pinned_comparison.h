/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned_comparison - compares what the blocks of a row keep with what other blocks of their sizes
 * keep, and finds the age of the row's blocks.
 *
 *   struct gg_pinned_comparison *rows;
 *
 *   if (gg_pinned_compare(model, result, &rows, error) == 0)
 *           ... rows[i] belongs to result->rows[i] ...
 *   free(rows);
 *
 * If a row's blocks are like all others, its values are a random choice of those of the same size
 * classes.  The comparison therefore draws such choices, and counts how many keep as much as the
 * row does.  This permutation test needs no law of the values, and its draws are always the same.
 */
#pragma once

#include "query/query.h"

struct gg_pinned_comparison {
	uint64_t block_count; /* known blocks that the row has itself */
	/*
	 * Mean value by block, over that of all blocks of the same size classes.  NAN: unknown, or
	 * all blocks of these classes are the row's own.
	 */
	double ratio;
	/* Two-sided: the chance of a row at least this unusual among blocks that are all alike. */
	double p_value; /* NAN: unknown */
	double age_ns;  /* median age at the look, by weight; NAN: the row has no block */
};

/* Compares each row of a result of the metric pinned.  The caller frees the array.  -ENOMEM. */
GG_MUST_CHECK int gg_pinned_compare(const struct gg_model *model,
                                    const struct gg_query_result *result,
                                    struct gg_pinned_comparison **ret_rows, struct gg_error *error);
