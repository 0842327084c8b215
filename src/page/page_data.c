/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data - puts the members of the page's data together, and makes them coarser until they fit.
 *
 * The steps begin with full detail.  Light nodes go first, because they are too small to see.  Then
 * sizes are rounded, which is not visible either, then the times of light nodes, and finally
 * everything a little.  The number of cells shows in advance that a step would be too large.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "model/model.h"
#include "page/page.h"
#include "page/page_bins.h"
#include "page/page_cells.h"
#include "page/page_diff.h"
#include "page/page_leaks.h"
#include "page/page_meta.h"
#include "page/page_names.h"
#include "page/page_owners.h"
#include "page/page_pack.h"
#include "page/page_paths.h"
#include "page/page_picks.h"
#include "page/page_pinned.h"
#include "page/page_pinned_cells.h"
#include "page/page_run.h"
#include "page/page_series.h"
#include "page/page_source.h"
#include "page/page_tables.h"
#include "page/page_tree.h"
#include "page/page_why.h"

#define ALL       GG_PAGE_OWNERS_THREADS
#define PROCESSES GG_PAGE_OWNERS_PROCESSES
#define NONE      GG_PAGE_OWNERS_NONE

static const struct gg_page_detail details[] = {
	{ 400000, 0, 96, 0, ALL },     /* full detail */
	{ 30000, 0, 96, 0, ALL },      /* light nodes are folded */
	{ 30000, 8, 96, 0, ALL },      /* sizes are rounded */
	{ 20000, 4, 96, 12, ALL },     /* times of light nodes are rounded */
	{ 12000, 2, 64, 8, ALL },      /* everything gets coarser in small steps */
	{ 10000, 2, 64, 4, ALL },      /* a little more */
	{ 8000, 1, 64, 4, PROCESSES }, /* cells name processes only */
	{ 6000, 1, 48, 4, PROCESSES }, /* fewer nodes and bins */
	{ 4000, 1, 48, 2, PROCESSES }, /* times of light nodes get coarser */
	{ 2000, 1, 32, 2, NONE },      /* cells name no owner */
};

/* The bits of a packed cell.  Only profiles with few kinds of samples need fewer. */
enum { LEAST_BITS_OF_CELL = 12 };

/* The limits of table rows.  From LARGE_PICKS samples on, the first attempt has fewer rows. */
enum { MOST_ROWS = 1000, LARGE_ROWS = 400, LEAST_ROWS = 50, LARGE_PICKS = 50000 };

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
		gg_buf_printf(&text, "Sizes are rounded: %u step%s for each doubling.",
		              run->detail.size_steps, run->detail.size_steps == 1 ? "" : "s");
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

static const char *const owners_kept[] = {
	[GG_PAGE_OWNERS_THREADS] = "threads",
	[GG_PAGE_OWNERS_PROCESSES] = "processes",
	[GG_PAGE_OWNERS_NONE] = "none",
};

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
	gg_json_bool(json, "lines", tree->has_paths);
	gg_json_text(json, "owners", owners_kept[run->detail.owners]);
	gg_json_bool(json, "held", !run->without_held);
	append_note(run, tree, json);
	gg_json_close(json);
}

/* Counts the stacks that have samples. */
static size_t count_stacks(const struct gg_page_run *run)
{
	uint8_t *has = calloc(run->model->stack_count + 1, 1);
	size_t count = 0;

	for (size_t i = 0; has != NULL && i < run->pick_count; i++) {
		count += !has[run->picks[i].top];
		has[run->picks[i].top] = 1;
	}
	free(has);
	return count;
}

static void summarize(const struct gg_page_run *run, const struct gg_page_tree *tree)
{
	if (run->options->summary == NULL)
		return;
	*run->options->summary = (struct gg_page_summary){
		.stack_count = count_stacks(run),
		.node_count = tree->node_count,
		.folded_count = tree->least_share > 0 ? tree->all_count - tree->node_count : 0,
		.folded_share = tree->folded_bytes,
		.are_sizes_rounded = run->detail.size_steps > 0,
		.are_times_rounded = run->detail.light_bins > 0,
	};
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
	gg_json_open(json, "process_peaks", '[');
	for (uint32_t i = 0; i < run->peak_count; i++) {
		gg_json_open(json, NULL, '{');
		gg_json_integer(json, "pid", run->peaks[i].pid);
		gg_json_integer(json, "edge", (uint64_t)run->peaks[i].edge);
		gg_json_close(json);
	}
	gg_json_close(json);
	gg_json_close(json);
}

/* Writes the members that do not depend on the detail, each followed by a comma. */
static int write_fixed(struct gg_page_run *run, struct gg_json *json)
{
	int status;

	gg_page_report_progress(run, 5);
	status = gg_page_meta_write(run, json);
	gg_page_report_progress(run, 15);
	if (status == 0)
		status = gg_page_series_write(run, json);
	if (status == 0)
		status = gg_page_tables_write(run, json);
	gg_page_report_progress(run, 55);
	if (status == 0)
		status = gg_page_leaks_write(run, json);
	gg_page_why_write(run, json);
	if (status == 0)
		status = gg_page_pinned_write(run, json);
	if (status == 0)
		status = gg_page_source_write(run, json);
	if (status == 0)
		status = gg_page_diff_write(run, json);
	return status;
}

/* The whole tree and its paths, from which the tree of each detail is folded. */
struct page_trees {
	struct gg_page_whole *whole;
	struct gg_page_paths *paths;
};

/*
 * Writes the tree and its cells at the current detail.  Returns -E2BIG if there are too many cells.
 */
static int write_tree(struct gg_page_run *run, const struct page_trees *trees, bool with_names,
                      size_t cell_limit, struct gg_json *json)
{
	struct gg_page_tree tree;
	int status;

	gg_page_choose_bins(run);
	status = gg_page_tree_fold(trees->whole, with_names, &tree);
	if (status < 0)
		return status;
	if (cell_limit > 0 &&
	    tree.node_count > cell_limit) { /* a node needs as much space as a cell */
		gg_page_tree_done(&tree);
		return -E2BIG;
	}
	status = gg_page_paths_fold(trees->paths, with_names, &tree);
	if (status < 0) {
		gg_page_tree_done(&tree);
		return status;
	}
	gg_page_tree_write(&tree, json);
	write_times(run, json);
	status = gg_page_cells_write(run, &tree, cell_limit, json);
	if (status == 0)
		status = gg_page_pinned_cells_write(run, &tree, cell_limit, json);
	if (status == 0)
		status = gg_page_owners_write(run, json);
	gg_page_paths_write(run, &tree, with_names, json);
	if (status == 0)
		write_folds(run, &tree, json);
	if (status == 0 && with_names)
		summarize(run, &tree);
	gg_page_tree_done(&tree);
	return status == 0 ? gg_page_lifetimes_write(run, json) : status;
}

/* Writes the whole object.  Names come last, after all other members have registered theirs. */
static int write_all(struct gg_page_run *run, const struct page_trees *trees,
                     const struct gg_buf *fixed, struct gg_buf *out)
{
	struct gg_json json = { .out = out };
	int status;

	gg_buf_append(out, fixed->data, fixed->length);
	gg_buf_append_text(out, ",");
	json.closers[0] = '}';
	json.depth = 1; /* `fixed` opened the object */
	status = write_tree(run, trees, true, 0, &json);
	gg_page_names_write(&run->names, &json);
	gg_json_close(&json);
	if (status == 0 && (out->failed || run->names.failed))
		status = gg_page_out_of_memory(run);
	return status;
}

/* Writes the object up to the tree, with as many rows as leave room for the tree. */
static int begin(struct gg_page_run *run, size_t most_bytes, struct gg_buf *fixed,
                 size_t *ret_packed_bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf packed = { 0 };
	int status = 0;

	for (run->rows = run->pick_count > LARGE_PICKS ? LARGE_ROWS : MOST_ROWS;; run->rows /= 2) {
		struct gg_json json = { .out = fixed };

		gg_buf_clear(fixed);
		gg_page_names_done(&run->names);
		if (gg_page_names_init(&run->names, run->model) < 0)
			return gg_page_out_of_memory(run);
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "format", "geiger-page");
		gg_json_integer(&json, "version", 1);
		status = write_fixed(run, &json);
		if (status < 0 || most_bytes == 0)
			return status;
		gg_buf_clear(&packed);
		status = gg_page_pack(fixed, &packed, run->error);
		*ret_packed_bytes = packed.length;
		if (status < 0 || packed.length <= most_bytes / 4 || run->rows <= LEAST_ROWS)
			return status;
	}
}

/* Tries whether the tree fits into `room` bytes. */
static int try_tree(struct gg_page_run *run, const struct page_trees *trees, size_t room,
                    struct gg_buf *json_out, struct gg_buf *packed)
{
	struct gg_json json = { .out = json_out };
	int status;

	gg_buf_clear(json_out);
	gg_buf_clear(packed);
	gg_json_open(&json, NULL, '{');
	status = write_tree(run, trees, false, room * 8 / LEAST_BITS_OF_CELL + 1, &json);
	gg_json_close(&json);
	if (status == 0 && json_out->failed)
		status = gg_page_out_of_memory(run);
	if (status == 0)
		status = gg_page_pack(json_out, packed, run->error);
	return status == 0 && packed->length > room ? -E2BIG : status;
}

/*
 * If a detail has this many times too many cells, the next detail is skipped, because it would
 * hardly fit.
 */
#define FAR_TOO_MANY 3

/* Finds the first detail that fits.  The last one is used even if it does not fit. */
static int fit(struct gg_page_run *run, const struct page_trees *trees, const struct gg_buf *fixed,
               size_t fixed_bytes, struct gg_buf *ret_packed)
{
	size_t most = run->options->most_bytes;
	GG_CLEANUP(gg_buf_done) struct gg_buf json = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf packed = { 0 };
	int status = -E2BIG;

	for (size_t i = 0; status == -E2BIG && i < GG_COUNT(details); i++) {
		bool is_last = i + 1 == GG_COUNT(details);

		gg_page_report_progress(run, 70 + 30 * i / GG_COUNT(details));
		run->detail = details[i];
		run->excess = 0;
		status = most == 0 || is_last
		                 ? 0
		                 : try_tree(run, trees, most > fixed_bytes ? most - fixed_bytes : 0,
		                            &json, &packed);
		if (status == -E2BIG && run->excess > FAR_TOO_MANY && i + 2 < GG_COUNT(details))
			i++;
		if (status < 0)
			continue;
		gg_buf_clear(&json);
		gg_buf_clear(&packed);
		status = write_all(run, trees, fixed, &json);
		if (status == 0)
			status = gg_page_pack(&json, &packed, run->error);
		if (status == 0 && most > 0 && packed.length > most && !is_last)
			status = -E2BIG;
	}
	if (status == 0)
		gg_buf_append(ret_packed, packed.data, packed.length);
	return status;
}

int gg_page_data(const struct gg_model *model, const struct gg_model *before,
                 const struct gg_page_options *options, struct gg_buf *packed,
                 struct gg_error *error)
{
	struct gg_page_run run = {
		.model = model, .before = before, .options = options, .error = error
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf fixed = { 0 };
	struct page_trees trees = { 0 };
	size_t fixed_bytes = 0;
	int status;

	gg_page_report_progress(&run, 0);
	status = gg_page_collect(&run);
	if (status == 0)
		status = gg_page_pinned_find(&run);
	if (status == 0)
		status = gg_page_why_find(&run);
	if (status == 0)
		status = gg_page_find_peaks(&run);
	if (status == 0)
		status = begin(&run, options->most_bytes, &fixed, &fixed_bytes);
	gg_page_report_progress(&run, 60);
	if (status == 0)
		status = gg_page_whole_build(&run, &trees.whole);
	if (status == 0)
		status = gg_page_paths_build(&run, trees.whole, &trees.paths);
	if (status == 0)
		status = fit(&run, &trees, &fixed, fixed_bytes, packed);
	gg_page_paths_free(trees.paths);
	gg_page_whole_free(trees.whole);
	gg_page_names_done(&run.names);
	gg_page_why_done(&run);
	gg_page_pinned_done(&run);
	gg_page_collect_done(&run);
	return status;
}
