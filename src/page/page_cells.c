/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cells - the samples, in groups that the page cannot tell apart.
 *
 * The samples of a cell share one class (page_classes.h), one node, one bin of birth, one bin of
 * death and one owner.  A cell is three numbers, so that sorting cells means sorting numbers.  The
 * first has the node, the class, the birth and the death; the second has the owner and the kind of
 * lifetime; the third has the uncertainty of the times.  Cells are sorted by node.
 */
#include "page/page_cells.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/json.h"
#include "page/page_bins.h"
#include "page/page_classes.h"
#include "page/page_columns.h"
#include "page/page_owners.h"
#include "page/page_run.h"
#include "page/page_tree.h"

enum { CELLS_OF_CLASS = 16 };

enum { CLASS_BITS = 20, BIN_BITS = 9, NODE_BITS = 64 - CLASS_BITS - 2 * BIN_BITS };

/* The fields of the second number. */
enum { PATH_BITS = 20, LINE_BITS = 16, OWNER_BITS = 20, BRIEF_BITS = 3, SHARE_BITS = 2 };

enum {
	BRIEF_SHIFT = SHARE_BITS,
	OWNER_SHIFT = BRIEF_SHIFT + BRIEF_BITS,
	LINE_SHIFT = OWNER_SHIFT + OWNER_BITS,
	PATH_SHIFT = LINE_SHIFT + LINE_BITS,
};

_Static_assert(GG_PAGE_PATHS_MAX <= 1 << PATH_BITS && GG_PAGE_LINES_MAX <= 1 << LINE_BITS,
               "so do paths and lines");
_Static_assert(PATH_SHIFT + PATH_BITS <= 64, "all fit into one number");

_Static_assert(2 * (GG_PAGE_BINS_MAX + GG_PAGE_PEAKS_MAX + 1) + 1 < 1 << BIN_BITS, "a bin fits");
_Static_assert(GG_PAGE_BRIEF_COUNT < 1 << BRIEF_BITS, "so do lives");

/*
 * The third number has the uncertainty: by how many bins the block may have been allocated earlier,
 * or freed earlier or later, and how short its lifetime may have been; whether it may be missing;
 * whether only heirs make its end uncertain; 1 + the bins between which heirs may have left it; and
 * 1 + the bin in which it was left, if that is not its last one.
 */
enum {
	LATER_SHIFT = BIN_BITS,
	SOONER_SHIFT = 2 * BIN_BITS,
	BRIEF_MOST_SHIFT = 3 * BIN_BITS,
	UNSURE_SHIFT = BRIEF_MOST_SHIFT + BRIEF_BITS,
	HEIRS_SHIFT = UNSURE_SHIFT + 1,
	LEFT_FIRST_SHIFT = HEIRS_SHIFT + 1,
	LEFT_LAST_SHIFT = LEFT_FIRST_SHIFT + BIN_BITS,
	LEFT_SHIFT = LEFT_LAST_SHIFT + BIN_BITS,
};

_Static_assert(LEFT_SHIFT + BIN_BITS <= 64, "they fit as well");

struct cell {
	uint64_t times_and_node;  /* node, class, born, gone */
	uint64_t owner_and_share; /* path, line, owner, brief, share */
	uint64_t uncertainty;     /* earlier, later, sooner, brief_more, unsure, heirs, left */
	uint32_t n;
};

struct cell_list {
	struct gg_page_run *run;
	const struct gg_page_tree *tree;
	struct gg_page_classes classes;
	struct cell *items;
	size_t count, held_count;
};

/* Rounds a bin of a light node to the middle of its group of bins. */
static uint32_t lighten(const struct gg_page_run *run, uint32_t bin)
{
	uint32_t groups = run->detail.light_bins, count = run->bins.count, group;

	if (groups == 0 || groups >= count)
		return bin;
	group = bin * groups / count;
	return (group * count + count / 2) / groups;
}

static uint64_t times_and_node(const struct cell_list *cells, const struct gg_page_pick *pick,
                               uint32_t class)
{
	const struct gg_page_run *run = cells->run;
	uint32_t count = run->bins.count;
	uint32_t node = cells->tree->node_of[pick->top];
	uint32_t born = gg_page_bin(&run->bins, pick->born_ns);
	uint32_t gone = gg_page_bin(&run->bins, pick->gone_ns);
	bool is_light = cells->tree->nodes[node].light < 1e-3F;

	gg_assert(node < cells->tree->node_count && class < 1U << CLASS_BITS);
	born = (is_light ? lighten(run, born) : born) + (pick->is_inherited ? count + 1 : 0);
	if (pick->is_left)
		gone = pick->gone_ns == GG_TIME_NONE ? count : count + 1 + gone;
	else if (is_light)
		gone = lighten(run, gone);
	return (uint64_t)node << (CLASS_BITS + 2 * BIN_BITS) | (uint64_t) class << (2 * BIN_BITS) |
	       (uint64_t)born << BIN_BITS | gone;
}

static uint64_t owner_and_share(const struct cell_list *cells, const struct gg_page_pick *pick)
{
	const struct gg_page_tree *tree = cells->tree;
	uint64_t owner = gg_page_owner_of(cells->run, pick), told;

	if (owner >= UINT64_C(1) << OWNER_BITS) /* over a million owners: unknown */
		owner = 0;
	told = owner << OWNER_SHIFT | (uint64_t)pick->brief << BRIEF_SHIFT | (uint64_t)pick->share;
	if (tree->has_paths)
		told |= (uint64_t)tree->path_of[pick->top] << PATH_SHIFT |
		        (uint64_t)tree->line_of[pick->top] << LINE_SHIFT;
	return told;
}

/* Returns the bin of a time.  For a light node, this is the bin that its group is rounded to. */
static uint32_t bin_of(const struct cell_list *cells, const struct gg_page_pick *pick,
                       int64_t time_ns)
{
	const struct gg_page_run *run = cells->run;
	const struct gg_page_node *node = &cells->tree->nodes[cells->tree->node_of[pick->top]];
	uint32_t bin = gg_page_bin(&run->bins, time_ns);

	return node->light < 1e-3F ? lighten(run, bin) : bin;
}

/*
 * The bin of an end, as times_and_node() has it; behind the last one for what is live at the end.
 */
static uint32_t end_bin_of(const struct cell_list *cells, const struct gg_page_pick *pick,
                           int64_t time_ns)
{
	if (time_ns == GG_TIME_NONE)
		return cells->run->bins.count;
	return pick->is_left ? gg_page_bin(&cells->run->bins, time_ns)
	                     : bin_of(cells, pick, time_ns);
}

static uint64_t bins_between(uint32_t least, uint32_t most)
{
	return most > least ? most - least : 0;
}

/*
 * Returns 1 + the bin in which the block was left; 0: its end tells that.  Another holder may have
 * had it longer, and live memory at the end has no end.  The end of a killed process is uncertain,
 * and so is that of its blocks.
 */
static uint64_t left_bin(const struct cell_list *cells, const struct gg_page_pick *pick)
{
	const struct gg_page_bins *bins = &cells->run->bins;
	uint32_t left, gone = bins->count;

	if (!pick->is_left || pick->left_ns == GG_TIME_NONE)
		return 0;
	if (!pick->has_heirs && pick->gone_ns < pick->left_ns &&
	    pick->left_ns <= pick->gone_most_ns)
		return 0;
	left = gg_page_bin(bins, pick->left_ns);
	if (pick->gone_ns != GG_TIME_NONE)
		gone = gg_page_bin(bins, pick->gone_ns);
	/* The last bin is in every window up to the end, as what is live at the end is. */
	return left == gone || (gone == bins->count && left + 1 == gone) ? 0 : left + 1;
}

/* Returns the uncertainty of a pick's times; 0 if all times are exact. */
static uint64_t uncertainty(const struct cell_list *cells, const struct gg_page_pick *pick)
{
	uint64_t doubted = bins_between(bin_of(cells, pick, pick->born_least_ns),
	                                bin_of(cells, pick, pick->born_ns));
	bool is_exact = pick->aggregate != NULL && pick->aggregate->is_exact;

	if (pick->gone_ns != GG_TIME_NONE || is_exact || pick->has_heirs) {
		uint32_t gone = end_bin_of(cells, pick, pick->gone_ns);

		doubted |= bins_between(gone, end_bin_of(cells, pick, pick->gone_most_ns))
		           << LATER_SHIFT;
		doubted |= bins_between(end_bin_of(cells, pick, pick->gone_least_ns), gone)
		           << SOONER_SHIFT;
	}
	/* A process's own frees were counted; only what its heirs hold of the blocks is unknown. */
	if (pick->has_heirs && doubted >> LATER_SHIFT != 0)
		doubted |= UINT64_C(1) << HEIRS_SHIFT;
	if (pick->has_left_heirs) {
		doubted |= (uint64_t)(bin_of(cells, pick, pick->left_least_ns) + 1)
		           << LEFT_FIRST_SHIFT;
		doubted |= (uint64_t)(bin_of(cells, pick, pick->left_most_ns) + 1)
		           << LEFT_LAST_SHIFT;
	}
	doubted |= (uint64_t)(pick->brief_most - pick->brief) << BRIEF_MOST_SHIFT;
	doubted |= left_bin(cells, pick) << LEFT_SHIFT;
	return doubted | (uint64_t)(pick->aggregate != NULL && pick->aggregate->is_shared)
	                         << UNSURE_SHIFT;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell *left = a, *right = b;

	if (left->times_and_node != right->times_and_node)
		return left->times_and_node < right->times_and_node ? -1 : 1;
	if (left->owner_and_share != right->owner_and_share)
		return left->owner_and_share < right->owner_and_share ? -1 : 1;
	return (left->uncertainty > right->uncertainty) - (left->uncertainty < right->uncertainty);
}

static bool is_held(const struct cell *cell)
{
	return (cell->owner_and_share & ((1 << SHARE_BITS) - 1)) == GG_PAGE_SHARE_HELD;
}

static void merge(struct cell_list *cells)
{
	size_t kept = 0;

	qsort(cells->items, cells->count, sizeof(*cells->items), compare_cells);
	for (size_t i = 0; i < cells->count; i++) {
		struct cell *last = kept > 0 ? &cells->items[kept - 1] : NULL;

		if (last != NULL && compare_cells(last, &cells->items[i]) == 0)
			last->n += cells->items[i].n;
		else
			cells->items[kept++] = cells->items[i];
	}
	gg_assert(kept <= cells->count);
	cells->count = kept;
	for (size_t i = 0; i < kept; i++)
		cells->held_count += is_held(&cells->items[i]);
}

static int add(struct cell_list *cells, const struct gg_page_pick *pick, size_t number)
{
	uint32_t class = gg_page_classify(&cells->classes, pick, number);
	uint64_t n = pick->aggregate != NULL ? pick->aggregate->sums.sample_count : 1;

	if (class == UINT32_MAX)
		return cells->classes.count >= cells->classes.limit ? -E2BIG : -ENOMEM;
	cells->items[cells->count++] = (struct cell){
		times_and_node(cells, pick, class),
		owner_and_share(cells, pick),
		uncertainty(cells, pick),
		n == 0 ? 1 : (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX),
	};
	return 0;
}

static int fill(struct cell_list *cells)
{
	const struct gg_page_run *run = cells->run;
	int status = 0;

	cells->items = malloc((run->pick_count + run->held_count + 1) * sizeof(*cells->items));
	if (cells->items == NULL)
		return -ENOMEM;
	if (cells->tree->node_count >> NODE_BITS != 0)
		return -E2BIG;
	for (size_t i = 0; i < run->pick_count && status == 0; i++)
		status = add(cells, &run->picks[i], i);
	for (size_t i = 0; i < run->held_count && status == 0 && !run->without_held; i++)
		status = add(cells, &run->held[i], 0);
	if (status == 0)
		merge(cells);
	return status;
}

/* A column of `cells` or of `held`, written as differences if is_delta is set. */
struct cell_column {
	const char *name;
	enum { WHERE, WHO, DOUBT } from;
	int shift, bits;
	bool is_delta, is_optional; /* optional: omitted if all values are 0 */
};

static const struct cell_column columns[] = {
	{ "node_delta", WHERE, CLASS_BITS + 2 * BIN_BITS, NODE_BITS, true, false },
	{ "class", WHERE, 2 * BIN_BITS, CLASS_BITS, false, false },
	{ "born", WHERE, BIN_BITS, BIN_BITS, false, false },
	{ "gone", WHERE, 0, BIN_BITS, false, false },
	{ "path", WHO, PATH_SHIFT, PATH_BITS, false, true },
	{ "line", WHO, LINE_SHIFT, LINE_BITS, false, true },
	{ "owner", WHO, OWNER_SHIFT, OWNER_BITS, false, true },
	{ "brief", WHO, BRIEF_SHIFT, BRIEF_BITS, false, true },
	{ "share", WHO, 0, SHARE_BITS, false, true },
	{ "earlier", DOUBT, 0, BIN_BITS, false, true },
	{ "later", DOUBT, LATER_SHIFT, BIN_BITS, false, true },
	{ "sooner", DOUBT, SOONER_SHIFT, BIN_BITS, false, true },
	{ "brief_more", DOUBT, BRIEF_MOST_SHIFT, BRIEF_BITS, false, true },
	{ "unsure", DOUBT, UNSURE_SHIFT, 1, false, true },
	{ "heirs", DOUBT, HEIRS_SHIFT, 1, false, true },
	{ "left_first", DOUBT, LEFT_FIRST_SHIFT, BIN_BITS, false, true },
	{ "left_last", DOUBT, LEFT_LAST_SHIFT, BIN_BITS, false, true },
	{ "left", DOUBT, LEFT_SHIFT, BIN_BITS, false, true },
};

static void write_column(const struct cell_list *cells, const struct cell_column *column, bool held,
                         uint32_t *values, struct gg_json *json)
{
	uint64_t mask = (UINT64_C(1) << column->bits) - 1;
	uint32_t before = 0, any = 0;
	size_t count = 0;

	for (size_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->items[i];
		uint64_t from = column->from == WHERE ? cell->times_and_node
		                : column->from == WHO ? cell->owner_and_share
		                                      : cell->uncertainty;
		uint32_t value = (uint32_t)(from >> column->shift & mask);

		if (is_held(cell) != held)
			continue;
		any |= value;
		values[count++] = value - (column->is_delta ? before : 0);
		before = value;
	}
	if (any != 0 || !column->is_optional)
		gg_page_integers(json, column->name, values, count, sizeof(*values));
}

static int write_cells(const struct cell_list *cells, const char *name, bool held,
                       struct gg_json *json)
{
	uint32_t *values = malloc((cells->count + 1) * sizeof(*values));
	size_t count = 0;

	if (values == NULL)
		return -ENOMEM;
	gg_json_open(json, name, '{');
	for (size_t k = 0; k < GG_COUNT(columns); k++)
		write_column(cells, &columns[k], held, values, json);
	for (size_t i = 0; i < cells->count; i++)
		if (is_held(&cells->items[i]) == held)
			values[count++] = cells->items[i].n;
	gg_page_integers(json, "n", values, count, sizeof(*values));
	gg_json_close(json);
	free(values);
	return 0;
}

static int write_all(struct cell_list *cells, struct gg_json *json)
{
	int status;

	gg_page_classes_write(&cells->classes, json);
	gg_json_open(json, "brief_ns", '[');
	for (int i = 0; i < GG_PAGE_BRIEF_COUNT; i++)
		gg_json_number(json, NULL, (double)gg_page_brief_ns[i]);
	gg_json_close(json);
	status = write_cells(cells, "cells", false, json);
	if (status == 0 && cells->held_count > 0)
		status = write_cells(cells, "held", true, json);
	return status;
}

/*
 * Fills the cells and the held parts.  The held parts may use a quarter of the limit; otherwise
 * they are omitted.
 */
static int fill_what_fits(struct cell_list *cells, size_t cell_limit)
{
	int status = fill(cells);

	if (status == 0 && cell_limit > 0 && cells->held_count > cell_limit / 4) {
		cells->run->without_held = true;
		cells->count = cells->held_count = 0;
		free(cells->items);
		gg_page_classes_done(&cells->classes);

		status = fill(cells);
	}
	return status;
}

int gg_page_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree, size_t cell_limit,
                        struct gg_json *json)
{
	struct cell_list cells = { .run = run,
		                   .tree = tree,
		                   .classes = { .run = run, .limit = (size_t)1 << CLASS_BITS } };
	int status;

	/*
	 * A class has fifteen numbers, most of them long, so it needs as much space as
	 * CELLS_OF_CLASS cells.
	 */
	if (cell_limit > 0 && cell_limit / CELLS_OF_CLASS < cells.classes.limit)
		cells.classes.limit = cell_limit / CELLS_OF_CLASS;
	status = fill_what_fits(&cells, cell_limit);
	if (status == 0 && cell_limit > 0 && cells.count > cell_limit) {
		run->excess = (double)cells.count / (double)cell_limit;
		status = -E2BIG;
	}
	if (status == 0)
		status = write_all(&cells, json);
	gg_page_classes_done(&cells.classes);
	free(cells.items);
	return status == -ENOMEM ? gg_page_out_of_memory(run) : status;
}
