/* SPDX-License-Identifier: Apache-2.0 */
/* top_detail_frame - lays the pieces out as a list that scrolls with the cursor. */
#include "top/top_detail_frame.h"

#include <stdlib.h>

#include "report/screen_text.h"

enum { PIECE_SHARE_CELLS = 6, HEADING_LINES = 2 }; /* a heading stands below an empty line */

struct detail_drawing {
	struct gg_top_grid *grid;
	const struct gg_top_state *state;
	const struct gg_top_detail *detail;
	struct gg_figure_style figures;
	struct gg_figure_column column;
	size_t first_line, scrolled; /* lines above the first one that is shown */
};

static const char *heading_of(enum gg_row_part part)
{
	static const char *const headings[] = {
		[GG_PART_CALLERS] = "callers",
		[GG_PART_CALLEES] = "callees",
		[GG_PART_FUNCTIONS] = "functions that allocate",
		[GG_PART_LINES] = "lines",
		[GG_PART_AGES] = "ages of live blocks that the row allocated itself",
	};

	return headings[part];
}

/* Puts a text on a line of the list if it is in view. */
static void put(struct detail_drawing *drawing, size_t line, size_t column, const char *text,
                enum gg_top_style style)
{
	size_t at = drawing->first_line + line - drawing->scrolled;

	if (line >= drawing->scrolled && at + 1 < drawing->grid->height)
		gg_top_grid_put(drawing->grid, at, column, text, style);
}

/* "cache_fill (made): live 32.0 MiB ± 0.1 %, with callees 44.0 MiB ± 0.1 %". */
static void draw_title(struct detail_drawing *drawing)
{
	const struct gg_top_detail *detail = drawing->detail;
	bool has_total = detail->total.estimate != detail->self.estimate;
	GG_CLEANUP(gg_buf_done) struct gg_buf facts = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	size_t width = drawing->grid->width, taken;

	if (!detail->is_there) {
		gg_buf_append_text(&facts, "  holds nothing now");
	} else {
		gg_buf_append_text(&facts, "  ");
		gg_figure_append(&drawing->figures, &detail->self, &facts);
		if (has_total) {
			gg_buf_append_text(&facts, ", with callees ");
			gg_figure_append(&drawing->figures, &detail->total, &facts);
		}
	}
	taken = gg_screen_text_length(gg_buf_text(&facts));
	gg_screen_text_append(&name, detail->label, width > taken + 8 ? width - taken : 8,
	                      drawing->state->ascii);
	taken = gg_top_grid_put(drawing->grid, drawing->first_line, 0, gg_buf_text(&name),
	                        GG_TOP_STRONG);
	gg_top_grid_put(drawing->grid, drawing->first_line, taken, gg_buf_text(&facts),
	                GG_TOP_PLAIN);
	drawing->first_line++;
}

static void draw_piece(struct detail_drawing *drawing, const struct gg_top_piece *piece,
                       size_t line)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf share = { 0 };
	double whole = piece->part == GG_PART_AGES ? drawing->detail->self.estimate
	                                           : drawing->detail->total.estimate;
	size_t column = drawing->column.number_cells + drawing->column.error_cells + 2;
	size_t width = drawing->grid->width;

	gg_figure_column_append(&drawing->figures, &drawing->column, &piece->figure, &text);
	put(drawing, line, 0, gg_buf_text(&text), GG_TOP_PLAIN);
	gg_buf_clear(&text);
	gg_figure_append_percent(whole > 0 ? piece->figure.estimate / whole : 0, &share);
	gg_screen_text_append_right(&text, gg_buf_text(&share), PIECE_SHARE_CELLS);
	put(drawing, line, column, gg_buf_text(&text), GG_TOP_PLAIN);
	column += PIECE_SHARE_CELLS + 2;
	gg_buf_clear(&text);
	gg_screen_text_append(&text, piece->label, width > column ? width - column : 0,
	                      drawing->state->ascii);
	put(drawing, line, column, gg_buf_text(&text), GG_TOP_PLAIN);
}

/* Fits the column to all pieces, so that it stays as it is when the list scrolls. */
static void measure(struct detail_drawing *drawing)
{
	const struct gg_top_detail *detail = drawing->detail;
	struct gg_figure *figures = calloc(detail->piece_count + 1, sizeof(*figures));

	if (figures == NULL) {
		drawing->grid->failed = true;
		return;
	}
	for (size_t i = 0; i < detail->piece_count; i++)
		figures[i] = detail->pieces[i].figure;
	drawing->column = gg_figure_column_of(&drawing->figures, figures, detail->piece_count);
	free(figures);
}

static bool begins_part(const struct gg_top_detail *detail, size_t i)
{
	return i == 0 || detail->pieces[i].part != detail->pieces[i - 1].part;
}

/* The line of the list on which piece i stands. */
static size_t line_of(const struct gg_top_detail *detail, size_t piece)
{
	size_t line = piece;

	for (size_t i = 0; i <= piece && i < detail->piece_count; i++)
		line += begins_part(detail, i) ? HEADING_LINES : 0;
	return line;
}

void gg_top_detail_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                        const struct gg_top_detail *detail, size_t first_line)
{
	struct detail_drawing drawing = {
		.grid = grid, .state = state, .detail = detail, .first_line = first_line
	};
	size_t place = state->piece, line, room;

	drawing.figures.ascii = state->ascii;
	draw_title(&drawing);
	if (detail->piece_count == 0)
		return;
	measure(&drawing);
	place = place < detail->piece_count ? place : detail->piece_count - 1;
	room = grid->height > drawing.first_line + 1 ? grid->height - drawing.first_line - 1 : 1;
	line = line_of(detail, place);
	drawing.scrolled = line >= room ? line - room + 1 : 0;
	line = 0;
	for (size_t i = 0; i < detail->piece_count && line < drawing.scrolled + room; i++, line++) {
		if (begins_part(detail, i)) {
			line += HEADING_LINES;
			put(&drawing, line - 1, 0, heading_of(detail->pieces[i].part),
			    GG_TOP_HEADING);
		}
		if (line < drawing.scrolled || line >= drawing.scrolled + room)
			continue;
		draw_piece(&drawing, &detail->pieces[i], line);
		if (i == place)
			gg_top_grid_paint(grid, drawing.first_line + line - drawing.scrolled,
			                  GG_TOP_CURSOR);
	}
}
