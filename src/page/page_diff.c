/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_diff - two profiles side by side: functions like `geiger diff`, and one tree of both.
 *
 * Two nodes match if the functions on their paths have equal names.  Each tree folds its own light
 * nodes, so a node may have no counterpart if it was light there.  The error is small, because
 * folded nodes are.
 */
#include "page/page_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_names.h"
#include "page/page_run.h"
#include "page/page_series.h"
#include "query/diff.h"
#include "query/discovery.h"
#include "query/query.h"
#include "query/tree.h"
#include "report/figure.h"

static const double false_discovery_rate = 0.05, fold = 0.002;

enum { DIFF_DIGITS = 7 };

#define NO_NODE UINT32_MAX

/* --- rows ---------------------------------------------------------------------------------- */

struct diff_row {
	uint32_t name, frame, samples_before, samples_after, significant;
	double before, before_low, before_high, after, after_low, after_high;
	double difference, difference_low, difference_high, p_value, q_value;
};

static void write_triple(struct gg_json *json, const char *name, double estimate, double low,
                         double high)
{
	gg_json_open(json, name, '{');
	gg_json_number(json, "estimate", estimate);
	gg_json_number(json, "low", low);
	gg_json_number(json, "high", high);
	gg_json_close(json);
}

static struct diff_row row_of(const struct gg_page_run *run, const struct gg_diff *diff,
                              const struct gg_diff_row *row)
{
	double confidence = run->options->confidence;
	struct gg_figure before = gg_figure_of(&row->before, diff->unit, confidence, true);
	struct gg_figure after = gg_figure_of(&row->after, diff->unit, confidence, true);

	return (struct diff_row){
		.samples_before = (uint32_t)row->before.sample_count,
		.samples_after = (uint32_t)row->after.sample_count,
		.significant = row->is_significant,
		.before = before.estimate,
		.before_low = before.low,
		.before_high = before.high,
		.after = after.estimate,
		.after_low = after.low,
		.after_high = after.high,
		.difference = row->difference.value,
		.difference_low = row->difference.low,
		.difference_high = row->difference.high,
		.p_value = row->difference.p_value,
		.q_value = row->q_value,
	};
}

static void write_total(const struct gg_page_run *run, const struct gg_diff *diff,
                        struct gg_json *json)
{
	const struct gg_diff_row *total = &diff->total;
	double confidence = run->options->confidence;
	struct gg_figure before = gg_figure_of(&total->before, diff->unit, confidence, false);
	struct gg_figure after = gg_figure_of(&total->after, diff->unit, confidence, false);

	gg_json_open(json, "total", '{');
	write_triple(json, "before", before.estimate, before.low, before.high);
	write_triple(json, "after", after.estimate, after.low, after.high);
	write_triple(json, "difference", total->difference.value, total->difference.low,
	             total->difference.high);
	gg_json_number(json, "p_value", total->difference.p_value);
	gg_json_bool(json, "significant", total->is_significant);
	gg_json_close(json);
}

/* Maps the frames of the rows of `after` by their labels. */
static int map_labels(struct gg_page_run *run, const struct gg_query_result *after,
                      struct gg_map *map)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	for (size_t i = 0; i < after->row_count; i++) {
		gg_buf_clear(&label);
		gg_query_row_label(run->model, after, &after->rows[i], &label);
		if (gg_map_put(map, gg_page_string(&run->names, gg_buf_text(&label)),
		               gg_page_frame_of(&run->names, after->rows[i].key)) < 0)
			return gg_page_out_of_memory(run);
	}
	return 0;
}

static int write_rows(struct gg_page_run *run, const struct gg_diff *diff,
                      const struct gg_query_result *after, struct gg_json *json)
{
	size_t count = diff->row_count < run->rows ? diff->row_count : run->rows;
	struct diff_row *rows = calloc(count + 1, sizeof(*rows));
	struct gg_map frames = { 0 };
	int status = rows == NULL ? gg_page_out_of_memory(run) : map_labels(run, after, &frames);

	for (size_t i = 0; status == 0 && i < count; i++) {
		uint64_t frame;

		rows[i] = row_of(run, diff, &diff->rows[i]);
		rows[i].name = gg_page_string(&run->names, diff->rows[i].label);
		frame = gg_map_get(&frames, rows[i].name);
		rows[i].frame = frame == GG_MAP_NONE ? 0 : (uint32_t)frame;
	}
	if (status == 0) {
		gg_json_open(json, "rows", '{');
		GG_PAGE_INTEGERS(json, "name", rows, count, name);
		GG_PAGE_INTEGERS(json, "frame", rows, count, frame);
		GG_PAGE_INTEGERS(json, "samples_before", rows, count, samples_before);
		GG_PAGE_INTEGERS(json, "samples_after", rows, count, samples_after);
		GG_PAGE_DOUBLES(json, "before", rows, count, before, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "before_low", rows, count, before_low, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "before_high", rows, count, before_high, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "after", rows, count, after, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "after_low", rows, count, after_low, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "after_high", rows, count, after_high, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "difference", rows, count, difference, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "difference_low", rows, count, difference_low, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "difference_high", rows, count, difference_high, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "p_value", rows, count, p_value, DIFF_DIGITS);
		GG_PAGE_DOUBLES(json, "q_value", rows, count, q_value, DIFF_DIGITS);
		GG_PAGE_INTEGERS(json, "significant", rows, count, significant);
		gg_json_close(json);
	}
	gg_map_done(&frames);
	free(rows);
	return status;
}

/* --- the tree of both ---------------------------------------------------------------------- */

/* A tree, the frames of its nodes, and where each subtree ends. */
struct diff_tree_side {
	struct gg_tree *tree;
	uint32_t *frames, *ends;
};

struct both_node {
	uint32_t depth, frame, folded, samples_before, samples_after, significant;
	double before, after, difference_low, difference_high;
	double q_value; /* the p-value until judge() */
};

struct both {
	struct gg_page_run *run;
	enum gg_quantity unit;
	struct diff_tree_side before, after;
	struct both_node *nodes;
	size_t count;
};

static int open_side(struct both *both, struct diff_tree_side *side, const struct gg_model *model,
                     const struct gg_query *query)
{
	struct gg_page_run *run = both->run;
	struct gg_tree *tree;
	int status = gg_tree_build(&side->tree, model, query,
	                           &(struct gg_tree_options){ .fold = fold }, run->error);

	if (status < 0)
		return status;
	tree = side->tree;
	side->frames = calloc(tree->count, sizeof(uint32_t));
	side->ends = calloc(tree->count, sizeof(uint32_t));
	if (side->frames == NULL || side->ends == NULL)
		return gg_page_out_of_memory(run);
	for (size_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].folded_count == 0)
			side->frames[i] = model == run->model
			                          ? gg_page_frame_of(&run->names,
			                                             tree->nodes[i].function)
			                          : gg_page_frame_like(&run->names, model,
			                                               tree->nodes[i].function);
	for (size_t i = tree->count; i-- > 0;) {
		uint32_t parent = tree->nodes[i].parent;

		if (side->ends[i] == 0)
			side->ends[i] = (uint32_t)i + 1;
		if (side->ends[parent] < side->ends[i])
			side->ends[parent] = side->ends[i];
	}
	return 0;
}

static void close_side(struct diff_tree_side *side)
{
	gg_tree_free(side->tree);
	free(side->frames);
	free(side->ends);
}

/* A node that one side lacks may have blocks there that no sample shows, or that were dropped. */
static void expose(struct gg_tally *side, const struct gg_tally *total)
{
	gg_tally_expose_like(side, total);
	side->incomplete = total->incomplete;
}

/*
 * This function is kept out of line, so that its tallies do not use stack at each depth of the
 * walk.
 */
static GG_APART void add_both(struct both *both, uint32_t before, uint32_t after, uint32_t depth)
{
	const struct gg_tree_node *a = before == NO_NODE ? NULL : &both->before.tree->nodes[before];
	const struct gg_tree_node *b = after == NO_NODE ? NULL : &both->after.tree->nodes[after];
	struct gg_tally of_a = { 0 }, of_b = { 0 };
	struct both_node *node = &both->nodes[both->count++];
	struct gg_difference difference;
	double scale = both->run->options->scale;

	expose(&of_a, both->before.tree->nodes[0].total);
	expose(&of_b, both->after.tree->nodes[0].total);
	of_a = a != NULL ? *a->total : of_a;
	of_b = b != NULL ? *b->total : of_b;
	difference = gg_difference_of(&of_a, &of_b, both->unit, scale > 0 ? scale : 1,
	                              both->run->options->confidence);
	*node = (struct both_node){
		.depth = depth,
		.frame = b != NULL ? both->after.frames[after] : both->before.frames[before],
		.folded = (a != NULL ? a->folded_count : 0) > (b != NULL ? b->folded_count : 0)
		                  ? a->folded_count
		                  : (b != NULL ? b->folded_count : 0),
		.samples_before = (uint32_t)of_a.sample_count,
		.samples_after = (uint32_t)of_b.sample_count,
		.before = gg_tally_estimate(&of_a, both->unit).value,
		.after = gg_tally_estimate(&of_b, both->unit).value,
		.difference_low = difference.low,
		.difference_high = difference.high,
		.q_value = difference.p_value,
	};
}

/*
 * Returns the child of `parent` with the same frame on the other side, if the walk did not visit it
 * yet.
 */
static uint32_t twin_of(const struct diff_tree_side *side, uint32_t parent, uint32_t frame)
{
	if (parent == NO_NODE)
		return NO_NODE;
	for (uint32_t i = parent + 1; i < side->ends[parent]; i = side->ends[i])
		if (side->frames[i] == frame)
			return i;
	return NO_NODE;
}

/* The recursion is no deeper than the limit of stacks (GG_TREE_MAX_DEPTH). */
static void walk_both(struct both *both, uint32_t before, uint32_t after, uint32_t depth)
{
	const struct diff_tree_side *a = &both->before, *b = &both->after;

	add_both(both, before, after, depth);
	if (after != NO_NODE)
		for (uint32_t i = after + 1; i < b->ends[after]; i = b->ends[i])
			walk_both(both, twin_of(a, before, b->frames[i]), i, depth + 1);
	if (before != NO_NODE)
		for (uint32_t i = before + 1; i < a->ends[before]; i = a->ends[i])
			if (twin_of(b, after, a->frames[i]) == NO_NODE)
				walk_both(both, i, NO_NODE, depth + 1);
}

static int judge(struct both *both)
{
	if (both->count == 0)
		return 0;
	if (gg_discovery_run(&both->nodes[0].q_value, sizeof(both->nodes[0]), both->count) < 0)
		return gg_page_out_of_memory(both->run);
	for (size_t i = 0; i < both->count; i++)
		both->nodes[i].significant = both->nodes[i].q_value <= false_discovery_rate;
	return 0;
}

static void write_both(const struct both *both, struct gg_json *json)
{
	const struct both_node *nodes = both->nodes;
	size_t count = both->count;

	gg_json_open(json, "tree", '{');
	GG_PAGE_INTEGERS(json, "depth", nodes, count, depth);
	GG_PAGE_INTEGERS(json, "frame", nodes, count, frame);
	GG_PAGE_INTEGERS(json, "folded", nodes, count, folded);
	GG_PAGE_INTEGERS(json, "samples_before", nodes, count, samples_before);
	GG_PAGE_INTEGERS(json, "samples_after", nodes, count, samples_after);
	GG_PAGE_DOUBLES(json, "before", nodes, count, before, DIFF_DIGITS);
	GG_PAGE_DOUBLES(json, "after", nodes, count, after, DIFF_DIGITS);
	GG_PAGE_DOUBLES(json, "difference_low", nodes, count, difference_low, DIFF_DIGITS);
	GG_PAGE_DOUBLES(json, "difference_high", nodes, count, difference_high, DIFF_DIGITS);
	GG_PAGE_INTEGERS(json, "significant", nodes, count, significant);
	gg_json_close(json);
}

static int write_tree(struct gg_page_run *run, const struct gg_query *query, struct gg_json *json)
{
	struct both both = { .run = run, .unit = query->unit };
	int status = open_side(&both, &both.before, run->before, query);

	if (status == 0)
		status = open_side(&both, &both.after, run->model, query);
	if (status == 0) {
		both.nodes = calloc(both.before.tree->count + both.after.tree->count,
		                    sizeof(*both.nodes));
		status = both.nodes == NULL ? gg_page_out_of_memory(run) : 0;
	}
	if (status == 0) {
		walk_both(&both, 0, 0, 0);
		status = judge(&both);
	}
	if (status == 0)
		write_both(&both, json);
	close_side(&both.before);
	close_side(&both.after);
	free(both.nodes);
	return status;
}

/* --- the whole ----------------------------------------------------------------------------- */

static int write_unit(struct gg_page_run *run, enum gg_metric metric, enum gg_quantity unit,
                      struct gg_json *json)
{
	struct gg_query_result *before = NULL, *after = NULL;
	struct gg_diff *diff = NULL;
	struct gg_query query;
	double scale = run->options->scale;
	int status;

	gg_query_init(&query);
	query.metric = metric;
	query.unit = unit;
	status = gg_diff_query_both(run->before, run->model, &query, &before, &after, run->error);
	if (status == 0)
		status = gg_diff_run(run->before, before, run->model, after,
		                     &(struct gg_diff_query){
					     .scale = scale > 0 ? scale : 1,
					     .confidence = run->options->confidence,
					     .false_discovery_rate = false_discovery_rate,
				     },
		                     &diff, run->error);
	if (status == 0) {
		gg_json_open(json, unit == GG_BYTES ? "bytes" : "count", '{');
		write_total(run, diff, json);
		gg_json_integer(json, "row_count", diff->row_count);
		gg_json_integer(json, "significant_count", diff->significant_count);
		gg_json_integer(json, "grown_count", diff->grown_count);
		status = write_rows(run, diff, after, json);
		if (status == 0)
			status = write_tree(run, &query, json);
		gg_json_close(json);
	}
	gg_diff_free(diff);
	gg_query_result_free(before);
	gg_query_result_free(after);
	return status;
}

static void write_side(const struct gg_model *model, const char *name, const char *title,
                       struct gg_json *json)
{
	gg_json_open(json, name, '{');
	gg_json_text(json, "title", title);
	gg_json_text(json, "command", model->sessions[0].command);
	gg_json_integer(json, "samples", model->sample_total);
	gg_json_bool(json, "is_exact", gg_model_is_exact(model));
	gg_json_number(json, "interval_bytes", gg_model_interval(model, 0));
	gg_json_number(json, "duration_ns", (double)model->end_ns);
	gg_json_open(json, "notes", '[');
	for (size_t i = 0; i < model->note_count; i++)
		gg_json_text(json, NULL, model->notes[i]);
	gg_json_close(json);
	gg_json_close(json);
}

/* The columns of `geiger diff`. */
static const enum gg_metric metrics[] = {
	GG_METRIC_LIVE,      GG_METRIC_ALLOCATED, GG_METRIC_PEAK,
	GG_METRIC_TEMPORARY, GG_METRIC_FREED,     GG_METRIC_LEFT,
};

int gg_page_diff_write(struct gg_page_run *run, struct gg_json *json)
{
	const struct gg_page_options *options = run->options;
	bool was_given_back, is_given_back;
	int status;

	if (run->before == NULL) {
		gg_json_text(json, "diff", NULL);
		return 0;
	}
	status = gg_query_is_given_back(run->before, 0, &was_given_back, run->error);
	if (status == 0)
		status = gg_query_is_given_back(run->model, 0, &is_given_back, run->error);
	if (status < 0)
		return status;
	gg_json_open(json, "diff", '{');
	gg_json_text(json, "opening_metric", was_given_back && is_given_back ? "peak" : "live");
	write_side(run->before, "before", options->before_title, json);
	write_side(run->model, "after", options->title, json);
	gg_json_number(json, "scale", options->scale > 0 ? options->scale : 1);
	gg_json_text(json, "normalized_by", options->normalized_by);
	gg_json_number(json, "false_discovery_rate", false_discovery_rate);
	status = gg_page_series_write_before(run, json);
	for (size_t m = 0; m < GG_COUNT(metrics) && status == 0; m++) {
		gg_json_open(json, gg_metric_name(metrics[m]), '{');
		status = write_unit(run, metrics[m], GG_BYTES, json);
		if (status == 0)
			status = write_unit(run, metrics[m], GG_ALLOCATIONS, json);
		gg_json_close(json);
	}
	gg_json_close(json);
	return status;
}
