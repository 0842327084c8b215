/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_grid - a screen in memory: cells with a text and a style each.
 *
 *   struct gg_top_grid grid = { 0 };
 *
 *   gg_top_grid_resize(&grid, 80, 24);
 *   gg_top_grid_put(&grid, 0, 2, "live 271.4 MiB", GG_TOP_STRONG);
 *   gg_top_grid_append(&grid, &style, &out);
 *   gg_top_grid_done(&grid);
 *
 * Texts are cut at the edge of the grid.  Control characters and bytes that are not UTF-8 become
 * '?', so that no name from a profiled program reaches a terminal as a command.  A character of
 * two cells has its text in the first one, and the second one is empty.
 *
 * Threads  One owner at a time.  Without memory, `failed` is set and the grid is empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "report/style.h"

enum gg_top_style {
	GG_TOP_PLAIN,
	GG_TOP_HEADING,
	GG_TOP_STRONG,
	GG_TOP_GREW,   /* a significant growth */
	GG_TOP_SHRANK, /* a significant decrease */
	GG_TOP_FAINT,
	GG_TOP_CURSOR,
	GG_TOP_WARNING,
	GG_TOP_SORTED, /* the heading of the column by which rows are sorted */
	GG_TOP_BAR,
};

enum { GG_TOP_CELL_BYTES = 16 };

struct gg_top_cell {
	/* A character of UTF-8 with the accents on it; "": the second cell of a wide one. */
	char text[GG_TOP_CELL_BYTES];
	uint8_t style; /* enum gg_top_style */
};

struct gg_top_grid {
	struct gg_top_cell *cells; /* row by row; width * height */
	size_t width, height;
	bool failed;
};

void gg_top_grid_done(struct gg_top_grid *grid);

/* Sets the size and empties all cells. */
void gg_top_grid_resize(struct gg_top_grid *grid, size_t width, size_t height);

const struct gg_top_cell *gg_top_grid_cell(const struct gg_top_grid *grid, size_t row,
                                           size_t column);

/* Puts a text at a place and returns the column behind it; outside the grid it does nothing. */
size_t gg_top_grid_put(struct gg_top_grid *grid, size_t row, size_t column, const char *text,
                       enum gg_top_style style);
/* Puts a text so that it ends before column `end`; a longer text begins at column 0. */
void gg_top_grid_put_right(struct gg_top_grid *grid, size_t row, size_t end, const char *text,
                           enum gg_top_style style);
/* Gives all cells of a row one style. */
void gg_top_grid_paint(struct gg_top_grid *grid, size_t row, enum gg_top_style style);

/* Appends the rows as lines without blanks at their ends.  `style` has the colors. */
void gg_top_grid_append(const struct gg_top_grid *grid, const struct gg_style *style,
                        struct gg_buf *out);
