/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_detail - finds once for each stack which pieces have its samples, and adds them up.
 */
#include "query/row_detail.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "query/query_sums.h"

/* The pieces to which the samples of a stack belong. */
struct stack_pieces {
	uint32_t piece[GG_PART_COUNT]; /* by part; GG_NO_SLOT: none */
	bool is_own;                   /* the row itself allocated there */
};

/* The stack has no place of the row. */
#define STACK_OUT (UINT64_MAX - 1)

struct detail_run {
	const struct gg_model *model;
	struct gg_query_filter filter;
	struct gg_row_detail *detail;
	enum gg_grouping by;
	uint32_t key;
	int64_t now_ns;
	struct gg_map known; /* by stack: an index of `stacks`, or STACK_OUT */
	GG_ARRAY(struct stack_pieces) stacks;
	GG_ARRAY(struct gg_code_location) path;
	struct gg_map piece_of; /* by part and key */
	struct gg_tally ages[GG_AGE_COUNT];
	bool failed; /* out of memory */
};

static bool is_of_locations(enum gg_grouping by)
{
	return by == GG_BY_FUNCTION || by == GG_BY_LINE || by == GG_BY_MODULE;
}

const char *gg_age_class_name(enum gg_age_class class)
{
	static const char *const names[] = {
		[GG_AGE_SECOND] = "younger than 1 s", [GG_AGE_TEN_SECONDS] = "1 s to 10 s",
		[GG_AGE_MINUTE] = "10 s to 1 min",    [GG_AGE_TEN_MINUTES] = "1 min to 10 min",
		[GG_AGE_HOUR] = "10 min to 1 h",      [GG_AGE_DAY] = "1 h to 1 d",
		[GG_AGE_OLDER] = "1 d and older",     [GG_AGE_UNKNOWN] = "unknown age",
	};

	return names[class];
}

static enum gg_age_class age_class_of(double age_ns)
{
	static const double limits_s[] = { 1, 10, 60, 600, 3600, 86400 };
	size_t class = 0;

	while (class < GG_COUNT(limits_s) && age_ns >= limits_s[class] * 1e9)
		class ++;
	return (enum gg_age_class) class;
}

/* True if the location belongs to the row. */
static bool is_here(const struct detail_run *run, const struct gg_code_location *location)
{
	switch (run->by) {
	case GG_BY_LINE:
		return location->line == run->key;
	case GG_BY_MODULE:
		return run->model->functions[location->function].module == run->key;
	default:
		return location->function == run->key;
	}
}

/* Reads the path of a stack, innermost first.  Returns its length; 0: out of memory. */
static size_t read_path(struct detail_run *run, uint32_t stack)
{
	size_t count = gg_model_path(run->model, stack, NULL, 0);

	if (!gg_array_extend(&run->path, count)) {
		run->failed = true;
		return 0;
	}
	gg_model_path(run->model, stack, run->path.items, count);
	return count;
}

/* The innermost place of the row in the path that was read; `count`: none. */
static size_t find_here(const struct detail_run *run, size_t count)
{
	size_t i = 0;

	while (i < count && !is_here(run, &run->path.items[i]))
		i++;
	return i;
}

static uint32_t find_piece(struct detail_run *run, enum gg_row_part part, uint32_t key)
{
	struct gg_row_pieces *pieces = &run->detail->parts[part];
	uint64_t both = (uint64_t)part << 32 | key, index = gg_map_get(&run->piece_of, both);
	struct gg_row_piece *piece;

	if (index != GG_MAP_NONE)
		return (uint32_t)index;
	index = pieces->items.count;
	piece = gg_array_add(&pieces->items);
	if (piece == NULL || gg_map_put(&run->piece_of, both, index) < 0) {
		run->failed = true;
		return GG_NO_SLOT;
	}
	piece->key = key;
	return (uint32_t)index;
}

/* Divides the path where the row's location is innermost. */
static void divide_here(struct detail_run *run, size_t count, struct stack_pieces *of_stack)
{
	const struct gg_code_location *path = run->path.items;
	size_t here = find_here(run, count), caller = here + 1;

	/* Functions of a module call each other; its caller is the next one of another module. */
	while (run->by == GG_BY_MODULE && caller < count && is_here(run, &path[caller]))
		caller++;
	of_stack->is_own = here == 0;
	of_stack->piece[GG_PART_CALLERS] = find_piece(
		run, GG_PART_CALLERS, caller < count ? path[caller].function : GG_PART_NONE);
	of_stack->piece[GG_PART_CALLEES] = find_piece(
		run, GG_PART_CALLEES, here > 0 ? path[here - 1].function : GG_PART_SELF);
	if (run->by == GG_BY_MODULE)
		of_stack->piece[GG_PART_FUNCTIONS] = find_piece(run, GG_PART_FUNCTIONS,
		                                                path[here].function);
	of_stack->piece[GG_PART_LINES] = find_piece(run, GG_PART_LINES, path[here].line);
}

static uint64_t add_stack(struct detail_run *run, uint32_t stack)
{
	size_t count = read_path(run, stack);
	struct stack_pieces of_stack = { .is_own = true };
	uint64_t known = run->stacks.count;

	for (int part = 0; part < GG_PART_COUNT; part++)
		of_stack.piece[part] = GG_NO_SLOT;
	if (count == 0)
		return STACK_OUT;
	if (!is_of_locations(run->by)) {
		of_stack.piece[GG_PART_FUNCTIONS] = find_piece(run, GG_PART_FUNCTIONS,
		                                               run->path.items[0].function);
		of_stack.piece[GG_PART_LINES] = find_piece(run, GG_PART_LINES,
		                                           run->path.items[0].line);
	} else if (find_here(run, count) < count) {
		divide_here(run, count, &of_stack);
	} else {
		known = STACK_OUT;
	}
	if (known != STACK_OUT && !gg_array_push(&run->stacks, of_stack))
		run->failed = true;
	if (gg_map_put(&run->known, stack, known) < 0)
		run->failed = true;
	return known;
}

/* NULL: the stack has no place of the row, or memory is out. */
static const struct stack_pieces *pieces_of(struct detail_run *run, uint32_t stack)
{
	uint64_t known = gg_map_get(&run->known, stack);

	if (known == GG_MAP_NONE)
		known = add_stack(run, stack);
	return run->failed || known == STACK_OUT ? NULL : &run->stacks.items[known];
}

static void add_age(struct detail_run *run, const struct gg_pick *pick)
{
	enum gg_age_class class = GG_AGE_UNKNOWN;

	if (pick->aggregate == NULL && !pick->is_uncertain && gg_model_has_times(run->model))
		class = age_class_of(fmax((double)run->now_ns - (double)pick->block.from_ns, 0));
	gg_query_filter_add_pick(&run->filter, pick, &run->ages[class]);
}

static void add_pick(const struct gg_pick *pick, void *context)
{
	struct detail_run *run = context;
	const struct gg_model_sample *sample = &run->model->samples[pick->sample];
	uint32_t stack = pick->aggregate != NULL ? pick->aggregate->stack : sample->stack;
	const struct stack_pieces *of_stack;

	if (run->failed ||
	    (!is_of_locations(run->by) &&
	     run->key != (pick->aggregate != NULL
	                          ? gg_query_key_of_aggregate(&run->filter, pick->aggregate)
	                          : gg_query_key_of_sample(&run->filter, sample))))
		return;
	of_stack = pieces_of(run, run->model->stacks[stack].top);
	if (of_stack == NULL)
		return;
	for (int part = 0; part < GG_PART_COUNT; part++)
		if (of_stack->piece[part] != GG_NO_SLOT)
			gg_query_filter_add_pick(
				&run->filter, pick,
				&run->detail->parts[part].items.items[of_stack->piece[part]].tally);
	if (of_stack->is_own && run->filter.query.metric == GG_METRIC_LIVE)
		add_age(run, pick);
}

static int compare_keys(const void *a, const void *b)
{
	const struct gg_row_piece *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static int compare_pieces(const void *a, const void *b)
{
	const struct gg_row_piece *left = a, *right = b;
	double of_left = gg_tally_estimate(&left->tally, GG_BYTES).value;
	double of_right = gg_tally_estimate(&right->tally, GG_BYTES).value;

	if (of_left != of_right)
		return of_left < of_right ? 1 : -1;
	return compare_keys(a, b);
}

static void finish(struct detail_run *run)
{
	for (int part = 0; part < GG_PART_COUNT; part++) {
		struct gg_row_pieces *pieces = &run->detail->parts[part];

		for (size_t i = 0; i < pieces->items.count; i++)
			gg_query_filter_expose(&run->filter, &pieces->items.items[i].tally);
		if (pieces->items.count > 0)
			qsort(pieces->items.items, pieces->items.count,
			      sizeof(*pieces->items.items), compare_pieces);
	}
	for (uint32_t class = 0; class < GG_AGE_COUNT; class ++) {
		struct gg_tally *tally = &run->ages[class];
		struct gg_row_piece piece = { .key = class };

		if (gg_tally_is_empty(tally) && !gg_tally_is_uncertain(tally))
			continue;
		gg_query_filter_expose(&run->filter, tally);
		piece.tally = *tally;
		if (!gg_array_push(&run->detail->parts[GG_PART_AGES].items, piece))
			run->failed = true;
	}
}

int gg_row_detail_find(struct gg_row_detail *ret_detail, const struct gg_model *model,
                       const struct gg_query *query, uint32_t key, int64_t now_ns,
                       struct gg_error *error)
{
	struct detail_run run = {
		.model = model, .detail = ret_detail, .by = query->by, .key = key, .now_ns = now_ns
	};
	int status;

	gg_assert(query->metric != GG_METRIC_PEAK && query->metric != GG_METRIC_PINNED);
	*ret_detail = (struct gg_row_detail){ 0 };
	status = gg_query_filter_open(&run.filter, model, query, error);
	if (status < 0)
		return status;
	gg_query_filter_each(&run.filter, gg_query_filter_is_apart(&run.filter), add_pick, &run);
	finish(&run);
	gg_query_filter_close(&run.filter);
	gg_map_done(&run.known);
	gg_map_done(&run.piece_of);
	gg_array_done(&run.stacks);
	gg_array_done(&run.path);
	if (run.failed) {
		gg_row_detail_done(ret_detail);
		return gg_error_memory(error, "detail");
	}
	return 0;
}

void gg_row_detail_done(struct gg_row_detail *detail)
{
	for (int part = 0; part < GG_PART_COUNT; part++)
		gg_array_done(&detail->parts[part].items);
}

void gg_row_piece_label(const struct gg_model *model, enum gg_row_part part, uint32_t key,
                        struct gg_buf *out)
{
	struct gg_query_result result = { 0 };
	const struct gg_query_row row = { .key = key };

	result.query.by = part == GG_PART_LINES ? GG_BY_LINE : GG_BY_FUNCTION;
	if (part == GG_PART_AGES)
		gg_buf_append_text(out, gg_age_class_name((enum gg_age_class)key));
	else if (key == GG_PART_SELF)
		gg_buf_append_text(out, "(self)");
	else if (key == GG_PART_NONE)
		gg_buf_append_text(out, "(outermost)");
	else
		gg_query_row_label(model, &result, &row, out);
}
