/* SPDX-License-Identifier: Apache-2.0 */
/* top_mouse - finds what is under the mouse by the styles of the frame. */
#include "top/top_mouse.h"

#include <string.h>

#include "base/buf.h"
#include "top/top_keys.h"
#include "top/top_text.h"

enum { WHEEL_STEPS = 3 };

static bool is_heading(const struct gg_top_grid *grid, size_t row, size_t column)
{
	uint8_t style = gg_top_grid_cell(grid, row, column)->style;

	return style == GG_TOP_HEADING || style == GG_TOP_SORTED;
}

/* The column that a word of the headings names; GG_TOP_COLUMN_COUNT: none. */
static enum gg_top_column column_of(const char *word)
{
	static const struct {
		const char *word;
		enum gg_top_column column;
	} words[] = {
		{ "live", GG_TOP_BY_SELF },     { "growth", GG_TOP_BY_SELF },
		{ "pinned", GG_TOP_BY_SELF },   { "allocated", GG_TOP_BY_SELF },
		{ "change", GG_TOP_BY_CHANGE }, { "temporary", GG_TOP_BY_SELF },
		{ "blocks", GG_TOP_BY_BLOCKS }, { "allocates", GG_TOP_BY_RATE },
		{ "RSS", GG_TOP_BY_RATE },      { "age", GG_TOP_BY_AGE },
		{ "up", GG_TOP_BY_AGE },        { "command", GG_TOP_BY_NAME },
		{ "tree", GG_TOP_BY_NAME },
	};

	for (size_t i = 0; i < GG_COUNT(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].column;
	for (int by = 0; by < GG_GROUPING_COUNT; by++)
		if (strcmp(gg_grouping_name((enum gg_grouping)by), word) == 0)
			return GG_TOP_BY_NAME;
	return GG_TOP_COLUMN_COUNT;
}

/* Sorts by the heading of that place. */
static void click_heading(struct gg_top_state *state, const struct gg_top_grid *grid, size_t row,
                          size_t column)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf word = { 0 };
	enum gg_top_column sort;

	while (column > 0 && is_heading(grid, row, column - 1))
		column--;
	for (; column < grid->width && is_heading(grid, row, column); column++)
		gg_buf_append_text(&word, gg_top_grid_cell(grid, row, column)->text);
	sort = column_of(gg_buf_text(&word));
	if (sort == GG_TOP_COLUMN_COUNT)
		return;
	state->is_reversed = sort == state->sort && !state->is_reversed;
	state->sort = sort;
}

static bool has_cursor(const struct gg_top_grid *grid, size_t row)
{
	return gg_top_grid_cell(grid, row, 0)->style == GG_TOP_CURSOR;
}

static bool has_heading(const struct gg_top_grid *grid, size_t row)
{
	for (size_t column = 0; column < grid->width; column++)
		if (is_heading(grid, row, column))
			return true;
	return false;
}

static bool is_blank(const struct gg_top_grid *grid, size_t row)
{
	for (size_t column = 0; column < grid->width; column++)
		if (strcmp(gg_top_grid_cell(grid, row, column)->text, " ") != 0)
			return false;
	return true;
}

static void press_often(struct gg_top_state *state, const struct gg_top_snapshot *snapshot, int key,
                        size_t count)
{
	for (size_t i = 0; i < count; i++)
		gg_top_keys_press(state, snapshot, key);
}

/* Moves the cursor to a row of the table, which is between the headings and the last line. */
static void click_row(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                      const struct gg_top_grid *grid, size_t row)
{
	size_t cursor = 0, heading;

	while (cursor < grid->height && !has_cursor(grid, cursor))
		cursor++;
	if (cursor == grid->height)
		return;
	for (heading = cursor; heading > 0 && !has_heading(grid, heading);)
		heading--;
	if (row <= heading || row + 1 >= grid->height || is_blank(grid, row))
		return;
	if (row < cursor)
		press_often(state, snapshot, GG_TOP_KEY_UP, cursor - row);
	else
		press_often(state, snapshot, GG_TOP_KEY_DOWN, row - cursor);
}

/* True if the wheel has something to move. */
static bool scrolls(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	switch (state->mode) {
	case GG_TOP_MODE_TABLE:
	case GG_TOP_MODE_DETAIL:
		return true;
	case GG_TOP_MODE_HELP:
	case GG_TOP_MODE_NOTES:
	case GG_TOP_MODE_OUTPUT: /* a key would close a text that fits */
		return gg_top_text_last_first_line(state, snapshot) > 0;
	default:
		return false;
	}
}

void gg_top_mouse_press(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                        const struct gg_top_grid *grid, const struct gg_top_mouse *mouse)
{
	if (mouse->kind != GG_TOP_MOUSE_CLICK) {
		if (scrolls(state, snapshot))
			press_often(state, snapshot,
			            mouse->kind == GG_TOP_MOUSE_WHEEL_UP ? GG_TOP_KEY_UP
			                                                 : GG_TOP_KEY_DOWN,
			            WHEEL_STEPS);
		return;
	}
	if (state->mode != GG_TOP_MODE_TABLE || snapshot == NULL || mouse->row >= grid->height ||
	    mouse->column >= grid->width)
		return;
	if (is_heading(grid, mouse->row, mouse->column))
		click_heading(state, grid, mouse->row, mouse->column);
	else
		click_row(state, snapshot, grid, mouse->row);
	gg_top_state_update(state, snapshot);
}
