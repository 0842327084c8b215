/* SPDX-License-Identifier: Apache-2.0 */
/* top_list_frame - the table of processes, and its line of JSON. */
#include "top/top_list_frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/report.h"
#include "report/screen_text.h"
#include "top/top_age.h"

enum {
	NUMBER_CELLS_LEAST = 9, /* of a number with its unit */
	ERROR_CELLS_LEAST = 8,
	GAP_CELLS = 2,
	COMMAND_CELLS_LEAST = 20, /* that other columns do not take */
	LIST_HEAD_LINES = 1,
};

/* The columns behind live memory. */
enum { COLUMN_RSS, COLUMN_UP, COLUMN_STATE, COLUMN_PID, LIST_COLUMN_COUNT };

static const struct {
	const char *name;
	size_t cells;
} columns[LIST_COLUMN_COUNT] = {
	[COLUMN_RSS] = { "RSS", 9 },
	[COLUMN_UP] = { "up", 7 }, /* "99 min" */
	[COLUMN_STATE] = { "state", 9 },
	[COLUMN_PID] = { "pid", 7 },
};

/* A list that is being drawn. */
struct list_frame {
	struct gg_top_grid *grid;
	const struct gg_top_state *state;
	const struct gg_top_snapshot *snapshot;
	struct gg_figure_style figures;
	struct gg_figure_column live;
	bool has_column[LIST_COLUMN_COUNT]; /* those that there is room for */
	size_t row;                         /* the next line */
};

/* "3 processes run under the agent, and 2 have ended". */
static void draw_counts(struct list_frame *frame)
{
	const struct gg_top_snapshot *snapshot = frame->snapshot;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t running = 0, ended = 0, bare = 0;

	for (size_t i = 0; i < snapshot->row_count; i++) {
		const struct gg_top_entry *entry = &snapshot->entries[i];

		running += entry->has_region && entry->is_alive;
		ended += entry->has_region && !entry->is_alive;
		bare += !entry->has_region;
	}
	if (snapshot->process.news != NULL) {
		gg_top_grid_put(frame->grid, frame->row++, 0, snapshot->process.news,
		                GG_TOP_WARNING);
		return;
	}
	ended += snapshot->hidden_count;
	gg_buf_printf(&text, "%zu process%s under the agent", running,
	              running == 1 ? " runs" : "es run");
	if (ended > 0)
		gg_buf_printf(&text, ", %zu %s ended", ended, ended == 1 ? "has" : "have");
	if (bare > 0)
		gg_buf_printf(&text, ", %zu without it", bare);
	gg_top_grid_put(frame->grid, frame->row++, 0, gg_buf_text(&text), GG_TOP_STRONG);
}

static void measure_live(struct list_frame *frame, const size_t *rows, size_t count)
{
	struct gg_figure *figures = calloc(count + 1, sizeof(*figures));
	size_t figure_count = 0;

	if (figures == NULL) {
		frame->grid->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (frame->snapshot->entries[rows[i]].has_live)
			figures[figure_count++] = frame->snapshot->rows[rows[i]].self;
	frame->live = gg_figure_column_of(&frame->figures, figures, figure_count);
	free(figures);
	if (frame->live.number_cells < NUMBER_CELLS_LEAST)
		frame->live.number_cells = NUMBER_CELLS_LEAST;
	if (frame->live.error_cells < ERROR_CELLS_LEAST)
		frame->live.error_cells = ERROR_CELLS_LEAST;
}

/* The cell at which a column ends. */
static size_t end_of(const struct list_frame *frame, size_t column)
{
	size_t end = frame->live.number_cells + frame->live.error_cells;

	for (size_t i = 0; i <= column; i++)
		end += frame->has_column[i] ? GAP_CELLS + columns[i].cells : 0;
	return end;
}

/* A narrow screen has no state, then no time, and then no RSS. */
static void choose_list_columns(struct list_frame *frame)
{
	static const size_t dispensable[] = { COLUMN_STATE, COLUMN_UP, COLUMN_RSS };

	for (size_t i = 0; i < LIST_COLUMN_COUNT; i++)
		frame->has_column[i] = true;
	for (size_t i = 0; i < GG_COUNT(dispensable); i++)
		if (end_of(frame, COLUMN_PID) + GAP_CELLS + COMMAND_CELLS_LEAST >
		    frame->grid->width)
			frame->has_column[dispensable[i]] = false;
}

static void put_column(struct list_frame *frame, size_t column, const char *text,
                       enum gg_top_style style)
{
	if (frame->has_column[column])
		gg_top_grid_put_right(frame->grid, frame->row, end_of(frame, column), text, style);
}

static enum gg_top_style heading_style(const struct list_frame *frame, enum gg_top_column column)
{
	return column == frame->state->sort && !frame->state->is_batch ? GG_TOP_SORTED
	                                                               : GG_TOP_HEADING;
}

static void draw_list_headings(struct list_frame *frame)
{
	static const enum gg_top_column sorts[LIST_COLUMN_COUNT] = {
		[COLUMN_RSS] = GG_TOP_BY_RATE,
		[COLUMN_UP] = GG_TOP_BY_AGE,
		[COLUMN_STATE] = GG_TOP_COLUMN_COUNT,
		[COLUMN_PID] = GG_TOP_COLUMN_COUNT,
	};

	gg_top_grid_put_right(frame->grid, frame->row, frame->live.number_cells, "live",
	                      heading_style(frame, GG_TOP_BY_SELF));
	for (size_t i = 0; i < LIST_COLUMN_COUNT; i++)
		put_column(frame, i, columns[i].name, heading_style(frame, sorts[i]));
	gg_top_grid_put(frame->grid, frame->row++, end_of(frame, COLUMN_PID) + GAP_CELLS, "command",
	                heading_style(frame, GG_TOP_BY_NAME));
}

/* The command without the pid, which has a column of its own. */
static const char *command_of(const struct gg_top_row *row)
{
	const char *blank = strchr(row->label, ' ');

	return blank != NULL ? blank + 1 : row->label;
}

static void draw_entry(struct list_frame *frame, size_t index)
{
	const struct gg_top_entry *entry = &frame->snapshot->entries[index];
	const struct gg_top_row *row = &frame->snapshot->rows[index];
	size_t name = end_of(frame, COLUMN_PID) + GAP_CELLS;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (entry->has_live)
		gg_figure_column_append(&frame->figures, &frame->live, &row->self, &text);
	gg_top_grid_put(frame->grid, frame->row, 0, gg_buf_text(&text), GG_TOP_PLAIN);
	gg_buf_clear(&text);
	if (entry->rss_bytes >= 0)
		gg_figure_append_number(&frame->figures, entry->rss_bytes, GG_BYTES, &text);
	put_column(frame, COLUMN_RSS, gg_buf_text(&text), GG_TOP_PLAIN);
	gg_buf_clear(&text);
	gg_top_age_append(row->age_ns, GG_TOP_AGE_SECONDS, &text);
	put_column(frame, COLUMN_UP, gg_buf_text(&text), GG_TOP_PLAIN);
	put_column(frame, COLUMN_STATE, entry->state,
	           entry->is_alive ? GG_TOP_PLAIN : GG_TOP_FAINT);
	gg_buf_clear(&text);
	gg_buf_printf(&text, "%" PRIu32, entry->pid);
	put_column(frame, COLUMN_PID, gg_buf_text(&text), GG_TOP_PLAIN);
	gg_buf_clear(&text);
	gg_screen_text_append(&text, command_of(row),
	                      frame->grid->width > name ? frame->grid->width - name : 0,
	                      frame->state->ascii);
	gg_top_grid_put(frame->grid, frame->row++, name, gg_buf_text(&text), GG_TOP_PLAIN);
}

void gg_top_list_frame_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                            const struct gg_top_snapshot *snapshot, const size_t *order,
                            size_t count)
{
	struct list_frame frame = { .grid = grid, .state = state, .snapshot = snapshot };
	/* The line of headings, and on a screen the line of keys. */
	size_t taken = LIST_HEAD_LINES + (state->is_batch ? 1 : 2);
	size_t room = grid->height > taken ? grid->height - taken : 0;
	size_t shown = count < room ? count : room;
	size_t cursor = state->is_batch ? 0 : state->cursor;
	size_t first = cursor >= shown && shown > 0 ? cursor - shown + 1 : 0;

	if (first + shown > count) /* the cursor is of another snapshot */
		first = count - shown;
	frame.figures.ascii = state->ascii;
	draw_counts(&frame);
	measure_live(&frame, order + first, shown);
	choose_list_columns(&frame);
	draw_list_headings(&frame);
	for (size_t i = first; i < first + shown; i++) {
		draw_entry(&frame, order[i]);
		if (!state->is_batch && i == cursor)
			gg_top_grid_paint(grid, frame.row - 1, GG_TOP_CURSOR);
	}
}

size_t gg_top_list_frame_height(size_t row_count)
{
	return LIST_HEAD_LINES + 1 + row_count;
}

static void append_entry(struct gg_json *json, const struct gg_top_snapshot *snapshot, size_t index)
{
	const struct gg_top_entry *entry = &snapshot->entries[index];
	const struct gg_top_row *row = &snapshot->rows[index];

	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "pid", entry->pid);
	gg_json_text(json, "command", command_of(row));
	gg_json_text(json, "state", entry->state);
	gg_json_bool(json, "alive", entry->is_alive);
	gg_json_number(json, "up_ns", row->age_ns);
	gg_json_number(json, "rss_bytes", entry->rss_bytes >= 0 ? entry->rss_bytes : NAN);
	if (entry->has_live) {
		gg_report_json_figure(json, "live_bytes", &row->self);
		gg_report_json_figure(json, "live_blocks", &row->blocks);
	} else {
		gg_json_text(json, "live_bytes", NULL);
		gg_json_text(json, "live_blocks", NULL);
	}
	gg_json_text(json, "region", entry->has_region ? entry->target : NULL);
	gg_json_close(json);
}

void gg_top_list_json(const struct gg_top_snapshot *snapshot, const size_t *order, size_t count,
                      struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_number(&json, "confidence", snapshot->confidence);
	gg_json_open(&json, "processes", '[');
	for (size_t i = 0; i < count; i++)
		append_entry(&json, snapshot, order[i]);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
