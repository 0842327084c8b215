/* SPDX-License-Identifier: Apache-2.0 */
/* top_notes - the notes of a recording on a screen of their own. */
#include "top/top_notes.h"

#include <string.h>

#include "report/screen_text.h"

enum { NOTES_HEAD_LINES = 2 };

/* All notes as lines of at most the grid's width. */
static void append_notes(const struct gg_top_grid *grid, const struct gg_top_state *state,
                         const struct gg_top_snapshot *snapshot, struct gg_buf *out)
{
	for (size_t i = 0; i < snapshot->note_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };

		gg_buf_printf(&note, "%zu. %s", i + 1, snapshot->notes[i]);
		gg_screen_text_append_paragraph(out, gg_buf_text(&note), grid->width, state->ascii);
		if (out->length > 0 && out->data[out->length - 1] != '\n')
			gg_buf_append_text(out, "\n");
	}
}

void gg_top_notes_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                       const struct gg_top_snapshot *snapshot)
{
	size_t room = grid->height > NOTES_HEAD_LINES + 1 ? grid->height - NOTES_HEAD_LINES - 1 : 0;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t line_count = 0, first = state->first_note_line;
	const char *line;

	append_notes(grid, state, snapshot, &text);
	for (line = gg_buf_text(&text); *line != '\0'; line += strcspn(line, "\n") + 1)
		line_count++;
	if (first + room > line_count)
		first = line_count > room ? line_count - room : 0;
	gg_top_grid_put(grid, 0, 0,
	                snapshot->note_count > 0 ? "Notes on the recording"
	                                         : "There are no notes on the recording",
	                GG_TOP_STRONG);
	line = gg_buf_text(&text);
	for (size_t i = 0; i < line_count; i++) {
		size_t length = strcspn(line, "\n");

		if (i >= first && i - first < room) {
			GG_CLEANUP(gg_buf_done) struct gg_buf one = { 0 };

			gg_buf_printf(&one, "%.*s", (int)length, line);
			gg_top_grid_put(grid, NOTES_HEAD_LINES + i - first, 0, gg_buf_text(&one),
			                GG_TOP_PLAIN);
		}
		line += length + 1;
	}
	gg_top_grid_put(grid, grid->height - 1, 0,
	                line_count > room ? "up, down scroll; any other key goes back"
	                                  : "any key goes back",
	                GG_TOP_FAINT);
}
