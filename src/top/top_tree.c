/* SPDX-License-Identifier: Apache-2.0 */
/* top_tree - makes rows of the nodes of a tree, and lists those that are visible. */
#include "top/top_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "query/tree.h"

static void append_label(const struct gg_model *model, const struct gg_tree_node *node,
                         struct gg_buf *out)
{
	const struct gg_query_result by_function = { .query = { .by = GG_BY_FUNCTION } };
	const struct gg_query_row row = { .key = node->function };

	if (node->folded_count > 0)
		gg_buf_printf(out, "(%" PRIu32 " more)", node->folded_count);
	else if (node->is_self)
		gg_buf_append_text(out, "(self)");
	else
		gg_query_row_label(model, &by_function, &row, out);
}

/* The rows lack the root, so row i is node i + 1. */
static int make_row(struct gg_top_row *rows, size_t index, const struct gg_tree *tree,
                    const struct gg_model *model, double confidence)
{
	const struct gg_tree_node *node = &tree->nodes[index + 1];
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
	struct gg_top_row *row = &rows[index];

	append_label(model, node, &label);
	*row = (struct gg_top_row){
		.label = label.failed ? NULL : strdup(gg_buf_text(&label)),
		.self = gg_figure_of(node->total, GG_BYTES, confidence, true),
		.blocks = gg_figure_of(node->total, GG_ALLOCATIONS, confidence, true),
		.p_value = NAN,
		.q_value = NAN,
		.age_ns = NAN,
		.parent = node->parent,
		.depth = node->depth - 1,
		.is_function = node->folded_count == 0 && !node->is_self,
		.has_callees = node->child_count > 0,
		.is_on_heaviest = node->is_heaviest,
	};
	if (row->label == NULL)
		return -1;
	/* The number in "(3 more)" changes, and the row stays the same. */
	row->path = gg_hash_bytes(row->label, node->folded_count > 0 ? 1 : label.length,
	                          node->parent == 0 ? 1 : rows[node->parent - 1].path);
	row->path += row->path == 0;
	return 0;
}

int gg_top_tree_rows(struct gg_top_row **ret_rows, size_t *ret_count, const struct gg_model *model,
                     const struct gg_query *query, double confidence, struct gg_error *error)
{
	const struct gg_tree_options options = { .fold = GG_TOP_TREE_FOLD, .with_self = true };
	struct gg_top_row *rows;
	struct gg_tree *tree;
	size_t made = 0;
	int status = gg_tree_build(&tree, model, query, &options, error);

	if (status < 0)
		return status;
	rows = calloc(tree->count, sizeof(*rows));
	if (rows == NULL)
		status = gg_error_memory(error, "top");
	for (; status == 0 && made + 1 < tree->count; made++)
		if (make_row(rows, made, tree, model, confidence) < 0)
			status = gg_error_memory(error, "top");
	gg_tree_free(tree);
	if (status < 0) {
		for (size_t i = 0; i < made; i++)
			free(rows[i].label);
		free(rows);
		return status;
	}
	*ret_rows = rows;
	*ret_count = made;
	return 0;
}

/* --- the order ------------------------------------------------------------------------------ */

struct branch_order {
	const struct gg_top_row *rows;
	const bool *is_open;
	gg_top_row_compare *compare;
	void *context;
	size_t *callees; /* the rows, sorted by caller */
	size_t *begins;  /* by caller and 1: the first of its callees; one more at the end */
	size_t *order;
	size_t count;
};

static void list_callees(struct branch_order *run, size_t parent)
{
	size_t begin = run->begins[parent], end = run->begins[parent + 1];

	if (end > begin)
		qsort_r(run->callees + begin, end - begin, sizeof(*run->callees), run->compare,
		        run->context);
	for (size_t i = begin; i < end; i++) {
		size_t row = run->callees[i];

		run->order[run->count++] = row;
		if (run->is_open[row])
			list_callees(run, row + 1);
	}
}

/* Sorts the rows by caller: a counting sort in two passes. */
static void sort_by_caller(struct branch_order *run, size_t row_count, const bool *is_shown)
{
	for (size_t i = 0; i < row_count; i++)
		if (is_shown[i])
			run->begins[run->rows[i].parent + 1]++;
	for (size_t i = 0; i < row_count + 1; i++)
		run->begins[i + 1] += run->begins[i];
	for (size_t i = row_count; i-- > 0;)
		if (is_shown[i])
			run->callees[--run->begins[run->rows[i].parent + 1]] = i;
	memmove(run->begins, run->begins + 1, (row_count + 1) * sizeof(*run->begins));
}

size_t gg_top_tree_order(const struct gg_top_row *rows, size_t row_count, const bool *is_open,
                         const bool *is_shown, gg_top_row_compare *compare, void *context,
                         size_t *order)
{
	struct branch_order run = { .rows = rows,
		                    .is_open = is_open,
		                    .compare = compare,
		                    .context = context,
		                    .callees = calloc(row_count + 1, sizeof(*run.callees)),
		                    .begins = calloc(row_count + 3, sizeof(*run.begins)),
		                    .order = order };

	if (run.callees != NULL && run.begins != NULL) {
		size_t shown = 0;

		for (size_t i = 0; i < row_count; i++)
			shown += is_shown[i];
		sort_by_caller(&run, row_count, is_shown);
		run.begins[row_count + 1] = shown;
		list_callees(&run, 0);
	}
	free(run.callees);
	free(run.begins);
	return run.count;
}
