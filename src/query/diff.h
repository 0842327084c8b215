/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff - compares two profiles row by row: before, after, the difference with its confidence
 * interval, and whether the difference is significant.
 *
 *   if (gg_diff_query_both(model_a, model_b, &query, &a, &b, error) == 0 &&
 *       gg_diff_run(model_a, a, model_b, b,
 *                   &(struct gg_diff_query){ .scale = 1, .confidence = 0.95,
 *                   .false_discovery_rate = 0.05 }, &diff, error) == 0)
 *           ... diff->rows, the significant ones first ...
 *   gg_diff_free(diff);
 *
 * Labels match the rows (gg_query_row_label), because numbers and addresses differ between profiles
 * and between builds.  Rows of one profile with the same label become one row.
 *
 * The diff owns its labels, so the results may be freed before it.
 *
 * Cost      100 000 rows on each side in 0.2 s with only_significant, else about 1 s of all
 *           processors together; 1.2 KiB a row, and its label.
 * Threads   One thread owns a diff.
 */
#pragma once

#include "query/query.h"
#include "stats/estimate/compare.h"

struct gg_diff_query {
	double scale;                /* factor for the earlier profile; > 0 */
	double confidence;           /* of each interval; 0 < confidence < 1 */
	double false_discovery_rate; /* over all rows; 0 < rate < 1 */
	/*
	 * The caller shows significant rows only.  Then other rows may lack their interval, their
	 * p-value and their q-value, which are NaN.  If the total has no p-value, all rows have
	 * them.  This saves most of the time that many rows cost.
	 */
	bool only_significant;
};

struct gg_diff_row {
	const char *label;
	const char *full_name; /* rows by function: the model's full name; NULL: unknown */
	/* Rows by self: the name of the hidden function through which it allocated, or NULL. */
	const char *via;
	struct gg_tally before, after; /* exposed; not scaled */
	struct gg_difference difference;
	double q_value; /* the least false discovery rate at which the row is significant */
	bool is_significant;
	bool is_bounded; /* only_significant: its p-value is above the rate, and is not known */
};

struct gg_diff {
	/* Both profiles are exact: differences are facts, p and q are NaN, and every row that
	 * differs is significant. */
	bool is_exact;
	struct gg_diff_query query;
	enum gg_quantity unit;
	struct gg_diff_row total; /* of all rows; a test of its own: q_value is its p-value */
	struct gg_diff_row
		*rows; /* significant rows first; within each part by the size of the difference */
	size_t row_count, significant_count, grown_count; /* grown: significant rows that grew */
	char *labels;
};

/*
 * Runs the query on both models at the same time, in two threads; nobody may change a model
 * meanwhile.  The models may be the same.  Fails as gg_query_rows() does, with the error of
 * `before` if both fail.  After a failure there is nothing to free.
 */
GG_MUST_CHECK int gg_diff_query_both(const struct gg_model *before_model,
                                     const struct gg_model *after_model,
                                     const struct gg_query *query,
                                     struct gg_query_result **ret_before,
                                     struct gg_query_result **ret_after, struct gg_error *error);

/* Both results must come from queries with equal grouping and unit.  -ENOMEM. */
GG_MUST_CHECK int gg_diff_run(const struct gg_model *before_model,
                              const struct gg_query_result *before,
                              const struct gg_model *after_model,
                              const struct gg_query_result *after,
                              const struct gg_diff_query *query, struct gg_diff **ret_diff,
                              struct gg_error *error);
void gg_diff_free(struct gg_diff *diff); /* NULL is fine */
