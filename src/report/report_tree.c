/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_tree - prints trees of callers and callees, as text and as JSON.
 *
 * The text does not indent an only child, because a path of forty frames without branches would be
 * wider than the screen.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/report.h"
#include "report/screen_text.h"

struct drawing {
	const struct gg_report *report;
	const struct gg_tree *tree;
	struct gg_buf *out;
	size_t figure_width;
	double whole;
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

static void append_figure(struct drawing *drawing, size_t index, const struct gg_tally *tally)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = figure_of(drawing->report, drawing->tree, index, tally);
	double share = drawing->whole > 0 ? 100 * figure.estimate / drawing->whole : 0;

	gg_figure_append(&drawing->report->figures, &figure, &text);
	gg_screen_text_append_right(drawing->out, gg_buf_text(&text), drawing->figure_width);
	gg_buf_printf(drawing->out, share < 9.95 ? "  %4.1f %%  " : "  %4.0f %%  ", share);
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

static void append_name(struct drawing *drawing, size_t index)
{
	const struct gg_report *report = drawing->report;
	const struct gg_tree_node *node = &drawing->tree->nodes[index];
	size_t used = drawing->figure_width + 10 + 2 * (size_t)drawing->level[index];
	size_t width = gg_report_room(report, used, 16);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (index == 0) {
		gg_buf_append_text(&text, "all");
	} else if (node->folded_count > 0) {
		gg_buf_printf(&text, "(%" PRIu32 " more)", node->folded_count);
	} else if (node->is_self) {
		gg_buf_append_text(&text, "(self)");
	} else {
		struct gg_model_function function = report->model->functions[node->function];

		const char *module = report->model->modules[function.module].name;

		gg_buf_append_text(&text, function.name);
		if (function.is_named && function.module != 0 && module[0] != '\0')
			gg_buf_printf(&text, " (%s)", module);
	}
	gg_screen_text_append(drawing->out, gg_buf_text(&text), width, report->figures.ascii);
	gg_report_append_via(report, gg_report_via_name(report->model, node->via),
	                     gg_screen_text_length(gg_buf_text(&text)), width, drawing->out);
	gg_buf_append_text(drawing->out, "\n");
}

static void measure(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->tree->count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		struct gg_figure figure = figure_of(drawing->report, drawing->tree, i,
		                                    &drawing->tree->nodes[i].total);
		size_t width;

		gg_figure_append(&drawing->report->figures, &figure, &text);
		width = gg_screen_text_length(gg_buf_text(&text));
		if (width > drawing->figure_width)
			drawing->figure_width = width;
	}
}

static void draw(struct drawing *drawing)
{
	drawing->whole = value_of(drawing, &drawing->tree->nodes[0].total);
	lay_out(drawing);
	measure(drawing);
	for (size_t i = 0; i < drawing->tree->count; i++) {
		append_figure(drawing, i, &drawing->tree->nodes[i].total);
		append_lines(drawing, i);
		append_name(drawing, i);
	}
}

void gg_report_tree_text(const struct gg_report *report, const struct gg_tree *tree,
                         struct gg_buf *out)
{
	struct drawing drawing = { .report = report, .tree = tree, .out = out };

	gg_report_append_head(report, out);
	if (gg_model_is_unprofiled(report->model)) {
		gg_report_append_notes(report, out);
		return;
	}
	gg_report_append_title(report, &tree->query, tree->moment_ns, &tree->nodes[0].total,
	                       "by paths of calls", out);
	drawing.level = calloc(tree->count, sizeof(*drawing.level));
	drawing.is_last = calloc(tree->count, sizeof(*drawing.is_last));
	drawing.more_below = calloc(MAX_LEVEL + 2, sizeof(*drawing.more_below));
	if (drawing.level != NULL && drawing.is_last != NULL && drawing.more_below != NULL)
		draw(&drawing);
	else
		out->failed = true;
	free(drawing.level);
	free(drawing.is_last);
	free(drawing.more_below);
	gg_buf_append_text(out, report->head == GG_HEAD_NONE ? "" : "\n");
	gg_report_append_unseen(report, &tree->nodes[0].total, out);
	gg_report_append_inexact(report, &tree->unplaced, out);
	gg_report_append_notes(report, out);
}

static void add_node(const struct gg_report *report, const struct gg_tree *tree, size_t index,
                     struct gg_json *json)
{
	const struct gg_tree_node *node = &tree->nodes[index];
	struct gg_model_function function = report->model->functions[node->function];
	bool has_name = index > 0 && node->folded_count == 0;
	struct gg_figure self = figure_of(report, tree, index, &node->self);
	struct gg_figure total = figure_of(report, tree, index, &node->total);

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
	gg_json_integer(json, "samples", node->total.sample_count);
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
	gg_report_json_query(report, &tree->query, tree->moment_ns, &tree->nodes[0].total,
	                     &tree->unplaced, &json);
	gg_json_bool(&json, "inverted", options->inverted);
	gg_json_number(&json, "fold", options->fold);
	gg_json_open(&json, "nodes", '[');
	for (size_t i = 0; i < tree->count; i++)
		add_node(report, tree, i, &json);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
