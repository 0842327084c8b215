/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_svg - a flame graph as a static picture without scripts, for a report or a ticket.
 *
 * A box is a function on one path of calls, and its width is its share of the bytes.  Callers are
 * below, and the heaviest callee is on the left.  The tooltip of a box shows its estimate with the
 * confidence interval.  Boxes narrower than half a pixel merge into one box without a name.
 *
 * The color depends on the module's name, so a module has the same color in all pictures.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "base/utf8.h"
#include "format/export/export.h"
#include "query/tree.h"

enum {
	PICTURE_WIDTH = 1200,
	MARGIN = 10,
	HEAD = 50,
	ROW = 17,
	LETTER_TENTHS = 72,
	LEVELS_MAX = 400
};

/*
 * Writes at most `most` characters as XML text; '?' replaces invalid UTF-8 and control characters.
 */
static void put_text(struct gg_buf *out, const char *text, size_t most)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t count = 0; *p != '\0' && count < most; count++) {
		size_t length = gg_utf8_length(p);

		if (*p == '<')
			gg_buf_append_text(out, "&lt;");
		else if (*p == '>')
			gg_buf_append_text(out, "&gt;");
		else if (*p == '&')
			gg_buf_append_text(out, "&amp;");
		else if (*p == '"')
			gg_buf_append_text(out, "&quot;");
		else if (*p < ' ' || *p == 0x7f || length == 0)
			gg_buf_append_text(out, "?");
		else
			gg_buf_append(out, p, length);
		p += length > 0 ? length : 1;
	}
}

static void put_size(struct gg_buf *out, double bytes)
{
	char text[GG_SIZE_TEXT_MAX];

	gg_buf_append_text(out, isfinite(bytes) ? gg_size_format(bytes, text) : "no bound");
}

struct flame_graph {
	const struct gg_export *job;
	const struct gg_tree *tree;
	double *left, *used; /* by node, in bytes: its left edge, and the width its callees used */
	double all;
	uint32_t depth; /* levels that are drawn */
};

static double bytes_of(const struct gg_tally *tally)
{
	return gg_tally_estimate(tally, GG_BYTES).value;
}

static void put_name(const struct flame_graph *graph, const struct gg_tree_node *node,
                     struct gg_buf *out, size_t most)
{
	char folded[64];

	if (node->depth == 0) {
		put_text(out, "all", most);
	} else if (node->folded_count > 0) {
		snprintf(folded, sizeof(folded), "%u small ones", node->folded_count);
		put_text(out, folded, most);
	} else {
		put_text(out, graph->job->extract->model->functions[node->function].name, most);
	}
}

static struct gg_interval interval_of(const struct flame_graph *graph,
                                      const struct gg_tree_node *node)
{
	const struct gg_extract *extract = graph->job->extract;
	struct gg_tally tally = *node->total;

	gg_extract_expose(extract, extract->metric == GG_METRIC_PINNED, &tally);
	return gg_interval_of(&tally, GG_BYTES, extract->confidence, node->depth > 0);
}

/* Like tables, the picture prints no estimate above its upper bound. */
static double shown_bytes(const struct flame_graph *graph, const struct gg_tree_node *node)
{
	return fmin(bytes_of(node->total), interval_of(graph, node).high);
}

/* Writes text such as "95 %: 1.0 MiB to 1.4 MiB". */
static void put_interval(const struct flame_graph *graph, const struct gg_tree_node *node)
{
	const struct gg_extract *extract = graph->job->extract;
	struct gg_buf *out = graph->job->out;
	struct gg_interval interval = interval_of(graph, node);

	gg_buf_printf(out, "%g %%: ", 100 * extract->confidence);
	put_size(out, interval.low);
	gg_buf_append_text(out, " to ");
	put_size(out, interval.high);
}

/* Writes text such as "parse: 1.2 MiB, 12.3 % (1234567 bytes), 95 %: 1.0 MiB to 1.4 MiB". */
static void put_title(const struct flame_graph *graph, const struct gg_tree_node *node)
{
	struct gg_buf *out = graph->job->out;
	double bytes = shown_bytes(graph, node), share = bytes_of(node->total) / graph->all;

	gg_buf_append_text(out, "<title>");
	put_name(graph, node, out, SIZE_MAX);
	gg_buf_append_text(out, ": ");
	put_size(out, bytes);
	gg_buf_printf(out, ", %.1f %% (%.0f bytes), ", 100 * share, bytes);
	put_interval(graph, node);
	gg_buf_append_text(out, "</title>");
}

static void put_color(const struct flame_graph *graph, const struct gg_tree_node *node)
{
	const struct gg_model *model = graph->job->extract->model;
	struct gg_model_function function = model->functions[node->function];
	const char *module = model->modules[function.module].name;
	uint64_t of_module = gg_hash_bytes(module, strlen(module), 1);
	uint64_t of_name = gg_hash_bytes(function.name, strlen(function.name), 1);

	if (node->depth == 0 || node->folded_count > 0)
		gg_buf_append_text(graph->job->out, "#ddd");
	else
		gg_buf_printf(graph->job->out, "hsl(%u,65%%,%u%%)", (unsigned)(of_module % 360),
		              66 + (unsigned)(of_name % 12));
}

static void put_box(const struct flame_graph *graph, size_t number)
{
	const struct gg_tree_node *node = &graph->tree->nodes[number];
	struct gg_buf *out = graph->job->out;
	double scale = (PICTURE_WIDTH - 2 * MARGIN) / graph->all;
	double x = MARGIN + graph->left[number] * scale, width = bytes_of(node->total) * scale;
	unsigned y = HEAD + (graph->depth - node->depth) * ROW;
	size_t letters = (size_t)fmax(0, (width - 6) * 10 / LETTER_TENTHS);

	if (node->depth > graph->depth)
		return;
	gg_buf_append_text(out, "<g>");
	put_title(graph, node);
	gg_buf_printf(out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
	              width, ROW - 1);
	put_color(graph, node);
	gg_buf_append_text(out, "\"/>");
	if (letters >= 3) {
		gg_buf_printf(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + ROW - 5);
		put_name(graph, node, out, letters);
		gg_buf_append_text(out, "</text>");
	}
	gg_buf_append_text(out, "</g>\n");
}

static void put_head(const struct flame_graph *graph)
{
	const struct gg_extract *extract = graph->job->extract;
	struct gg_buf *out = graph->job->out;
	unsigned height = HEAD + (graph->depth + 1) * ROW + MARGIN;

	gg_buf_printf(out,
	              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
	              "viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"12\">\n"
	              "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	              "<text x=\"%d\" y=\"22\" font-size=\"16\">",
	              PICTURE_WIDTH, height, PICTURE_WIDTH, height, MARGIN);
	put_text(out,
	         extract->model->session_count > 0 && extract->model->sessions[0].command != NULL
	                 ? extract->model->sessions[0].command
	                 : "geiger",
	         120);
	gg_buf_printf(out, "</text>\n<text x=\"%d\" y=\"40\">%s: ", MARGIN,
	              gg_metric_name(extract->metric));
	put_size(out, shown_bytes(graph, &graph->tree->nodes[0]));
	gg_buf_append_text(out, ", ");
	put_interval(graph, &graph->tree->nodes[0]);
	gg_buf_append_text(out, "</text>\n");
}

static int draw(struct flame_graph *graph)
{
	const struct gg_tree *tree = graph->tree;

	graph->left = calloc(tree->count, sizeof(*graph->left));
	graph->used = calloc(tree->count, sizeof(*graph->used));
	if (graph->left == NULL || graph->used == NULL)
		return gg_export_out_of_memory(graph->job);
	for (size_t i = 0; i < tree->count; i++) {
		const struct gg_tree_node *node = &tree->nodes[i];

		if (i > 0) { /* parents precede their children */
			graph->left[i] = graph->left[node->parent] + graph->used[node->parent];
			graph->used[node->parent] += bytes_of(node->total);
		}
		if (node->depth > graph->depth && node->depth <= LEVELS_MAX)
			graph->depth = node->depth;
	}
	graph->all = bytes_of(tree->nodes[0].total);
	put_head(graph);
	for (size_t i = 0; i < tree->count && graph->all > 0; i++)
		put_box(graph, i);
	gg_buf_append_text(graph->job->out, "</svg>\n");
	return 0;
}

static int write_svg(const struct gg_export *job)
{
	const struct gg_tree_options how = { .fold = 0.5 / PICTURE_WIDTH };
	struct gg_query query = job->extract->query;
	struct flame_graph graph = { .job = job };
	struct gg_tree *tree;
	int status;

	query.unit = GG_BYTES;
	status = gg_tree_build(&tree, job->extract->model, &query, &how, job->error);
	if (status < 0)
		return status;
	graph.tree = tree;
	status = draw(&graph);
	free(graph.left);
	free(graph.used);
	gg_tree_free(tree);
	return status;
}

const struct gg_export_format gg_export_svg = {
	.name = "svg",
	.suffix = ".svg",
	.write = write_svg,
};
