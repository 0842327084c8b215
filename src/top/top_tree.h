/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_tree - the rows of the view `tree`: functions below their callers.
 *
 *   if (gg_top_tree_rows(&rows, &count, model, &query, confidence, error) < 0)
 *           return error->status;
 *   count = gg_top_tree_order(rows, count, is_open, is_shown, compare, context, order);
 *
 * The figures are those of `geiger tree --json` on the same model.  Branches below
 * GG_TOP_TREE_FOLD of the whole are folded into one row.
 *
 * Threads  Any; the functions depend on nothing but their arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "top/top_row.h"

#define GG_TOP_TREE_FOLD 0.001

/* Callers precede their callees.  Fails as gg_tree_build() does. */
GG_MUST_CHECK int gg_top_tree_rows(struct gg_top_row **ret_rows, size_t *ret_count,
                                   const struct gg_model *model, const struct gg_query *query,
                                   double confidence, struct gg_error *error);

/*
 * Writes the indices of the visible rows to order[0..row_count), callees below their caller, and
 * returns how many there are.  A row is visible if all of its callers are open.  compare() orders
 * the callees of one caller; it gets pointers to two indices (qsort_r).  Without memory it
 * returns 0.
 */
typedef int gg_top_row_compare(const void *one, const void *other, void *context);
size_t gg_top_tree_order(const struct gg_top_row *rows, size_t row_count, const bool *is_open,
                         const bool *is_shown, gg_top_row_compare *compare, void *context,
                         size_t *order);
