/* SPDX-License-Identifier: Apache-2.0 */
/* top_text - the help, the notes and the rows of RSS as lines that scroll. */
#include "top/top_text.h"

#include <stdio.h>
#include <string.h>

#include "report/report_why.h"
#include "report/screen_text.h"
#include "top/top_age.h"

enum {
	TITLE_LINES = 2,
	HINT_LINES = 1,
	KEYS_CELLS = 29,        /* the column of keys in the help */
	INDENT_CELLS = 4,       /* of meanings on a narrow screen, where each has its own lines */
	TWO_COLUMNS_LEAST = 60, /* a screen of fewer cells is narrow */
};

/* Keys, and what they do. */
static const struct {
	const char *keys, *meaning;
} help_lines[] = {
	{ "q, F10", "quit" },
	{ "?, h, F1", "this help; up and down scroll it, any other key closes it" },
	{ "space, p", "pause the display; looks go on" },
	{ "up, down, j, k", "move the cursor, which follows its row" },
	{ "PgUp, PgDn, Home, End, g, G", "move it far" },
	{ "Enter", "open the row: callers, callees, lines, ages; Esc goes back" },
	{ "0", "the processes: of a profile, or all that run under the agent" },
	{ "1 to 9", "functions, lines, stacks, modules, threads, sizes, kinds, heaps, types" },
	{ "Enter; left, Esc", "open a process of the list; go back to the list" },
	{ "a",
	  "in the list: show or hide processes that ended, or have no agent; Enter attaches it" },
	{ "t, F5", "callers and callees as a tree" },
	{ "right, left, +, -", "in the tree: open a row, close it or go to its caller" },
	{ "R", "where RSS goes: the rows of geiger why" },
	{ "v", "what the recorded command prints (geiger top -- COMMAND)" },
	{ "!", "all notes on the recording" },
	{ "m, M", "next, previous metric: live, growth, allocated, temporary, pinned" },
	{ "<, >, F6", "sort by another column" },
	{ "r", "reverse the order" },
	{ "/, F3, then n, N", "search a name, the next one, the one before" },
	{ "f, \\, F4", "show only names with a part; Esc shows all again" },
	{ "z", "set the mark: changes count from now on" },
	{ "w", "write a profile of the process as it is then, also while the display is paused" },
	{ "d", "set the time between looks" },
	{ "o, i", "switch sampling on or off; set its interval; both ask first" },
	{ "wheel, click", "move the cursor; sort by a heading, again: reverse" },
	{ "Ctrl-L, Ctrl-Z", "draw the screen anew; suspend" },
};

/* Appends a paragraph of at most `width` cells with each line behind `indent` blanks. */
static void append_indented(const char *text, size_t width, size_t indent, bool ascii,
                            struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf lines = { 0 };
	const char *line;

	gg_screen_text_append_paragraph(&lines, text, width - indent, ascii);
	for (line = gg_buf_text(&lines); *line != '\0';) {
		size_t length = strcspn(line, "\n");

		if (line != gg_buf_text(&lines))
			gg_buf_printf(out, "%*s", (int)indent, "");
		gg_buf_printf(out, "%.*s\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

static void append_help(const struct gg_top_state *state, struct gg_buf *out)
{
	bool is_narrow = state->width < TWO_COLUMNS_LEAST;

	for (size_t i = 0; i < GG_COUNT(help_lines); i++) {
		if (is_narrow)
			gg_buf_printf(out, "%s\n%*s", help_lines[i].keys, INDENT_CELLS, "");
		else
			gg_buf_printf(out, "%-*s", KEYS_CELLS, help_lines[i].keys);
		append_indented(help_lines[i].meaning, state->width,
		                is_narrow ? INDENT_CELLS : KEYS_CELLS, state->ascii, out);
	}
}

/* All notes as lines of at most the width. */
static void append_notes(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         struct gg_buf *out)
{
	for (size_t i = 0; snapshot != NULL && i < snapshot->note_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };

		gg_buf_printf(&note, "%zu. %s", i + 1, snapshot->notes[i]);
		gg_screen_text_append_paragraph(out, gg_buf_text(&note), state->width,
		                                state->ascii);
	}
}

/* The rows of RSS, as `geiger why` prints them. */
static void append_why(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                       struct gg_buf *out)
{
	const struct gg_report report = { .confidence = snapshot != NULL ? snapshot->confidence : 0,
		                          .width = state->width,
		                          .name_width = state->width,
		                          .figures.ascii = state->ascii,
		                          .style = gg_style_for(GG_COLOR_NEVER, -1),
		                          .head = GG_HEAD_TITLE };

	if (snapshot != NULL && snapshot->has_why && snapshot->why.table_count > 0)
		gg_report_why_text(&report, &snapshot->why, out);
}

/* The end of the output, a paragraph for each of its lines. */
static void append_output(const struct gg_top_state *state, struct gg_buf *out)
{
	for (const char *line = state->output; line != NULL && *line != '\0';) {
		size_t length = strcspn(line, "\n");
		GG_CLEANUP(gg_buf_done) struct gg_buf one = { 0 };

		gg_buf_append(&one, line, length);
		if (length == 0)
			gg_buf_append_text(out, "\n");
		else
			gg_screen_text_append_paragraph(out, gg_buf_text(&one), state->width,
			                                state->ascii);
		line += length + (line[length] == '\n');
	}
}

static void append_text(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                        struct gg_buf *out)
{
	/* A narrower screen shows no text, and a paragraph needs room behind its indentation. */
	if (state->width < GG_TOP_LEAST_WIDTH)
		return;
	if (state->mode == GG_TOP_MODE_HELP)
		append_help(state, out);
	else if (state->mode == GG_TOP_MODE_WHY)
		append_why(state, snapshot, out);
	else if (state->mode == GG_TOP_MODE_OUTPUT)
		append_output(state, out);
	else
		append_notes(state, snapshot, out);
}

static size_t room_of(const struct gg_top_state *state)
{
	size_t taken = TITLE_LINES + (state->is_batch ? 0 : HINT_LINES);

	return state->height > taken ? state->height - taken : 0;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static size_t last_first_line(const struct gg_top_state *state, const char *text)
{
	size_t count = count_lines(text), room = room_of(state);

	return count > room ? count - room : 0;
}

size_t gg_top_text_last_first_line(const struct gg_top_state *state,
                                   const struct gg_top_snapshot *snapshot)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	append_text(state, snapshot, &text);
	return last_first_line(state, gg_buf_text(&text));
}

/* Appends the title of the rows of RSS, with the age of a look at a process that runs. */
static void append_title_of_why(const struct gg_top_snapshot *snapshot, struct gg_buf *out)
{
	const struct gg_top_process *process = &snapshot->process;
	double age_ns;

	if (!snapshot->has_why) {
		gg_buf_append_text(out, "The next look ...");
		return;
	}
	if (snapshot->why.table_count == 0) {
		gg_buf_append_text(out, "No look has seen the memory of the process");
		return;
	}
	gg_buf_append_text(out, "Where RSS goes");
	if (!process->is_process)
		return;
	age_ns = (double)(process->now_ns - snapshot->why.tables[0].why.time_ns);
	gg_buf_append_text(out, ", as it was ");
	gg_top_age_append(age_ns > 0 ? age_ns : 0, GG_TOP_AGE_TENTHS, out);
	gg_buf_append_text(out, " ago");
}

static void append_title(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         struct gg_buf *out)
{
	if (state->mode == GG_TOP_MODE_HELP)
		gg_buf_append_text(out, "Keys");
	else if (state->mode == GG_TOP_MODE_WHY)
		append_title_of_why(snapshot, out);
	else if (state->mode == GG_TOP_MODE_OUTPUT)
		gg_buf_append_text(out, state->output != NULL && state->output[0] != '\0'
		                                ? "The end of what the command printed"
		                                : "The command has printed nothing yet");
	else
		gg_buf_append_text(out, snapshot != NULL && snapshot->note_count > 0
		                                ? "Notes on the recording"
		                                : "There are no notes on the recording");
}

size_t gg_top_text_height(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	append_text(state, snapshot, &text);
	return TITLE_LINES + count_lines(gg_buf_text(&text));
}

void gg_top_text_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                      const struct gg_top_snapshot *snapshot)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf title = { 0 };
	size_t room = room_of(state), last, first = state->first_text_line;
	const char *line;

	append_text(state, snapshot, &text);
	line = gg_buf_text(&text);
	last = last_first_line(state, line);
	if (first > last) /* the screen has become larger */
		first = last;
	append_title(state, snapshot, &title);
	gg_top_grid_put(grid, 0, 0, gg_buf_text(&title), GG_TOP_STRONG);
	for (size_t i = 0; *line != '\0' && i < first + room; i++) {
		size_t length = strcspn(line, "\n");
		GG_CLEANUP(gg_buf_done) struct gg_buf one = { 0 };

		gg_buf_printf(&one, "%.*s", (int)length, line);
		if (i >= first)
			gg_top_grid_put(grid, TITLE_LINES + i - first, 0, gg_buf_text(&one),
			                GG_TOP_PLAIN);
		line += length + (line[length] == '\n');
	}
	if (state->is_batch)
		return;
	gg_top_grid_put(grid, grid->height - 1, 0,
	                last > 0 ? "up, down scroll; any other key goes back" : "any key goes back",
	                GG_TOP_FAINT);
}
