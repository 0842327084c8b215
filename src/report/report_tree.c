/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_tree - prints trees of callers and callees, as text and as JSON.
 *
 * The text does not indent an only child, because a path of forty frames without branches would be
 * wider than the screen.  Such a child has a number only if its memory differs from its parent's,
 * and a run of library frames with one number is one line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "report/report.h"
#include "report/screen_text.h"
#include "symbol/symbol.h"

struct drawing {
	const struct gg_report *report;
	const struct gg_tree *tree;
	struct gg_buf *out;
	struct gg_figure *figures; /* by node */
	struct gg_figure_column column;
	size_t figure_width; /* of the column */
	double whole;
	bool is_inverted;
	bool folds_runs;  /* draws runs of library frames as one line */
	uint8_t *level;   /* by node: its indentation */
	bool *is_last;    /* by node: no sibling follows */
	bool *more_below; /* by level: a line continues to a later sibling */
};

static double value_of(const struct drawing *drawing, const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, drawing->tree->query.unit).value;
}

/* True if the node was found by its samples; the root exists in any case. */
static struct gg_figure figure_of(const struct gg_report *report, const struct gg_tree *tree,
                                  size_t index, const struct gg_tally *tally)
{
	return gg_figure_of(tally, tree->query.unit, report->confidence, index != 0);
}

enum { MAX_LEVEL = 200 };

/* Computes levels and last children: a parent's last child is the last node that names it. */
static void lay_out(struct drawing *drawing)
{
	const struct gg_tree_node *nodes = drawing->tree->nodes;

	for (size_t i = drawing->tree->count;
	     i-- > 1;) /* `level` marks parents whose child was seen */
		if (drawing->level[nodes[i].parent] == 0) {
			drawing->level[nodes[i].parent] = 1;
			drawing->is_last[i] = true;
		}
	for (size_t i = 0; i < drawing->tree->count; i++) {
		const struct gg_tree_node *parent = &nodes[nodes[i].parent];
		unsigned level = i == 0 ? 0
		                        : drawing->level[nodes[i].parent] +
		                                  (parent->child_count > 1);

		drawing->level[i] = (uint8_t)(level < MAX_LEVEL ? level : MAX_LEVEL);
	}
}

/* True if the node is the only child of its parent, and has all of the parent's memory. */
static bool continues(const struct drawing *drawing, size_t index)
{
	const struct gg_tree_node *node = &drawing->tree->nodes[index];
	const struct gg_tree_node *parent = &drawing->tree->nodes[node->parent];

	return index > 0 && parent->child_count == 1 &&
	       node->total->sample_count == parent->total->sample_count &&
	       value_of(drawing, node->total) == value_of(drawing, parent->total);
}

enum { PERCENT_CELLS = 6, BLANKS = 4 }; /* two blanks on each side of a percentage */

static void append_figure(struct drawing *drawing, size_t index)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf percent = { 0 };
	const struct gg_figure *figure = &drawing->figures[index];

	if (continues(drawing, index)) {
		gg_buf_printf(drawing->out, "%*s",
		              (int)drawing->figure_width + PERCENT_CELLS + BLANKS, "");
		return;
	}
	gg_figure_column_append(&drawing->report->figures, &drawing->column, figure, drawing->out);
	gg_figure_append_percent(drawing->whole > 0 ? figure->estimate / drawing->whole : 0,
	                         &percent);
	gg_buf_append_text(drawing->out, "  ");
	gg_screen_text_append_right(drawing->out, gg_buf_text(&percent), PERCENT_CELLS);
	gg_buf_append_text(drawing->out, "  ");
}

/* Draws the lines of the tree down to this node, where a parent has several children. */
static void append_lines(struct drawing *drawing, size_t index)
{
	bool ascii = drawing->report->figures.ascii;
	const struct gg_tree_node *nodes = drawing->tree->nodes;
	uint8_t level = drawing->level[index];
	bool branches = index > 0 && nodes[nodes[index].parent].child_count > 1;

	for (uint8_t i = 1; i < level + !branches; i++)
		gg_buf_append_text(drawing->out, !drawing->more_below[i] ? "  "
		                                 : ascii                 ? "| "
		                                                         : "\xe2\x94\x82 ");
	if (!branches)
		return;
	drawing->more_below[level] = !drawing->is_last[index];
	if (drawing->is_last[index])
		gg_buf_append_text(drawing->out, ascii ? "`-" : "\xe2\x94\x94\xe2\x94\x80");
	else
		gg_buf_append_text(drawing->out, ascii ? "+-" : "\xe2\x94\x9c\xe2\x94\x80");
}

/* Appends what a node stands for: a function and its module, or one of the other kinds. */
static void append_label(const struct drawing *drawing, const struct gg_tree_node *node,
                         struct gg_buf *text)
{
	const struct gg_model *model = drawing->report->model;
	struct gg_model_function function = model->functions[node->function];
	const char *module = model->modules[function.module].name;

	if (node == drawing->tree->nodes) {
		gg_buf_append_text(text, "all");
	} else if (node->folded_count > 0) {
		gg_buf_printf(text, "(%" PRIu32 " more)", node->folded_count);
	} else if (node->is_self) {
		gg_buf_append_text(text, "(self)");
	} else {
		gg_buf_append_text(text, function.name);
		if (function.is_named && function.module != 0 && module[0] != '\0')
			gg_buf_printf(text, " (%s)", module);
	}
}

/* Draws a line for `run` nodes from `index` on. */
static void append_name(struct drawing *drawing, size_t index, size_t run)
{
	const struct gg_report *report = drawing->report;
	const struct gg_tree_node *node = &drawing->tree->nodes[index];
	size_t used = drawing->figure_width + PERCENT_CELLS + BLANKS +
	              2 * (size_t)drawing->level[index];
	size_t width = gg_report_room(report, used, 16);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (run > 1)
		gg_buf_printf(&text, "[%zu library frames]", run);
	else
		append_label(drawing, node, &text);
	gg_screen_text_append(drawing->out, gg_buf_text(&text), width, report->figures.ascii);
	if (run == 1)
		gg_report_append_via(report, gg_report_via_name(report->model, node->via),
		                     gg_screen_text_length(gg_buf_text(&text)), width,
		                     drawing->out);
	gg_buf_append_text(drawing->out, "\n");
}

static void measure(struct drawing *drawing)
{
	size_t count = drawing->tree->count;

	for (size_t i = 0; i < count; i++)
		drawing->figures[i] = figure_of(drawing->report, drawing->tree, i,
		                                drawing->tree->nodes[i].total);
	drawing->column = gg_figure_column_of(&drawing->report->figures, drawing->figures, count);
	drawing->figure_width = drawing->column.number_cells + drawing->column.error_cells;
}

/* True for frames between the functions that a reader knows: start code, libc, C++ and Rust. */
static bool is_library(const struct drawing *drawing, const struct gg_tree_node *node)
{
	static const char *const modules[] = { "libc.so",   "libc-",      "libstdc++.so",
		                               "libc++.so", "libpthread", "ld-linux",
		                               "libgcc_s" };
	const struct gg_model *model = drawing->report->model;
	const struct gg_model_function *function = &model->functions[node->function];
	const char *module = model->modules[function->module].name;

	if (node == drawing->tree->nodes || node->folded_count > 0 || node->is_self)
		return false;
	if (function->is_named && (gg_symbol_is_start_code(function->short_name) ||
	                           gg_symbol_is_wrapper(function->short_name)))
		return true;
	for (size_t i = 0; i < GG_COUNT(modules); i++)
		if (strncmp(module, modules[i], strlen(modules[i])) == 0)
			return true;
	return false;
}

/*
 * The number of nodes from `index` on that are drawn as one line: library frames, each the only
 * child of the one before it and with its memory.  The function that allocates always has a line.
 */
static size_t run_from(const struct drawing *drawing, size_t index)
{
	const struct gg_tree_node *nodes = drawing->tree->nodes;
	size_t count = 0;

	if (!drawing->folds_runs || (drawing->is_inverted && nodes[index].depth <= 1))
		return 1;
	while (index + count < drawing->tree->count &&
	       (count == 0 || continues(drawing, index + count)) &&
	       is_library(drawing, &nodes[index + count]))
		count++;
	if (count > 0 && !drawing->is_inverted && nodes[index + count - 1].child_count == 0)
		count--;
	return count > 1 ? count : 1;
}

static void draw(struct drawing *drawing)
{
	size_t run;

	drawing->whole = value_of(drawing, drawing->tree->nodes[0].total);
	lay_out(drawing);
	measure(drawing);
	for (size_t i = 0; i < drawing->tree->count; i += run) {
		run = run_from(drawing, i);
		append_figure(drawing, i);
		append_lines(drawing, i);
		append_name(drawing, i, run);
	}
}

void gg_report_tree_text(const struct gg_report *report, const struct gg_tree *tree,
                         const struct gg_tree_options *options, struct gg_buf *out)
{
	struct drawing drawing = { .report = report,
		                   .tree = tree,
		                   .out = out,
		                   .is_inverted = options->inverted,
		                   .folds_runs = !report->all_frames };

	gg_report_append_head(report, out);
	if (gg_model_is_unprofiled(report->model)) {
		gg_report_append_notes(report, out);
		return;
	}
	gg_report_append_title(report, &tree->query, tree->moment_ns, tree->nodes[0].total,
	                       &tree->pinned, "by paths of calls", out);
	drawing.figures = calloc(tree->count, sizeof(*drawing.figures));
	drawing.level = calloc(tree->count, sizeof(*drawing.level));
	drawing.is_last = calloc(tree->count, sizeof(*drawing.is_last));
	drawing.more_below = calloc(MAX_LEVEL + 2, sizeof(*drawing.more_below));
	if (drawing.figures != NULL && drawing.level != NULL && drawing.is_last != NULL &&
	    drawing.more_below != NULL)
		draw(&drawing);
	else
		out->failed = true;
	free(drawing.figures);
	free(drawing.level);
	free(drawing.is_last);
	free(drawing.more_below);
	gg_buf_append_text(out, report->head == GG_HEAD_NONE ? "" : "\n");
	if (tree->query.metric == GG_METRIC_PINNED)
		gg_report_append_pinned(report, &tree->pinned, out);
	else
		gg_report_append_unseen(report, tree->nodes[0].total, out);
	gg_report_append_inexact(report, &tree->unplaced, out);
	gg_report_append_notes(report, out);
}

static void add_node(const struct gg_report *report, const struct gg_tree *tree, size_t index,
                     struct gg_json *json)
{
	const struct gg_tree_node *node = &tree->nodes[index];
	struct gg_model_function function = report->model->functions[node->function];
	bool has_name = index > 0 && node->folded_count == 0;
	struct gg_figure self = figure_of(report, tree, index, node->self);
	struct gg_figure total = figure_of(report, tree, index, node->total);

	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "id", index);
	if (index > 0)
		gg_json_integer(json, "parent", node->parent);
	else
		gg_json_text(json, "parent", NULL);
	gg_json_integer(json, "depth", node->depth);
	gg_json_text(json, "function", has_name ? function.name : NULL);
	gg_json_text(json, "module",
	             has_name ? report->model->modules[function.module].path : NULL);
	gg_json_text(json, "full_name", has_name ? function.full_name : NULL);
	if (node->via != 0)
		gg_json_text(json, "via", report->model->functions[node->via].name);
	gg_json_integer(json, "folded", node->folded_count);
	gg_json_bool(json, "heaviest", node->is_heaviest);
	gg_json_integer(json, "samples", node->total->sample_count);
	gg_report_json_figure(json, "self", &self);
	gg_report_json_figure(json, "total", &total);
	gg_json_close(json);
}

void gg_report_tree_json(const struct gg_report *report, const struct gg_tree *tree,
                         const struct gg_tree_options *options, struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_report_json_head(report, &json);
	gg_report_json_query(report, &tree->query, tree->moment_ns, tree->nodes[0].total,
	                     &tree->unplaced, &json);
	if (tree->query.metric == GG_METRIC_PINNED)
		gg_report_json_pinned(&json, &tree->pinned);
	gg_json_bool(&json, "inverted", options->inverted);
	gg_json_number(&json, "fold", options->fold);
	gg_json_open(&json, "nodes", '[');
	for (size_t i = 0; i < tree->count; i++)
		add_node(report, tree, i, &json);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
