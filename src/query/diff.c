/* SPDX-License-Identifier: Apache-2.0 */
#include "query/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

struct diff_build {
	const struct gg_diff_query *query;
	struct gg_diff *diff;
	struct gg_map rows;    /* by label */
	struct gg_buf labels;  /* each label ends with a 0 byte */
	size_t *label_offsets; /* by row */
};

/* A label to look up, for the hash table's comparison. */
struct wanted_label {
	const struct diff_build *run;
	const char *label;
};

static bool has_label(uint64_t row, const void *context)
{
	const struct wanted_label *wanted = context;

	return strcmp(wanted->run->labels.data + wanted->run->label_offsets[row], wanted->label) ==
	       0;
}

/* Finds or adds the row with that label.  NULL: out of memory. */
static struct gg_diff_row *row_of(struct diff_build *run, const struct gg_buf *label)
{
	struct wanted_label wanted = { run, gg_buf_text(label) };
	struct gg_diff *diff = run->diff;
	uint64_t hash, found;

	if (label->failed)
		return NULL;
	hash = gg_hash_bytes(wanted.label, strlen(wanted.label), gg_map_seed(&run->rows));
	found = gg_map_find(&run->rows, hash, has_label, &wanted);
	if (found != GG_MAP_NONE)
		return &diff->rows[found];
	run->label_offsets[diff->row_count] = run->labels.length;
	gg_buf_append(&run->labels, wanted.label, strlen(wanted.label) + 1);
	if (run->labels.failed || gg_map_insert(&run->rows, hash, diff->row_count) < 0)
		return NULL;
	return &diff->rows[diff->row_count++];
}

/* The tally by which the query sorts rows: self or total. */
static const struct gg_tally *tally_of(const struct gg_query_result *result,
                                       const struct gg_query_row *row)
{
	return result->query.sort_by_total ? row->total : row->self;
}

static int add_result(struct diff_build *run, const struct gg_model *model,
                      const struct gg_query_result *result, bool is_after, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	for (size_t i = 0; i < result->row_count; i++) {
		struct gg_diff_row *row;

		const struct gg_tally *tally = tally_of(result, &result->rows[i]);

		if (tally->sample_count == 0 && !gg_tally_is_uncertain(tally))
			continue; /* the row has a total, but no self */
		gg_buf_clear(&label);
		gg_query_row_label(model, result, &result->rows[i], &label);
		row = row_of(run, &label);
		if (row == NULL)
			return gg_error_memory(error, "diff");
		if (result->query.by == GG_BY_FUNCTION)
			row->full_name = model->functions[result->rows[i].key].full_name;
		gg_tally_merge(is_after ? &row->after : &row->before,
		               tally_of(result, &result->rows[i]));
	}
	return 0;
}

static void compare(struct gg_diff_row *row, const struct gg_diff *diff)
{
	row->difference = gg_difference_of(&row->before, &row->after, diff->unit, diff->query.scale,
	                                   diff->query.confidence);
	row->q_value = row->difference.p_value;
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
	double *q = calloc(diff->row_count + 1, sizeof(*q));
	size_t *order = calloc(diff->row_count + 1, sizeof(*order));

	if (q == NULL || order == NULL) {
		free(q);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < diff->row_count; i++)
		q[i] = diff->rows[i].difference.p_value;
	gg_false_discovery(q, diff->row_count, order);
	for (size_t i = 0; i < diff->row_count; i++) {
		struct gg_diff_row *row = &diff->rows[i];

		row->q_value = q[i];
		row->is_significant = q[i] <= diff->query.false_discovery_rate;
		diff->significant_count += row->is_significant;
		diff->grown_count += row->is_significant && row->difference.value > 0;
	}
	free(q);
	free(order);
	return 0;
}

static int fill(struct diff_build *run, const struct gg_model *before_model,
                const struct gg_query_result *before, const struct gg_model *after_model,
                const struct gg_query_result *after, struct gg_error *error)
{
	struct gg_diff *diff = run->diff;
	size_t most = before->row_count + after->row_count + 1;
	int status;

	diff->rows = calloc(most, sizeof(*diff->rows));
	run->label_offsets = calloc(most, sizeof(*run->label_offsets));
	if (diff->rows == NULL || run->label_offsets == NULL)
		return gg_error_memory(error, "diff");
	status = add_result(run, before_model, before, false, error);
	if (status == 0)
		status = add_result(run, after_model, after, true, error);
	if (status < 0)
		return status;
	diff->labels = run->labels.data;
	run->labels = (struct gg_buf){ 0 };
	for (size_t i = 0; i < diff->row_count; i++) {
		struct gg_diff_row *row = &diff->rows[i];

		row->label = diff->labels + run->label_offsets[i];
		gg_tally_expose(&row->before, before->total.reserve_max[GG_BYTES]);
		gg_tally_expose(&row->after, after->total.reserve_max[GG_BYTES]);
		row->before.incomplete = before->total.incomplete;
		row->after.incomplete = after->total.incomplete;
		compare(row, diff);
	}
	diff->total = (struct gg_diff_row){ .label = "",
		                            .before = before->total,
		                            .after = after->total };
	compare(&diff->total, diff);
	diff->total.is_significant = diff->total.q_value <= diff->query.false_discovery_rate;
	if (discover(diff) < 0)
		return gg_error_memory(error, "diff");
	if (diff->row_count > 0)
		qsort(diff->rows, diff->row_count, sizeof(*diff->rows), compare_rows);
	return 0;
}

int gg_diff_run(const struct gg_model *before_model, const struct gg_query_result *before,
                const struct gg_model *after_model, const struct gg_query_result *after,
                const struct gg_diff_query *query, struct gg_diff **ret_diff,
                struct gg_error *error)
{
	struct diff_build run = { .query = query, .diff = calloc(1, sizeof(*run.diff)) };
	int status;

	if (run.diff == NULL)
		return gg_error_memory(error, "diff");
	run.diff->query = *query;
	run.diff->unit = after->query.unit;
	status = fill(&run, before_model, before, after_model, after, error);
	gg_map_done(&run.rows);
	gg_buf_done(&run.labels);
	free(run.label_offsets);
	if (status < 0) {
		gg_diff_free(run.diff);
		return status;
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
