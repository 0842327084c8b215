/* SPDX-License-Identifier: Apache-2.0 */
/* top_frame - the head and the table of a frame. */
#include "top/top_frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"
#include "report/report.h"
#include "report/screen_text.h"
#include "top/top_age.h"
#include "top/top_detail_frame.h"
#include "top/top_list_frame.h"
#include "top/top_prompt.h"
#include "top/top_text.h"

enum {
	NAME_CELLS_LEAST = 22, /* cells of a name that other columns do not take */
	NUMBER_LEAST = 9,      /* cells of numbers with their unit: figures keep their places */
	ERROR_LEAST = 8,       /* cells of uncertainties */
	BAR_CELLS = 4,         /* of the share of the whole */
	CHANGE_CELLS = 10,     /* "+123.4 MiB" */
	RATE_CELLS = 11,       /* "123.4 MiB/s" */
	BLOCKS_CELLS = 8,      /* "123.4 k" */
	AGE_CELLS = 7,         /* "99 min" */
	HEAD_LINES = 2,        /* the process, and its memory */
	CHART_LINES = 3,
	CHART_HEIGHT_LEAST = 20, /* a lower screen has no chart */
};

/* A frame that is being drawn. */
struct frame_run {
	struct gg_top_grid *grid;
	const struct gg_top_state *state;
	const struct gg_top_snapshot *snapshot;
	struct gg_figure_style figures;
	size_t *order; /* rows of the snapshot */
	size_t count;
	size_t row; /* the next line */
	struct gg_figure_column self;
	bool has_bar, has_change, has_rate, has_blocks, has_age;
};

static void append_number(const struct frame_run *run, double value, enum gg_quantity quantity,
                          struct gg_buf *out)
{
	gg_figure_append_number(&run->figures, value, quantity, out);
}

static void append_figure(const struct frame_run *run, const struct gg_figure *figure,
                          struct gg_buf *out)
{
	gg_figure_append(&run->figures, figure, out);
}

/* --- the head ------------------------------------------------------------------------------- */

/* "geiger top  4711 python3 songs.py  recorded for 3 min 12 s  every 512 KiB  1234 samples". */
static void draw_process(struct frame_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;
	const struct gg_top_process *process = &snapshot->process;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf facts = { 0 };
	size_t taken;

	gg_buf_append_text(&facts, "  recorded for ");
	gg_report_append_time(process->now_ns, &facts);
	if (process->is_exact) {
		gg_buf_printf(&facts, "  exact  %" PRIu64 " allocations", snapshot->sample_count);
	} else {
		gg_buf_append_text(&facts,
		                   process->is_active ? "  one sample per " : "  off, was ");
		append_number(run, (double)process->interval_bytes, GG_BYTES, &facts);
		gg_buf_printf(&facts, "  %" PRIu64 " samples", snapshot->sample_count);
	}
	if (process->pid != 0)
		gg_buf_printf(&text, "%" PRIu32 " ", process->pid);
	taken = gg_screen_text_length(gg_buf_text(&facts)) + text.length;
	gg_screen_text_append(&text, snapshot->command,
	                      run->grid->width > taken + NAME_CELLS_LEAST / 2
	                              ? run->grid->width - taken
	                              : NAME_CELLS_LEAST / 2,
	                      run->state->ascii);
	taken = gg_top_grid_put(run->grid, run->row, 0, gg_buf_text(&text), GG_TOP_STRONG);
	gg_top_grid_put(run->grid, run->row++, taken, gg_buf_text(&facts), GG_TOP_PLAIN);
}

/* "live 271.4 MiB +- 9 %  RSS 312.0 MiB  highest 280.1 MiB  allocates 12.3 MiB/s". */
static void draw_memory(struct frame_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, "live ");
	append_figure(run, &snapshot->live, &text);
	if (snapshot->process.rss_bytes >= 0) {
		gg_buf_append_text(&text, "  RSS ");
		append_number(run, snapshot->process.rss_bytes, GG_BYTES, &text);
	}
	if (snapshot->process.peak_bytes >= 0) {
		gg_buf_append_text(&text, "  highest ");
		append_number(run, snapshot->process.peak_bytes, GG_BYTES, &text);
	}
	gg_buf_append_text(&text, "  allocates ");
	append_number(run, snapshot->total.allocated_per_second, GG_BYTES, &text);
	gg_buf_append_text(&text, "/s");
	gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_PLAIN);
}

/* "Attached 3 h 0 min after the start; 150.0 MiB are older and not shown.". */
static void draw_attach(struct frame_run *run)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (!run->snapshot->is_attached)
		return;
	gg_buf_append_text(&text, "Attached ");
	if (run->snapshot->attached_age_ns >= 0) {
		gg_report_append_time(run->snapshot->attached_age_ns, &text);
		gg_buf_append_text(&text, " after the start; ");
	} else {
		gg_buf_append_text(&text, "while it ran; ");
	}
	if (run->snapshot->older_bytes >= 0) {
		append_number(run, (double)run->snapshot->older_bytes, GG_BYTES, &text);
		gg_buf_append_text(&text, " are older and not shown.");
	} else {
		gg_buf_append_text(&text, "what is older is not shown.");
	}
	gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_PLAIN);
}

/* "Held: overhead 0.48 % of 0.5 %, error 4.2 % of 5 %". */
static void draw_held(struct frame_run *run)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf held = { 0 }, text = { 0 };

	gg_report_append_held_short(&run->snapshot->held, &held);
	if (held.length == 0)
		return;
	gg_buf_printf(&text, "Held: %s", gg_buf_text(&held));
	gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_PLAIN);
}

/* The last line that the recorded command printed. */
static void draw_output(struct frame_run *run)
{
	const char *end = run->state->output + strlen(run->state->output), *begin;
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	while (end > run->state->output && end[-1] == '\n')
		end--;
	for (begin = end; begin > run->state->output && begin[-1] != '\n';)
		begin--;
	gg_buf_append(&line, begin, (size_t)(end - begin));
	gg_buf_append_text(&text, "output (v shows more): ");
	gg_screen_text_append(&text, line.length > 0 ? gg_buf_text(&line) : "none yet",
	                      run->grid->width > text.length ? run->grid->width - text.length : 0,
	                      run->state->ascii);
	gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_PLAIN);
}

static void draw_notes(struct frame_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	draw_attach(run);
	draw_held(run);
	if (snapshot->process.news != NULL)
		gg_top_grid_put(run->grid, run->row++, 0, snapshot->process.news, GG_TOP_WARNING);
	if (snapshot->process.is_process && !snapshot->process.is_alive) {
		gg_buf_printf(&text, "The process %s; this is its last state.",
		              snapshot->process.end[0] != '\0' ? snapshot->process.end
		                                               : "has ended");
		gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_WARNING);
		gg_buf_clear(&text);
	}
	if (snapshot->process.look_every_ns > 0) {
		gg_buf_append_text(&text, "Looks take long, so one comes every ");
		gg_top_age_append(snapshot->process.look_every_ns, GG_TOP_AGE_TENTHS, &text);
		gg_buf_append_text(&text, ": they use a fifth of a processor at most.");
		gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_WARNING);
		gg_buf_clear(&text);
	}
	if (snapshot->lack != NULL)
		gg_top_grid_put(run->grid, run->row++, 0, snapshot->lack, GG_TOP_WARNING);
	if (run->state->output != NULL)
		draw_output(run);
	if (snapshot->note_count == 0)
		return;
	gg_buf_append_text(&text, "note: ");
	if (snapshot->note_count > 1)
		gg_buf_printf(&text, "(1 of %zu%s) ", snapshot->note_count,
		              run->state->is_batch ? "" : ", ! shows all");
	gg_buf_append_text(&text, snapshot->notes[0]);
	gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&text), GG_TOP_WARNING);
}

/* Live memory with its interval and RSS, a dot for each poll, the newest at the right edge. */
static void draw_chart(struct frame_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;
	bool ascii = run->state->ascii;
	size_t room = run->grid->width * (ascii ? 1 : GG_CHART_DOTS), from = 0, shown;
	struct gg_chart_column *columns = calloc(room, sizeof(*columns));
	struct gg_chart chart = { .columns = columns,
		                  .column_count = room,
		                  .width = run->grid->width,
		                  .height = CHART_LINES,
		                  .ascii = ascii };
	double most = 0;

	if (columns == NULL) {
		run->grid->failed = true;
		return;
	}
	if (snapshot->column_count > room)
		from = snapshot->column_count - room;
	shown = snapshot->column_count - from;
	for (size_t i = 0; i < room; i++) {
		columns[i] = (struct gg_chart_column){ NAN, NAN, NAN };
		if (i >= room - shown)
			columns[i] = snapshot->columns[from + i - (room - shown)];
		if (isfinite(columns[i].high))
			most = fmax(most, columns[i].high);
		if (isfinite(columns[i].line))
			most = fmax(most, columns[i].line);
	}
	chart.top = gg_chart_top(most > 0 ? most : 1);
	for (size_t row = 0; row < CHART_LINES; row++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };

		gg_chart_append_row(&chart, row, &line);
		gg_top_grid_put(run->grid, run->row++, 0, gg_buf_text(&line), GG_TOP_PLAIN);
	}
	free(columns);
}

/* The keys that the last line names. */
static const char *foot_of(const struct gg_top_snapshot *snapshot)
{
	if (snapshot->entries != NULL)
		return "  q quit  ? keys  Enter open  a all  > sort  / search  f filter";
	if (snapshot->is_tree)
		return "  t table  right/+ left/- open, close  Enter detail  q quit  ? keys";
	return "  q quit  ? keys  1-9 rows  0 processes  t tree  m metric  > sort";
}

/* The last line: a text that is typed, or what keys do. */
static void draw_foot(struct frame_run *run)
{
	const struct gg_top_state *state = run->state;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (state->message[0] != '\0')
		gg_buf_append_text(&text, state->message);
	else if (state->mode == GG_TOP_MODE_TYPE || state->mode == GG_TOP_MODE_QUESTION)
		gg_top_prompt_append(state, run->snapshot, &text);
	else if (state->mode == GG_TOP_MODE_SEARCH)
		gg_buf_printf(&text, "search: %s_", state->search);
	else if (state->mode == GG_TOP_MODE_FILTER)
		gg_buf_printf(&text, "only names with: %s_", state->filter);
	else if (state->opened != NULL)
		gg_buf_printf(&text, "%sEsc back  Enter opens a function  q quit  ? keys",
		              state->is_paused ? "PAUSED  " : "");
	else {
		gg_buf_printf(&text, "%s%zu of %zu", state->is_paused ? "PAUSED  " : "",
		              run->count > 0 ? state->cursor + 1 : 0, run->count);
		if (state->filter[0] != '\0')
			gg_buf_printf(&text, " with '%s'", state->filter);
		gg_buf_append_text(&text, foot_of(run->snapshot));
	}
	gg_top_grid_put(run->grid, run->grid->height - 1, 0, gg_buf_text(&text),
	                state->message[0] == '\0' && (state->mode == GG_TOP_MODE_TABLE ||
	                                              state->mode == GG_TOP_MODE_DETAIL)
	                        ? GG_TOP_FAINT
	                        : GG_TOP_STRONG);
}

/* --- the table ------------------------------------------------------------------------------ */

static size_t name_column_of(const struct frame_run *run)
{
	return run->self.number_cells + run->self.error_cells + 2 +
	       (run->has_bar ? BAR_CELLS + 1 : 0) + (run->has_change ? CHANGE_CELLS + 2 : 0) +
	       (run->has_rate ? RATE_CELLS + 2 : 0) + (run->has_blocks ? BLOCKS_CELLS + 2 : 0) +
	       (run->has_age ? AGE_CELLS + 2 : 0);
}

static bool has_room(const struct frame_run *run)
{
	return name_column_of(run) + NAME_CELLS_LEAST <= run->grid->width;
}

static void choose_columns(struct frame_run *run)
{
	bool is_live = run->snapshot->metric == GG_TOP_LIVE ||
	               run->snapshot->metric == GG_TOP_GROWTH;

	run->has_bar = !run->state->is_batch;
	run->has_bar = run->has_bar && has_room(run);
	run->has_change = is_live && run->snapshot->mark_ns != GG_TIME_NONE;
	run->has_rate = !run->snapshot->is_tree;
	run->has_rate = run->has_rate && has_room(run);
	run->has_age = is_live && run->has_rate;
	run->has_age = run->has_age && has_room(run);
	run->has_blocks = run->has_rate || run->snapshot->is_tree;
	run->has_blocks = run->has_blocks && has_room(run);
}

static void measure(struct frame_run *run, size_t first, size_t shown)
{
	struct gg_figure *figures = calloc(shown + 1, sizeof(*figures));

	if (figures == NULL) {
		run->grid->failed = true;
		return;
	}
	for (size_t i = 0; i < shown; i++)
		figures[i] = run->snapshot->rows[run->order[first + i]].self;
	run->self = gg_figure_column_of(&run->figures, figures, shown);
	free(figures);
	if (run->self.number_cells < NUMBER_LEAST)
		run->self.number_cells = NUMBER_LEAST;
	if (run->self.error_cells < ERROR_LEAST)
		run->self.error_cells = ERROR_LEAST;
}

/* The heading of the column that sorts the rows looks different, except in text. */
static enum gg_top_style heading_style(const struct frame_run *run, enum gg_top_column column)
{
	return column == run->state->sort && !run->state->is_batch ? GG_TOP_SORTED : GG_TOP_HEADING;
}

static void draw_headings(struct frame_run *run)
{
	const struct gg_top_snapshot *snapshot = run->snapshot;
	const struct {
		bool is_shown;
		size_t cells;
		const char *name;
		enum gg_top_column column;
	} columns[] = {
		{ run->has_change, CHANGE_CELLS, "change", GG_TOP_BY_CHANGE },
		{ run->has_rate, RATE_CELLS, "allocates", GG_TOP_BY_RATE },
		{ run->has_blocks, BLOCKS_CELLS, "blocks", GG_TOP_BY_BLOCKS },
		{ run->has_age, AGE_CELLS, "age", GG_TOP_BY_AGE },
	};
	size_t row = run->row++, end = run->self.number_cells;

	gg_top_grid_put_right(run->grid, row, end, gg_top_metric_name(snapshot->metric),
	                      heading_style(run, GG_TOP_BY_SELF));
	end += run->self.error_cells + 2 + (run->has_bar ? BAR_CELLS + 1 : 0);
	for (size_t i = 0; i < GG_COUNT(columns); i++) {
		if (!columns[i].is_shown)
			continue;
		end += columns[i].cells;
		gg_top_grid_put_right(run->grid, row, end, columns[i].name,
		                      heading_style(run, columns[i].column));
		end += 2;
	}
	gg_top_grid_put(run->grid, row, end,
	                snapshot->is_tree ? "tree" : gg_grouping_name(snapshot->by),
	                heading_style(run, GG_TOP_BY_NAME));
}

/* The row's share of the whole as a bar, in eighths of a cell. */
static void draw_bar(struct frame_run *run, const struct gg_top_row *row, size_t column)
{
	static const char *const parts[] = { "",
		                             "\xe2\x96\x8f",
		                             "\xe2\x96\x8e",
		                             "\xe2\x96\x8d",
		                             "\xe2\x96\x8c",
		                             "\xe2\x96\x8b",
		                             "\xe2\x96\x8a",
		                             "\xe2\x96\x89",
		                             "\xe2\x96\x88" };
	double whole = run->snapshot->total.self.estimate;
	double share = whole > 0 ? fmin(row->self.estimate / whole, 1) : 0;
	size_t eighths = (size_t)(share * BAR_CELLS * 8 + 0.5);
	GG_CLEANUP(gg_buf_done) struct gg_buf bar = { 0 };

	for (; eighths >= 8; eighths -= 8)
		gg_buf_append_text(&bar, run->state->ascii ? "#" : parts[8]);
	if (run->state->ascii)
		gg_buf_append_text(&bar, eighths >= 4 ? "#" : "");
	else
		gg_buf_append_text(&bar, parts[eighths]);
	gg_top_grid_put(run->grid, run->row, column, gg_buf_text(&bar), GG_TOP_BAR);
}

/* The change with its sign if it is significant; a dot if it is not; "?" if nothing tests it. */
static enum gg_top_style append_change(const struct frame_run *run, const struct gg_top_row *row,
                                       struct gg_buf *out)
{
	if (!row->has_change)
		return GG_TOP_PLAIN;
	if (isnan(row->p_value)) {
		gg_buf_append_text(out, "?");
		return GG_TOP_FAINT;
	}
	if (!row->is_significant) {
		gg_buf_append_text(out, run->state->ascii ? "." : "\xc2\xb7");
		return GG_TOP_FAINT;
	}
	gg_buf_append_text(out, row->change.estimate > 0 ? "+" : "-");
	append_number(run, fabs(row->change.estimate), GG_BYTES, out);
	return row->change.estimate > 0 ? GG_TOP_GREW : GG_TOP_SHRANK;
}

/* Callees are one cell to the right of their caller, up to half of the column. */
static void append_branch(const struct frame_run *run, const struct gg_top_row *row, size_t width,
                          struct gg_buf *out)
{
	size_t indentation = row->depth < width / 2 ? row->depth : width / 2;

	gg_buf_printf(out, "%*s%s ", (int)indentation, "",
	              !row->has_callees                           ? " "
	              : gg_top_state_is_row_open(run->state, row) ? "-"
	                                                          : "+");
}

/* The name of a function that does not fit loses its module before it loses letters. */
static void append_name(const struct frame_run *run, const struct gg_top_row *row, size_t width,
                        struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	const char *module = strstr(row->label, " (");
	bool is_function = run->snapshot->by == GG_BY_FUNCTION && module != NULL;

	for (const char *next; is_function && (next = strstr(module + 1, " (")) != NULL;)
		module = next;
	if (is_function && gg_screen_text_length(row->label) > width)
		gg_buf_append(&name, row->label, (size_t)(module - row->label));
	else
		gg_buf_append_text(&name, row->label);
	gg_screen_text_append(out, gg_buf_text(&name), width, run->state->ascii);
}

static void draw_name(struct frame_run *run, const struct gg_top_row *row, size_t column)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t width = run->grid->width > column ? run->grid->width - column : 0;

	if (row->path != 0)
		append_branch(run, row, width, &text);
	width = width > text.length ? width - text.length : 0;
	append_name(run, row, width, &text);
	gg_top_grid_put(run->grid, run->row, column, gg_buf_text(&text), GG_TOP_PLAIN);
}

static void draw_row(struct frame_run *run, const struct gg_top_row *row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t end = run->self.number_cells + run->self.error_cells + 2;
	enum gg_top_style style;

	gg_figure_column_append(&run->figures, &run->self, &row->self, &text);
	gg_top_grid_put(run->grid, run->row, 0, gg_buf_text(&text), GG_TOP_PLAIN);
	gg_buf_clear(&text);
	if (run->has_bar) {
		draw_bar(run, row, end - 1);
		end += BAR_CELLS + 1;
	}
	if (run->has_change) {
		style = append_change(run, row, &text);
		end += CHANGE_CELLS;
		gg_top_grid_put_right(run->grid, run->row, end, gg_buf_text(&text), style);
		end += 2;
		gg_buf_clear(&text);
	}
	if (run->has_rate) {
		end += RATE_CELLS;
		append_number(run, row->allocated_per_second, GG_BYTES, &text);
		gg_buf_append_text(&text, "/s");
		gg_top_grid_put_right(run->grid, run->row, end, gg_buf_text(&text), GG_TOP_PLAIN);
		end += 2;
		gg_buf_clear(&text);
	}
	if (run->has_blocks) {
		end += BLOCKS_CELLS;
		append_number(run, row->blocks.estimate, GG_ALLOCATIONS, &text);
		gg_top_grid_put_right(run->grid, run->row, end, gg_buf_text(&text), GG_TOP_PLAIN);
		end += 2;
		gg_buf_clear(&text);
	}
	if (run->has_age) {
		end += AGE_CELLS;
		gg_top_age_append(row->age_ns, GG_TOP_AGE_TENTHS, &text);
		gg_top_grid_put_right(run->grid, run->row, end, gg_buf_text(&text), GG_TOP_PLAIN);
		end += 2;
	}
	draw_name(run, row, end);
	run->row++;
}

static void draw_table(struct frame_run *run)
{
	size_t taken = run->row + (run->state->is_batch ? 1 : 2);
	size_t room = run->grid->height > taken ? run->grid->height - taken : 0;
	size_t shown = run->count < room ? run->count : room;
	size_t cursor = run->state->is_batch ? 0 : run->state->cursor;
	size_t first = cursor >= shown && shown > 0 ? cursor - shown + 1 : 0;

	if (first + shown > run->count) /* the cursor is of another snapshot */
		first = run->count - shown;
	measure(run, first, shown);
	choose_columns(run);
	draw_headings(run);
	for (size_t i = first; i < first + shown; i++) {
		draw_row(run, &run->snapshot->rows[run->order[i]]);
		if (!run->state->is_batch && i == cursor)
			gg_top_grid_paint(run->grid, run->row - 1, GG_TOP_CURSOR);
	}
}

static void draw_detail(struct frame_run *run)
{
	if (gg_top_detail_is_of(run->snapshot->detail, run->state->by, run->state->opened))
		gg_top_detail_draw(run->grid, run->state, run->snapshot->detail, run->row);
	else
		gg_top_grid_put(run->grid, run->row, 0, "The next look ...", GG_TOP_FAINT);
}

/* True if a text fills the screen. */
static bool is_page(const struct gg_top_state *state)
{
	return state->mode == GG_TOP_MODE_HELP || state->mode == GG_TOP_MODE_NOTES ||
	       state->mode == GG_TOP_MODE_WHY || state->mode == GG_TOP_MODE_OUTPUT;
}

void gg_top_frame_draw_waiting(struct gg_top_grid *grid, const struct gg_top_state *state,
                               const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf lines = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf foot = { 0 };
	size_t row = 0;

	gg_top_grid_resize(grid, state->width, state->height);
	if (grid->failed)
		return;
	if (is_page(state)) {
		gg_top_text_draw(grid, state, NULL);
		return;
	}
	gg_screen_text_append_paragraph(&lines, text, state->width, state->ascii);
	for (const char *line = gg_buf_text(&lines); *line != '\0'; row++) {
		size_t length = strcspn(line, "\n");
		GG_CLEANUP(gg_buf_done) struct gg_buf one = { 0 };

		gg_buf_append(&one, line, length);
		gg_top_grid_put(grid, row, 0, gg_buf_text(&one), GG_TOP_PLAIN);
		line += length + (line[length] == '\n');
	}
	if (state->mode == GG_TOP_MODE_TYPE || state->mode == GG_TOP_MODE_QUESTION)
		gg_top_prompt_append(state, NULL, &foot);
	else
		gg_buf_append_text(&foot, state->message[0] != '\0' ? state->message : "q quit");
	gg_top_grid_put(grid, state->height - 1, 0, gg_buf_text(&foot), GG_TOP_STRONG);
}

void gg_top_frame_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                       const struct gg_top_snapshot *snapshot)
{
	struct frame_run run = { .grid = grid, .state = state, .snapshot = snapshot };

	gg_top_grid_resize(grid, state->width, state->height);
	run.figures.ascii = state->ascii;
	run.order = calloc(snapshot->row_count + 1, sizeof(*run.order));
	if (grid->failed || run.order == NULL) {
		grid->failed = true;
		free(run.order);
		return;
	}
	run.count = gg_top_state_order(state, snapshot, run.order);
	if (!state->is_batch &&
	    (state->width < GG_TOP_LEAST_WIDTH || state->height < GG_TOP_LEAST_HEIGHT)) {
		gg_top_grid_put(grid, 0, 0, "geiger top needs 40 x 8", GG_TOP_WARNING);
	} else if (is_page(state)) {
		gg_top_text_draw(grid, state, snapshot);
	} else if (snapshot->entries != NULL) {
		gg_top_list_frame_draw(grid, state, snapshot, run.order, run.count);
		if (!state->is_batch)
			draw_foot(&run);
	} else {
		draw_process(&run);
		draw_memory(&run);
		draw_notes(&run);
		if (!state->is_batch && state->height >= CHART_HEIGHT_LEAST &&
		    snapshot->column_count > 0)
			draw_chart(&run);
		if (state->opened != NULL)
			draw_detail(&run);
		else
			draw_table(&run);
		if (!state->is_batch)
			draw_foot(&run);
	}
	free(run.order);
}

size_t gg_top_frame_height(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                           size_t rows_max)
{
	bool has_ended = snapshot->process.is_process && !snapshot->process.is_alive;
	size_t *order = calloc(snapshot->row_count + 1, sizeof(*order));
	size_t count = snapshot->row_count;

	if (order != NULL)
		count = gg_top_state_order(state, snapshot, order);
	free(order);
	if (snapshot->entries != NULL)
		return gg_top_list_frame_height(count < rows_max ? count : rows_max);
	return HEAD_LINES + (snapshot->process.news != NULL ? 1 : 0) + (has_ended ? 1 : 0) +
	       (snapshot->is_attached ? 1 : 0) + (snapshot->process.look_every_ns > 0 ? 1 : 0) +
	       (snapshot->lack != NULL ? 1 : 0) + (gg_report_held_is_any(&snapshot->held) ? 1 : 0) +
	       (state->output != NULL ? 1 : 0) + (snapshot->note_count > 0 ? 1 : 0) + 1 +
	       (count < rows_max ? count : rows_max);
}
