/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff - two profiles beside each other: for each row before, after, the difference with its
 * confidence interval, and which differences mean anything.
 *
 *   gg_query_rows(model_a, &query, &a, error);
 *   gg_query_rows(model_b, &query, &b, error);
 *   if (gg_diff_run(model_a, a, model_b, b, &(struct gg_diff_query){ .scale = 1, .confidence = 0.95,
 *                   .false_discovery_rate = 0.05 }, &diff, error) == 0)
 *           ... diff->rows, the significant ones first ...
 *   gg_diff_free(diff);
 *
 * Rows are matched by their labels (gg_query_row_label), because numbers and addresses differ from profile
 * to profile, and from build to build; rows of one profile with the same label are one row.
 *
 * The results may be freed before the diff; labels are its own.
 *
 * Cost      100 000 rows on each side in about 1 s; 1 KiB a row, and its label.
 * Threads   one owner.
 */
#pragma once

#include "query/query.h"
#include "stats/estimate/compare.h"

struct gg_diff_query {
	double scale;                /* what before is multiplied by; > 0 */
	double confidence;           /* of each interval; 0 < confidence < 1 */
	double false_discovery_rate; /* over all rows; 0 < rate < 1 */
};

struct gg_diff_row {
	const char *label;
	const char *full_name; /* of a row that is a function, the model's; NULL: not known */
	struct gg_tally before, after; /* exposed; not scaled */
	struct gg_difference difference;
	double q_value; /* the least false discovery rate at which the row is among the discoveries */
	bool is_significant;
};

struct gg_diff {
	struct gg_diff_query query;
	enum gg_quantity unit;
	struct gg_diff_row total; /* of all rows; tested by itself: q_value is the p-value */
	struct gg_diff_row
		*rows; /* significant ones first, each part by the size of the difference */
	size_t row_count, significant_count, grown_count; /* grown: of the significant ones */
	char *labels;
};

/* Both results must be of queries with the same grouping and unit.  -ENOMEM. */
GG_MUST_CHECK int gg_diff_run(const struct gg_model *before_model,
                              const struct gg_query_result *before,
                              const struct gg_model *after_model,
                              const struct gg_query_result *after,
                              const struct gg_diff_query *query, struct gg_diff **ret_diff,
                              struct gg_error *error);
void gg_diff_free(struct gg_diff *diff); /* NULL is fine */
