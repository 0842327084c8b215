/* SPDX-License-Identifier: Apache-2.0 */
/* top_state - filters and sorts rows. */
#include "top/top_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "top/top_tree.h"

void gg_top_state_init(struct gg_top_state *state, size_t width, size_t height)
{
	*state = (struct gg_top_state){ .width = width, .height = height };
}

void gg_top_state_done(struct gg_top_state *state)
{
	free(state->followed);
	free(state->opened);
	gg_array_done(&state->open_paths);
	state->followed = state->opened = NULL;
}

void gg_top_state_open(struct gg_top_state *state, const char *label)
{
	char *opened = strdup(label);

	if (opened == NULL)
		return;
	free(state->opened);
	state->opened = opened;
	state->piece = 0;
	state->mode = GG_TOP_MODE_DETAIL;
}

void gg_top_state_close(struct gg_top_state *state)
{
	free(state->opened);
	state->opened = NULL;
	state->mode = GG_TOP_MODE_TABLE;
}

void gg_top_state_follow(struct gg_top_state *state, const char *label)
{
	/* Without memory for the label the cursor stays in its place. */
	char *followed = label[0] != '\0' ? strdup(label) : NULL;

	free(state->followed);
	state->followed = followed;
	state->followed_path = 0;
}

void gg_top_state_follow_row(struct gg_top_state *state, const struct gg_top_row *row)
{
	gg_top_state_follow(state, row->label);
	state->followed_path = row->path;
}

static size_t place_of_path(const struct gg_top_state *state, uint64_t path)
{
	size_t i = 0;

	while (i < state->open_paths.count && state->open_paths.items[i] != path)
		i++;
	return i;
}

bool gg_top_state_is_row_open(const struct gg_top_state *state, const struct gg_top_row *row)
{
	return place_of_path(state, row->path) < state->open_paths.count;
}

void gg_top_state_set_row_open(struct gg_top_state *state, const struct gg_top_row *row,
                               bool is_open)
{
	size_t place = place_of_path(state, row->path);

	if (place < state->open_paths.count && !is_open)
		state->open_paths.items[place] = state->open_paths.items[--state->open_paths.count];
	else if (place == state->open_paths.count && is_open &&
	         !gg_array_push(&state->open_paths, row->path))
		return; /* it stays closed */
}

static bool is_followed(const struct gg_top_state *state, const struct gg_top_row *row)
{
	if (state->followed_path != 0 || row->path != 0)
		return row->path == state->followed_path;
	return strcmp(row->label, state->followed) == 0;
}

/* Opens the heaviest path of the first tree, so that it shows more than the outermost functions. */
static void open_heaviest(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	if (!state->opens_heaviest || !snapshot->is_tree)
		return;
	state->opens_heaviest = false;
	for (size_t i = 0; i < snapshot->row_count; i++)
		if (snapshot->rows[i].is_on_heaviest)
			gg_top_state_set_row_open(state, &snapshot->rows[i], true);
}

void gg_top_state_update(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	size_t *order = calloc(snapshot->row_count + 1, sizeof(*order)), count;

	if (order == NULL)
		return;
	open_heaviest(state, snapshot);
	count = gg_top_state_order(state, snapshot, order);
	if (state->cursor >= count)
		state->cursor = count > 0 ? count - 1 : 0;
	for (size_t i = 0; i < count && state->followed != NULL; i++)
		if (is_followed(state, &snapshot->rows[order[i]])) {
			state->cursor = i;
			break;
		}
	free(order);
}

struct order_run {
	const struct gg_top_state *state;
	const struct gg_top_snapshot *snapshot;
};

/* Significant growth comes before all other rows, and significant decreases come after them. */
static double change_of(const struct gg_top_row *row)
{
	if (!row->has_change || !row->is_significant)
		return 0;
	return row->change.estimate;
}

static double value_of(const struct gg_top_row *row, enum gg_top_column column)
{
	switch (column) {
	case GG_TOP_BY_CHANGE:
		return change_of(row);
	case GG_TOP_BY_RATE:
		return row->allocated_per_second;
	case GG_TOP_BY_BLOCKS:
		return row->blocks.estimate;
	case GG_TOP_BY_AGE:
		return isnan(row->age_ns) ? -1 : row->age_ns;
	case GG_TOP_BY_NAME:
		return 0;
	default:
		return row->self.estimate;
	}
}

static int compare_rows(const void *x, const void *y, void *context)
{
	const struct order_run *run = context;
	const struct gg_top_row *a = &run->snapshot->rows[*(const size_t *)x];
	const struct gg_top_row *b = &run->snapshot->rows[*(const size_t *)y];
	int sign = run->state->is_reversed ? -1 : 1;
	double of_a = value_of(a, run->state->sort), of_b = value_of(b, run->state->sort);

	if (of_a == of_b && run->state->sort == GG_TOP_BY_CHANGE) {
		of_a = a->self.estimate;
		of_b = b->self.estimate;
	}
	if (of_a != of_b)
		return of_a > of_b ? -sign : sign;
	return sign * strcmp(a->label, b->label);
}

/* Processes with a region come first, and those that have ended last. */
static int rank_of(const struct gg_top_entry *entry)
{
	return !entry->is_alive ? 0 : entry->has_region ? 2 : 1;
}

/* In a list of processes, RSS has the place of the rate, and decides between equals. */
static int compare_entries(const void *x, const void *y, void *context)
{
	const struct order_run *run = context;
	const struct gg_top_entry *a = &run->snapshot->entries[*(const size_t *)x];
	const struct gg_top_entry *b = &run->snapshot->entries[*(const size_t *)y];
	enum gg_top_column sort = run->state->sort;
	int sign = run->state->is_reversed ? -1 : 1;
	int ranks = rank_of(a) - rank_of(b);

	if (ranks != 0 && (sort == GG_TOP_BY_SELF || sort == GG_TOP_BY_CHANGE))
		return ranks > 0 ? -sign : sign;
	if (sort == GG_TOP_BY_RATE || (sort == GG_TOP_BY_SELF && !a->has_region && !b->has_region))
		if (a->rss_bytes != b->rss_bytes)
			return a->rss_bytes > b->rss_bytes ? -sign : sign;
	return compare_rows(x, y, context);
}

static bool passes(const struct gg_top_state *state, const struct gg_top_row *row)
{
	return state->filter[0] == '\0' || strcasestr(row->label, state->filter) != NULL;
}

/* A filter shows the matching rows of a tree below all of their callers, open or not. */
static size_t order_tree(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         struct order_run *run, size_t *order)
{
	const struct gg_top_row *rows = snapshot->rows;
	bool *is_open = calloc(2 * snapshot->row_count + 1, sizeof(*is_open));
	bool is_filtered = state->filter[0] != '\0', *is_shown;
	size_t count = 0;

	if (is_open == NULL)
		return 0;
	is_shown = is_open + snapshot->row_count;
	for (size_t i = snapshot->row_count; i-- > 0;) {
		is_shown[i] = is_shown[i] || passes(state, &rows[i]);
		if (!is_filtered && rows[i].has_callees)
			is_open[i] = gg_top_state_is_row_open(state, &rows[i]);
		if (is_filtered && is_shown[i] && rows[i].parent != 0)
			is_open[rows[i].parent - 1] = is_shown[rows[i].parent - 1] = true;
	}
	count = gg_top_tree_order(rows, snapshot->row_count, is_open, is_shown, compare_rows, run,
	                          order);
	free(is_open);
	return count;
}

size_t gg_top_state_order(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          size_t *order)
{
	struct order_run run = { state, snapshot };
	size_t count = 0;

	if (snapshot->is_tree)
		return order_tree(state, snapshot, &run, order);
	for (size_t i = 0; i < snapshot->row_count; i++)
		if (passes(state, &snapshot->rows[i]))
			order[count++] = i;
	if (count > 0)
		qsort_r(order, count, sizeof(*order),
		        snapshot->entries != NULL ? compare_entries : compare_rows, &run);
	return count;
}
