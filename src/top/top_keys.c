/* SPDX-License-Identifier: Apache-2.0 */
/* top_keys - changes the state by a key. */
#include "top/top_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "top/top_detail.h"
#include "top/top_prompt.h"
#include "top/top_text.h"

/* The rows in the order of the screen; NULL: none, or out of memory.  The caller frees them. */
static size_t *order_of(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                        size_t *ret_count)
{
	size_t *order = snapshot != NULL ? calloc(snapshot->row_count + 1, sizeof(*order)) : NULL;

	*ret_count = order != NULL ? gg_top_state_order(state, snapshot, order) : 0;
	return order;
}

/* Moves the cursor to a place in the order, or to its end. */
static void move_to(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                    size_t place)
{
	size_t count, *order = order_of(state, snapshot, &count);

	if (count > 0) {
		state->cursor = place < count ? place : count - 1;
		gg_top_state_follow_row(state, &snapshot->rows[order[state->cursor]]);
	}
	free(order);
}

/* Moves to the next row with the searched part, in that direction, around the end. */
static void search(struct gg_top_state *state, const struct gg_top_snapshot *snapshot, bool back)
{
	size_t count, *order = order_of(state, snapshot, &count);

	for (size_t i = 1; state->search[0] != '\0' && i <= count; i++) {
		size_t place = (state->cursor + (back ? count - i : i)) % count;

		if (strcasestr(snapshot->rows[order[place]].label, state->search) == NULL)
			continue;
		move_to(state, snapshot, place);
		break;
	}
	free(order);
}

static char *typed_text(struct gg_top_state *state)
{
	return state->mode == GG_TOP_MODE_FILTER ? state->filter : state->search;
}

static void press_in_text(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          int key)
{
	char *text = typed_text(state);

	switch (key) {
	case GG_TOP_KEY_ENTER:
		if (state->mode == GG_TOP_MODE_SEARCH)
			search(state, snapshot, false);
		state->mode = GG_TOP_MODE_TABLE;
		break;
	case GG_TOP_KEY_ESCAPE:
		text[0] = '\0';
		state->mode = GG_TOP_MODE_TABLE;
		break;
	default:
		gg_top_prompt_type(text, key);
	}
}

static void begin_text(struct gg_top_state *state, enum gg_top_mode mode)
{
	state->mode = mode;
	typed_text(state)[0] = '\0';
}

/* 1 to 9. */
static void choose_rows(struct gg_top_state *state, int key)
{
	static const enum gg_grouping groupings[] = { GG_BY_FUNCTION, GG_BY_LINE,   GG_BY_STACK,
		                                      GG_BY_MODULE,   GG_BY_THREAD, GG_BY_SIZE,
		                                      GG_BY_KIND,     GG_BY_HEAP,   GG_BY_TYPE };

	state->by = groupings[key - '1'];
	state->is_tree = false;
	state->cursor = 0;
	gg_top_state_follow(state, "");
}

static void choose_metric(struct gg_top_state *state, int step)
{
	int metric = (int)state->metric + step + GG_TOP_METRIC_COUNT;

	state->metric = (enum gg_top_metric)(metric % GG_TOP_METRIC_COUNT);
	if (state->metric == GG_TOP_PINNED && state->opened != NULL)
		gg_top_state_close(state); /* the parts of pinned memory are not known */
	state->sort = state->metric == GG_TOP_GROWTH ? GG_TOP_BY_CHANGE : GG_TOP_BY_SELF;
}

static void choose_sort(struct gg_top_state *state, int step)
{
	int sort = (int)state->sort + step + GG_TOP_COLUMN_COUNT;

	state->sort = (enum gg_top_column)(sort % GG_TOP_COLUMN_COUNT);
}

static size_t page_of(const struct gg_top_state *state)
{
	return state->height > GG_TOP_PAGE_LESS ? state->height - GG_TOP_PAGE_LESS : 1;
}

/* The keys that move the cursor.  False: it is no such key. */
static bool press_movement(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                           int key)
{
	size_t page = page_of(state);

	switch (key) {
	case GG_TOP_KEY_UP:
	case 'k':
		move_to(state, snapshot, state->cursor > 0 ? state->cursor - 1 : 0);
		return true;
	case GG_TOP_KEY_DOWN:
	case 'j':
		move_to(state, snapshot, state->cursor + 1);
		return true;
	case GG_TOP_KEY_PAGE_UP:
		move_to(state, snapshot, state->cursor > page ? state->cursor - page : 0);
		return true;
	case GG_TOP_KEY_PAGE_DOWN:
		move_to(state, snapshot, state->cursor + page);
		return true;
	case GG_TOP_KEY_HOME:
	case 'g':
		move_to(state, snapshot, 0);
		return true;
	case GG_TOP_KEY_END:
	case 'G':
		move_to(state, snapshot, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

/* The keys that search and filter.  False: it is no such key. */
static bool press_search(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         int key)
{
	switch (key) {
	case '/':
	case GG_TOP_KEY_SEARCH:
		begin_text(state, GG_TOP_MODE_SEARCH);
		return true;
	case 'f':
	case '\\':
	case GG_TOP_KEY_FILTER:
		begin_text(state, GG_TOP_MODE_FILTER);
		return true;
	case 'n':
	case 'N':
		search(state, snapshot, key == 'N');
		return true;
	case GG_TOP_KEY_ESCAPE:
		state->wants_back = state->filter[0] == '\0';
		state->filter[0] = '\0';
		return true;
	default:
		return false;
	}
}

/* Opens the process of the cursor, or asks to attach the agent to it. */
static void open_entry(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	size_t count, *order = order_of(state, snapshot, &count);

	if (state->cursor < count) {
		const struct gg_top_entry *entry = &snapshot->entries[order[state->cursor]];

		if (entry->has_region)
			state->wants_open = true;
		else
			gg_top_prompt_ask_to_attach(state, entry->pid);
	}
	free(order);
}

/* The keys of the list of processes, and the one that leads to it.  False: it is no such key. */
static bool press_list(struct gg_top_state *state, const struct gg_top_snapshot *snapshot, int key)
{
	bool is_list = snapshot != NULL && snapshot->entries != NULL;

	switch (key) {
	case GG_TOP_KEY_ENTER:
		if (is_list)
			open_entry(state, snapshot);
		return is_list;
	case 'a':
		if (is_list)
			state->lists_all = !state->lists_all;
		return is_list;
	case GG_TOP_KEY_LEFT: /* in a tree, it has another meaning */
		state->wants_back = !is_list && !state->is_tree;
		return state->wants_back;
	case 't':
	case GG_TOP_KEY_TREE:
		return is_list;
	default:
		return false;
	}
}

static void open_row(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	size_t count, *order;

	if (snapshot != NULL && snapshot->metric == GG_TOP_PINNED) {
		snprintf(state->message, sizeof(state->message),
		         "Pinned memory has no parts to show; m chooses another metric.");
		return;
	}
	order = order_of(state, snapshot, &count);

	if (state->cursor < count) {
		const struct gg_top_row *row = &snapshot->rows[order[state->cursor]];

		gg_top_state_follow_row(state, row);
		if (row->path == 0 || row->is_function)
			gg_top_state_open(state, row->label);
	}
	free(order);
}

static void choose_tree(struct gg_top_state *state)
{
	bool was_tree = state->is_tree;

	choose_rows(state, '1');
	state->is_tree = !was_tree;
	state->opens_heaviest = state->open_paths.count == 0;
	if (state->metric == GG_TOP_GROWTH)
		state->metric = GG_TOP_LIVE; /* a tree has no changes */
	state->sort = GG_TOP_BY_SELF;
}

/* Opens the row of the cursor, or closes it; the caller of a closed row gets the cursor. */
static void open_branch(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                        bool is_open)
{
	size_t count, *order = order_of(state, snapshot, &count);

	if (state->cursor < count && snapshot->is_tree) {
		const struct gg_top_row *row = &snapshot->rows[order[state->cursor]];

		gg_top_state_follow_row(state, row);
		if (is_open == gg_top_state_is_row_open(state, row) && !is_open && row->parent != 0)
			gg_top_state_follow_row(state, &snapshot->rows[row->parent - 1]);
		else if (row->has_callees)
			gg_top_state_set_row_open(state, row, is_open);
	}
	free(order);
}

/* The processes of a profile are rows; a running process is one of the list. */
static void choose_processes(struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	if (snapshot == NULL || snapshot->entries != NULL)
		return;
	if (snapshot->process.is_process) {
		state->wants_list = true;
		return;
	}
	choose_rows(state, '1');
	state->by = GG_BY_PROCESS;
}

static void press_in_table(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                           int key)
{
	if (press_list(state, snapshot, key) || press_movement(state, snapshot, key) ||
	    press_search(state, snapshot, key))
		return;
	if (key >= '1' && key <= '9') {
		choose_rows(state, key);
		return;
	}
	if (key == '0') {
		choose_processes(state, snapshot);
		return;
	}
	switch (key) {
	case GG_TOP_KEY_ENTER:
		open_row(state, snapshot);
		break;
	case 't':
	case GG_TOP_KEY_TREE:
		choose_tree(state);
		break;
	case GG_TOP_KEY_RIGHT:
	case '+':
	case GG_TOP_KEY_LEFT:
	case '-':
		open_branch(state, snapshot, key == GG_TOP_KEY_RIGHT || key == '+');
		break;
	case '<':
	case '>':
	case GG_TOP_KEY_SORT:
		choose_sort(state, key == '<' ? -1 : 1);
		break;
	case 'r':
		state->is_reversed = !state->is_reversed;
		break;
	}
}

/* Opens the function of the cursor if it is a caller or a callee. */
static void open_piece(struct gg_top_state *state, const struct gg_top_detail *detail)
{
	const struct gg_top_piece *piece = &detail->pieces[state->piece];

	if (piece->part == GG_PART_LINES || piece->part == GG_PART_AGES || !piece->is_row)
		return;
	if (state->by != GG_BY_FUNCTION)
		choose_rows(state, '1');
	if (!state->is_tree)
		gg_top_state_follow(state, piece->label);
	gg_top_state_open(state, piece->label);
}

static void move_to_piece(struct gg_top_state *state, const struct gg_top_detail *detail,
                          size_t place)
{
	size_t count = detail->piece_count;

	state->piece = place < count ? place : count > 0 ? count - 1 : 0;
}

static void press_in_detail(struct gg_top_state *state, const struct gg_top_detail *detail, int key)
{
	size_t place = state->piece, page = page_of(state);

	switch (key) {
	case GG_TOP_KEY_ESCAPE:
	case GG_TOP_KEY_BACKSPACE:
		gg_top_state_close(state);
		return;
	}
	if (detail == NULL)
		return;
	switch (key) {
	case GG_TOP_KEY_UP:
	case 'k':
		move_to_piece(state, detail, place > 0 ? place - 1 : 0);
		break;
	case GG_TOP_KEY_DOWN:
	case 'j':
		move_to_piece(state, detail, place + 1);
		break;
	case GG_TOP_KEY_PAGE_UP:
		move_to_piece(state, detail, place > page ? place - page : 0);
		break;
	case GG_TOP_KEY_PAGE_DOWN:
		move_to_piece(state, detail, place + page);
		break;
	case GG_TOP_KEY_HOME:
	case 'g':
		move_to_piece(state, detail, 0);
		break;
	case GG_TOP_KEY_END:
	case 'G':
		move_to_piece(state, detail, SIZE_MAX);
		break;
	case GG_TOP_KEY_ENTER:
		if (state->piece < detail->piece_count)
			open_piece(state, detail);
		break;
	}
}

/* The detail of the open row; NULL: no look has it yet. */
static const struct gg_top_detail *detail_of(const struct gg_top_state *state,
                                             const struct gg_top_snapshot *snapshot)
{
	return snapshot != NULL && gg_top_detail_is_of(snapshot->detail, state->by, state->opened)
	               ? snapshot->detail
	               : NULL;
}

/* Begins the help, the notes, the rows of RSS or the output; each leads back to the screen. */
static void begin_page(struct gg_top_state *state, enum gg_top_mode mode)
{
	state->mode_below = state->mode;
	state->mode = mode;
	state->first_text_line = 0;
}

/* The keys of the table and of an open row.  False: it is no such key. */
static bool press_everywhere(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                             int key)
{
	switch (key) {
	case 'q':
	case GG_TOP_KEY_QUIT:
		state->wants_quit = true;
		return true;
	case '?':
	case 'h':
	case GG_TOP_KEY_HELP:
		begin_page(state, GG_TOP_MODE_HELP);
		return true;
	case '!':
		begin_page(state, GG_TOP_MODE_NOTES);
		return true;
	case 'R':
		if (snapshot == NULL || snapshot->entries == NULL)
			begin_page(state, GG_TOP_MODE_WHY);
		return true;
	case 'v':
		if (state->output != NULL) {
			begin_page(state, GG_TOP_MODE_OUTPUT);
			state->first_text_line = SIZE_MAX; /* its end */
		}
		return true;
	case ' ':
	case 'p':
		state->is_paused = !state->is_paused;
		return true;
	case 'm':
	case 'M':
		choose_metric(state, key == 'm' ? 1 : -1);
		return true;
	case 'z':
		state->wants_mark = true;
		return true;
	default:
		return gg_top_prompt_begin(state, snapshot, key);
	}
}

/*
 * Scrolls such a page by a key that moves; any other key closes it.  A page that has nothing to
 * scroll is closed by each key.
 */
static void press_in_page(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          int key)
{
	size_t step = key == GG_TOP_KEY_PAGE_UP || key == GG_TOP_KEY_PAGE_DOWN ? page_of(state) : 1;
	size_t last = gg_top_text_last_first_line(state, snapshot);
	size_t first = state->first_text_line < last ? state->first_text_line : last;
	/* At the end of the output, later lines are followed. */
	size_t end = state->mode == GG_TOP_MODE_OUTPUT ? SIZE_MAX : last;

	switch (last > 0 ? key : GG_TOP_KEY_ESCAPE) {
	case GG_TOP_KEY_UP:
	case GG_TOP_KEY_PAGE_UP:
	case 'k':
		state->first_text_line = first > step ? first - step : 0;
		break;
	case GG_TOP_KEY_DOWN:
	case GG_TOP_KEY_PAGE_DOWN:
	case 'j':
		state->first_text_line = first + step < last ? first + step : end;
		break;
	case GG_TOP_KEY_HOME:
	case 'g':
		state->first_text_line = 0;
		break;
	case GG_TOP_KEY_END:
	case 'G':
		state->first_text_line = end;
		break;
	default:
		state->mode = state->mode_below;
		state->wants_quit = key == GG_TOP_KEY_QUIT;
	}
}

void gg_top_keys_press(struct gg_top_state *state, const struct gg_top_snapshot *snapshot, int key)
{
	state->message[0] = '\0';
	switch (state->mode) {
	case GG_TOP_MODE_TYPE:
	case GG_TOP_MODE_QUESTION:
		gg_top_prompt_press(state, key);
		break;
	case GG_TOP_MODE_HELP:
	case GG_TOP_MODE_NOTES:
	case GG_TOP_MODE_WHY:
	case GG_TOP_MODE_OUTPUT:
		press_in_page(state, snapshot, key);
		break;
	case GG_TOP_MODE_SEARCH:
	case GG_TOP_MODE_FILTER:
		press_in_text(state, snapshot, key);
		break;
	case GG_TOP_MODE_DETAIL:
		if (!press_everywhere(state, snapshot, key))
			press_in_detail(state, detail_of(state, snapshot), key);
		break;
	default:
		if (!press_everywhere(state, snapshot, key))
			press_in_table(state, snapshot, key);
	}
	if (snapshot != NULL)
		gg_top_state_update(state, snapshot);
}
