/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data - puts the parts together, and makes them coarser until they fit.
 *
 * The steps go from "everything" down.  First light nodes go (nobody sees them), then sizes are rounded
 * (nobody sees that either), then the times of light nodes, then everything a little.  A step that
 * would surely be too large is known by its cells before anything is written.
 */
#include <errno.h>
#include <stdlib.h>

#include "page/page_internal.h"

static const struct gg_page_detail details[] = {
	{ 400000, 0, 96, 0, 1000 }, /* as it is */
	{ 30000, 0, 96, 0, 500 },   { 30000, 8, 96, 0, 400 }, { 20000, 4, 96, 12, 400 },
	{ 12000, 2, 64, 8, 300 },   { 8000, 2, 64, 4, 300 },  { 5000, 1, 48, 4, 200 },
	{ 2000, 1, 32, 2, 100 },
};

/* What a cell takes when it is packed: less than this only in profiles of few kinds of samples. */
enum { LEAST_BITS_OF_CELL = 12 };

static void append_note(const struct gg_page_run *run, const struct gg_page_tree *tree,
                        struct gg_json *json)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_json_open(json, "notes", '[');
	if (tree->least_share > 0) {
		gg_buf_printf(
			&text,
			"Nodes below %.2g %% of everything are folded: %zu of %zu are here; those "
			"folded allocated %.3g %% of the bytes.",
			tree->least_share * 100, tree->node_count, tree->all_count,
			tree->folded_bytes * 100);
		gg_json_text(json, NULL, gg_buf_text(&text));
	}
	if (run->detail.size_steps > 0) {
		gg_buf_clear(&text);
		gg_buf_printf(&text, "Sizes are rounded: %u steps for each doubling.",
		              run->detail.size_steps);
		gg_json_text(json, NULL, gg_buf_text(&text));
	}
	if (run->detail.light_bins > 0) {
		gg_buf_clear(&text);
		gg_buf_printf(&text,
		              "Times of what allocated less than 0.1 %% itself are rounded to 1/%u "
		              "of the run.",
		              run->detail.light_bins);
		gg_json_text(json, NULL, gg_buf_text(&text));
	}
	gg_json_close(json);
}

static void write_folds(const struct gg_page_run *run, const struct gg_page_tree *tree,
                        struct gg_json *json)
{
	gg_json_open(json, "folds", '{');
	gg_json_integer(json, "nodes", tree->all_count);
	gg_json_integer(json, "kept", tree->node_count);
	gg_json_number(json, "least_share", tree->least_share);
	gg_json_number(json, "bytes_share", tree->folded_bytes);
	gg_json_number(json, "count_share", tree->folded_count);
	gg_json_integer(json, "classes", run->detail.size_steps);
	gg_json_integer(json, "bins", run->bins.count);
	gg_json_integer(json, "light_bins", run->detail.light_bins);
	append_note(run, tree, json);
	gg_json_close(json);
}

static void write_times(const struct gg_page_run *run, struct gg_json *json)
{
	gg_json_open(json, "times", '{');
	gg_json_open(json, "edges_ns", '[');
	for (uint32_t i = 0; i <= run->bins.count; i++)
		gg_json_number(json, NULL, (double)run->bins.edges[i]);
	gg_json_close(json);
	if (run->bins.peak_edge >= 0)
		gg_json_integer(json, "peak_edge", (uint64_t)run->bins.peak_edge);
	else
		gg_json_text(json, "peak_edge", NULL);
	gg_json_close(json);
}

/* All members at one detail; names are last, when everything has named what it shows. */
static int write_all(struct gg_page_run *run, size_t cell_limit, struct gg_buf *out)
{
	struct gg_json json = { .out = out };
	struct gg_page_tree tree = { 0 };
	int code;

	gg_page_choose_bins(run);
	if (gg_page_names_init(&run->names, run->model) < 0) {
		gg_page_names_done(&run->names);
		return gg_page_out_of_memory(run);
	}
	code = gg_page_tree_build(run, &tree);
	gg_json_open(&json, NULL, '{');
	gg_json_text(&json, "format", "geiger-page");
	gg_json_integer(&json, "version", 1);
	if (code == 0) {
		gg_page_tree_write(&tree, &json);
		write_times(run, &json);
		code = gg_page_cells_write(run, &tree, cell_limit, &json);
	}
	if (code == 0) {
		write_folds(run, &tree, &json);
		code = gg_page_meta_write(run, &json);
	}
	if (code == 0)
		code = gg_page_series_write(run, &json);
	if (code == 0)
		code = gg_page_lifetimes_write(run, &json);
	if (code == 0)
		code = gg_page_tables_write(run, &json);
	if (code == 0)
		code = gg_page_leaks_write(run, &json);
	if (code == 0)
		code = gg_page_diff_write(run, &json);
	if (code == 0)
		gg_page_names_write(&run->names, &json);
	gg_json_close(&json);
	if (code == 0 && (out->failed || run->names.failed))
		code = gg_page_out_of_memory(run);
	gg_page_tree_done(&tree);
	gg_page_names_done(&run->names);
	return code;
}

/* 0, or -E2BIG: the next detail may fit. */
static int try(struct gg_page_run *run, size_t most_bytes, struct gg_buf *json,
               struct gg_buf *packed)
{
	size_t cell_limit = most_bytes * 8 / LEAST_BITS_OF_CELL, before = packed->length;
	int code;

	gg_buf_clear(json);
	code = write_all(run, cell_limit, json);
	if (code == 0)
		code = gg_page_pack(json, packed, run->error);
	if (code == 0 && most_bytes > 0 && packed->length - before > most_bytes) {
		packed->length = before;
		code = -E2BIG;
	}
	return code;
}

int gg_page_data(const struct gg_model *model, const struct gg_model *before,
                 const struct gg_page_options *options, struct gg_buf *packed,
                 struct gg_error *error)
{
	struct gg_page_run run = {
		.model = model, .before = before, .options = options, .error = error
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf json = { 0 };
	int code = gg_page_collect(&run);

	if (code == 0)
		code = -E2BIG;
	for (size_t i = 0; code == -E2BIG && i < GG_COUNT(details); i++) {
		run.detail = details[i];
		code = try(&run, i + 1 < GG_COUNT(details) ? options->most_bytes : 0, &json,
		           packed);
	}
	free(run.picks);
	return code;
}

int gg_page_json(const struct gg_model *model, const struct gg_model *before,
                 const struct gg_page_options *options, struct gg_buf *json, struct gg_error *error)
{
	struct gg_page_run run = { .model = model,
		                   .before = before,
		                   .options = options,
		                   .detail = details[0],
		                   .error = error };
	int code = gg_page_collect(&run);

	if (code == 0)
		code = write_all(&run, 0, json);
	free(run.picks);
	return code;
}
