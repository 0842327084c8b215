/* SPDX-License-Identifier: Apache-2.0 */
/* diff - matches the rows of two results, tests each difference, and sorts them. */
#include "query/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/discovery.h"
#include "query/parallel.h"
#include "query/row_matcher.h"

/* One of two queries that run at the same time, with its own result and error. */
struct side_query {
	const struct gg_model *model;
	const struct gg_query *query;
	struct gg_query_result *result;
	struct gg_error error;
	int status;
};

static void query_side(void *context)
{
	struct side_query *side = context;

	side->status = gg_query_rows(side->model, side->query, &side->result, &side->error);
}

int gg_diff_query_both(const struct gg_model *before_model, const struct gg_model *after_model,
                       const struct gg_query *query, struct gg_query_result **ret_before,
                       struct gg_query_result **ret_after, struct gg_error *error)
{
	struct side_query before = { .model = before_model, .query = query };
	struct side_query after = { .model = after_model, .query = query };
	const struct side_query *failed;

	gg_parallel_pair(query_side, &before, &after);
	if (before.status == 0 && after.status == 0) {
		*ret_before = before.result;
		*ret_after = after.result;
		return 0;
	}
	failed = before.status < 0 ? &before : &after;
	if (error != NULL)
		*error = failed->error;
	if (failed->status == -ENODATA)
		gg_error_set_place(error, "pinned memory %s",
		                   failed == &before ? "before" : "after");
	gg_query_result_free(before.result);
	gg_query_result_free(after.result);
	return failed->status;
}

struct diff_build {
	struct gg_diff *diff;
	struct gg_row_matcher matcher; /* its numbers are indices of rows */
	bool only_significant;
};

/* The tally by which the query sorts rows: self or total. */
static const struct gg_tally *tally_of(const struct gg_query_result *result,
                                       const struct gg_query_row *row)
{
	return result->query.sort_by_total ? row->total : row->self;
}

/*
 * Adds a tally to one side of a row.  Nearly always it is the only one; then a copy has the same
 * sums.
 */
static void add_tally(struct gg_tally *side, const struct gg_tally *tally, bool is_only)
{
	if (is_only)
		*side = *tally;
	else
		gg_tally_merge(side, tally);
}

static bool is_empty(const struct gg_tally *tally)
{
	return gg_tally_is_empty(tally) && !gg_tally_is_uncertain(tally);
}

static int add_result(struct diff_build *run, const struct gg_model *model,
                      const struct gg_query_result *result, bool is_after)
{
	struct gg_diff *diff = run->diff;

	if (gg_row_matcher_begin(&run->matcher, model, result) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < result->row_count; i++) {
		const struct gg_tally *tally = tally_of(result, &result->rows[i]);
		struct gg_diff_row *row;
		struct gg_tally *side;
		uint32_t number;

		if (is_empty(tally))
			continue; /* the row has a total, but no self */
		number = gg_row_matcher_find(&run->matcher, &result->rows[i]);
		if (number == GG_ROW_UNMATCHED)
			return -ENOMEM;
		row = &diff->rows[number];
		side = is_after ? &row->after : &row->before;
		if (result->query.by == GG_BY_FUNCTION)
			row->full_name = model->functions[result->rows[i].key].full_name;
		/* The later profile decides, because it is read second. */
		if (result->rows[i].via != 0 && !result->query.sort_by_total)
			row->via = model->functions[result->rows[i].via].name;
		add_tally(side, tally, is_empty(side));
	}
	diff->row_count = run->matcher.row_count;
	return 0;
}

static bool is_bounded_only(const struct gg_tally *tally)
{
	return gg_tally_is_uncertain(tally) || tally->incomplete > 0;
}

/*
 * A difference of exact numbers needs no test.  But blocks may be uncertain (query.h, "Exactness"):
 * then the row differs only if it does so in either case.
 */
static void compare_exact(struct gg_diff_row *row, const struct gg_diff *diff)
{
	double value = gg_tally_estimate(&row->after, diff->unit).value -
	               gg_tally_estimate(&row->before, diff->unit).value * diff->query.scale;

	row->difference = (struct gg_difference){ value, value, value, NAN };
	if (is_bounded_only(&row->before) || is_bounded_only(&row->after)) {
		row->difference = gg_difference_of(&row->before, &row->after, diff->unit,
		                                   diff->query.scale, diff->query.confidence);
		row->difference.p_value = NAN;
	}
	row->q_value = row->difference.low > 0 || row->difference.high < 0 ? 0 : 1;
}

static void compare(struct gg_diff_row *row, const struct gg_diff *diff)
{
	if (diff->is_exact) {
		compare_exact(row, diff);
		return;
	}
	row->difference = gg_difference_of(&row->before, &row->after, diff->unit, diff->query.scale,
	                                   diff->query.confidence);
	row->q_value = row->difference.p_value;
}

/*
 * Compares a row of which only the significance is wanted.  A row is significant only if its
 * p-value is at most the false discovery rate, and a p-value above it does not change the q-value
 * of a significant row, whatever it is.  So a bound suffices for most rows.
 */
static void compare_if_significant(struct gg_diff_row *row, const struct gg_diff *diff)
{
	double value;

	if (gg_difference_p_exceeds(&row->before, &row->after, diff->unit, diff->query.scale,
	                            diff->query.false_discovery_rate, &value)) {
		row->difference = (struct gg_difference){ value, NAN, NAN, 1 };
		row->q_value = 1;
		row->is_bounded = true;
	} else {
		compare(row, diff);
	}
}

static void compare_range(size_t from, size_t to, void *context)
{
	const struct diff_build *run = context;
	struct gg_diff *diff = run->diff;

	for (size_t i = from; i < to; i++)
		if (run->only_significant && !diff->is_exact)
			compare_if_significant(&diff->rows[i], diff);
		else
			compare(&diff->rows[i], diff);
}

/*
 * Sorts significant rows first, and each part by the absolute difference, so that the largest
 * growth and the largest shrinkage are both at the top.  Labels break ties.
 */
static int compare_rows(const void *x, const void *y)
{
	const struct gg_diff_row *a = x, *b = y;
	double of_a = fabs(a->difference.value), of_b = fabs(b->difference.value);

	if (a->is_significant != b->is_significant)
		return a->is_significant ? -1 : 1;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->label, b->label);
}

/* Marks the significant rows, at the false discovery rate of the query. */
static int discover(struct gg_diff *diff)
{
	if (diff->row_count == 0)
		return 0;
	if (gg_discovery_run(&diff->rows[0].q_value, sizeof(diff->rows[0]), diff->row_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < diff->row_count; i++) {
		struct gg_diff_row *row = &diff->rows[i];

		row->is_significant = row->q_value <= diff->query.false_discovery_rate;
		diff->significant_count += row->is_significant;
		diff->grown_count += row->is_significant && row->difference.value > 0;
		if (row->is_bounded || diff->is_exact)
			row->difference.p_value = row->q_value = NAN;
	}
	return 0;
}

/* Gives a row the exposure and the bounds of its profile, and the mark of dropped samples. */
static void expose(struct gg_tally *side, const struct gg_tally *total)
{
	gg_tally_expose_like(side, total);
	gg_tally_bound_like(side, total);
	side->incomplete = total->incomplete;
}

static void expose_more(struct gg_tally *side, const struct gg_tally *other_total)
{
	gg_tally_expose(side, other_total->reserve_max[GG_BYTES]);
}

static int label_rows(struct diff_build *run)
{
	struct gg_diff *diff = run->diff;
	size_t *offsets = malloc((diff->row_count + 1) * sizeof(*offsets));

	if (offsets != NULL)
		diff->labels = gg_row_matcher_take_labels(&run->matcher, offsets);
	for (size_t i = 0; i < diff->row_count && diff->labels != NULL; i++)
		diff->rows[i].label = diff->labels + offsets[i];
	free(offsets);
	return diff->labels != NULL ? 0 : -ENOMEM;
}

static int match_rows(struct diff_build *run, const struct gg_model *before_model,
                      const struct gg_query_result *before, const struct gg_model *after_model,
                      const struct gg_query_result *after)
{
	struct gg_diff *diff = run->diff;

	gg_assert(before->query.by == after->query.by && before->query.unit == after->query.unit);
	diff->rows = calloc(before->row_count + after->row_count + 1, sizeof(*diff->rows));
	if (diff->rows == NULL || add_result(run, before_model, before, false) < 0 ||
	    add_result(run, after_model, after, true) < 0)
		return -ENOMEM;
	gg_assert(diff->row_count <= before->row_count + after->row_count);
	for (size_t i = 0; i < diff->row_count; i++) {
		expose(&diff->rows[i].before, &before->total);
		expose(&diff->rows[i].after, &after->total);
		/* A stack that one side lacks may have blocks as small as the other. */
		if (before->query.metric == GG_METRIC_PINNED) {
			expose_more(&diff->rows[i].before, &after->total);
			expose_more(&diff->rows[i].after, &before->total);
		}
	}
	return label_rows(run);
}

static int test_rows(struct diff_build *run, const struct gg_tally *before,
                     const struct gg_tally *after)
{
	struct gg_diff *diff = run->diff;

	diff->total = (struct gg_diff_row){ .label = "", .before = *before, .after = *after };
	compare(&diff->total, diff);
	diff->total.is_significant = diff->total.q_value <= diff->query.false_discovery_rate;
	/* If the total cannot be tested, no row is significant, and reports show all of them. */
	run->only_significant = diff->query.only_significant &&
	                        !isnan(diff->total.difference.p_value);
	if (diff->is_exact)
		diff->total.q_value = NAN;
	gg_parallel_ranges(diff->row_count, compare_range, run);
	if (discover(diff) < 0)
		return -ENOMEM;
	gg_assert(diff->grown_count <= diff->significant_count);
	gg_assert(diff->significant_count <= diff->row_count);
	if (diff->row_count > 0)
		qsort(diff->rows, diff->row_count, sizeof(*diff->rows), compare_rows);
	return 0;
}

int gg_diff_run(const struct gg_model *before_model, const struct gg_query_result *before,
                const struct gg_model *after_model, const struct gg_query_result *after,
                const struct gg_diff_query *query, struct gg_diff **ret_diff,
                struct gg_error *error)
{
	struct diff_build run = { .diff = calloc(1, sizeof(*run.diff)) };
	int status;

	if (run.diff == NULL)
		return gg_error_memory(error, "diff");
	run.diff->query = *query;
	run.diff->unit = after->query.unit;
	run.diff->is_exact = gg_model_is_exact(before_model) && gg_model_is_exact(after_model);
	gg_row_matcher_init(&run.matcher);
	status = match_rows(&run, before_model, before, after_model, after);
	if (status == 0)
		status = test_rows(&run, &before->total, &after->total);
	gg_row_matcher_done(&run.matcher);
	if (status < 0) {
		gg_diff_free(run.diff);
		return gg_error_memory(error, "diff");
	}
	*ret_diff = run.diff;
	return 0;
}

void gg_diff_free(struct gg_diff *diff)
{
	if (diff == NULL)
		return;
	free(diff->rows);
	free(diff->labels);
	free(diff);
}
