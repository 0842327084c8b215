/* SPDX-License-Identifier: Apache-2.0 */
/* top_grid - puts cleaned texts into cells, and prints the cells as lines. */
#include "top/top_grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/printable.h"
#include "report/screen_text.h"
#include "report/text_cells.h"

void gg_top_grid_done(struct gg_top_grid *grid)
{
	free(grid->cells);
	*grid = (struct gg_top_grid){ 0 };
}

static void clear_cell(struct gg_top_cell *cell)
{
	*cell = (struct gg_top_cell){ .text = " " };
}

void gg_top_grid_resize(struct gg_top_grid *grid, size_t width, size_t height)
{
	struct gg_top_cell *cells = calloc(width * height + 1, sizeof(*cells));

	free(grid->cells);
	*grid = (struct gg_top_grid){ .cells = cells, .failed = cells == NULL };
	if (cells == NULL)
		return;
	grid->width = width;
	grid->height = height;
	for (size_t i = 0; i < width * height; i++)
		clear_cell(&cells[i]);
}

static struct gg_top_cell *cell_at(struct gg_top_grid *grid, size_t row, size_t column)
{
	gg_assert(row < grid->height && column < grid->width);
	return &grid->cells[row * grid->width + column];
}

const struct gg_top_cell *gg_top_grid_cell(const struct gg_top_grid *grid, size_t row,
                                           size_t column)
{
	gg_assert(row < grid->height && column < grid->width);
	return &grid->cells[row * grid->width + column];
}

/* Adds an accent to the character before it, if the cell has room. */
static void add_accent(struct gg_top_grid *grid, size_t row, size_t column, const char *text,
                       size_t length)
{
	struct gg_top_cell *cell;
	size_t used;

	if (column == 0)
		return;
	cell = cell_at(grid, row, column - 1);
	used = strlen(cell->text);
	if (used == 0 || used + length >= sizeof(cell->text))
		return;
	memcpy(cell->text + used, text, length);
	cell->text[used + length] = '\0';
}

size_t gg_top_grid_put(struct gg_top_grid *grid, size_t row, size_t column, const char *text,
                       enum gg_top_style style)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf clean = { 0 };
	const char *at;

	gg_printable_append(&clean, text, strlen(text), GG_PRINTABLE_MARK);
	grid->failed |= clean.failed;
	if (row >= grid->height)
		return column;
	for (at = gg_buf_text(&clean); *at != '\0' && column < grid->width;) {
		int code;
		size_t length = gg_printable_next(at, strlen(at), &code);
		size_t cells = gg_text_cells(at, length);

		if (column + cells > grid->width)
			break;
		if (cells == 0) {
			add_accent(grid, row, column, at, length);
		} else {
			struct gg_top_cell *cell = cell_at(grid, row, column);

			*cell = (struct gg_top_cell){ .style = (uint8_t)style };
			memcpy(cell->text, at, length);
		}
		for (size_t i = 1; i < cells; i++)
			*cell_at(grid, row,
			         column + i) = (struct gg_top_cell){ .style = (uint8_t)style };
		column += cells;
		at += length;
	}
	return column;
}

void gg_top_grid_put_right(struct gg_top_grid *grid, size_t row, size_t end, const char *text,
                           enum gg_top_style style)
{
	size_t length = gg_screen_text_length(text);

	gg_top_grid_put(grid, row, end > length ? end - length : 0, text, style);
}

void gg_top_grid_paint(struct gg_top_grid *grid, size_t row, enum gg_top_style style)
{
	for (size_t column = 0; row < grid->height && column < grid->width; column++)
		cell_at(grid, row, column)->style = (uint8_t)style;
}

/* The sequence of a cell; colors exist only if `colors` has them. */
static const char *sequence_of(const struct gg_style *colors, uint8_t style)
{
	switch (style) {
	case GG_TOP_HEADING:
	case GG_TOP_SORTED:
		return colors->heading;
	case GG_TOP_GREW:
	case GG_TOP_WARNING:
		return colors->error;
	case GG_TOP_STRONG:
	case GG_TOP_SHRANK:
	case GG_TOP_CURSOR:
		return colors->strong;
	default:
		return "";
	}
}

static bool is_blank(const struct gg_top_cell *cell)
{
	return strcmp(cell->text, " ") == 0;
}

static void append_row(const struct gg_top_grid *grid, const struct gg_style *style, size_t row,
                       struct gg_buf *out)
{
	const struct gg_top_cell *cells = grid->cells + row * grid->width;
	const char *sequence = "";
	size_t end = grid->width;

	while (end > 0 && is_blank(&cells[end - 1]))
		end--;
	for (size_t i = 0; i < end; i++) {
		const char *wanted = sequence_of(style, cells[i].style);

		if (strcmp(wanted, sequence) != 0) {
			gg_buf_append_text(out, sequence[0] != '\0' ? style->reset : "");
			gg_buf_append_text(out, wanted);
			sequence = wanted;
		}
		gg_buf_append_text(out, cells[i].text);
	}
	gg_buf_append_text(out, sequence[0] != '\0' ? style->reset : "");
	gg_buf_append_text(out, "\n");
}

void gg_top_grid_append(const struct gg_top_grid *grid, const struct gg_style *style,
                        struct gg_buf *out)
{
	for (size_t row = 0; row < grid->height; row++)
		append_row(grid, style, row, out);
	out->failed |= grid->failed;
}
