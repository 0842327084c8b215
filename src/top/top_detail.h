/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_detail - what `geiger top` shows of one row: callers, callees, functions, lines, and ages.
 *
 *   if (gg_top_detail_make(&detail, model, result, label, now_ns, confidence, error) < 0)
 *           return error->status;
 *   gg_top_detail_free(detail);
 *
 * The figures are those of `geiger report --json` and `geiger tree --json` on the same model
 * (query/row_detail.h).
 *
 * Ownership  A detail owns its texts, so it outlives the model.
 * Threads    Any; a detail does not change once it is made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/row_detail.h"
#include "report/figure.h"

struct gg_top_piece {
	enum gg_row_part part;
	bool is_row; /* it is a function or a line, and not the row itself or a range of ages */
	char *label;
	struct gg_figure figure; /* of the metric, in bytes */
};

struct gg_top_detail {
	enum gg_grouping by;
	char *label; /* of the row */
	bool is_there;
	struct gg_figure self, total; /* if is_there */
	/* Part by part, in the order of enum gg_row_part. */
	struct gg_top_piece *pieces;
	size_t piece_count;
};

/*
 * The row is the first one of the result with that label; without one, is_there is false.  Fails as
 * gg_row_detail_find() does.
 */
GG_MUST_CHECK int gg_top_detail_make(struct gg_top_detail **ret_detail,
                                     const struct gg_model *model,
                                     const struct gg_query_result *result, const char *label,
                                     int64_t now_ns, double confidence, struct gg_error *error);
void gg_top_detail_free(struct gg_top_detail *detail); /* NULL is fine */

/* True if it is the detail of that row; false for NULL. */
bool gg_top_detail_is_of(const struct gg_top_detail *detail, enum gg_grouping by,
                         const char *label);
