/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_why.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_units.h"
#include "report/screen_text.h"

enum { SHARE_CELLS = 6, LEAST_DETAIL = 16 };

static struct gg_figure figure_of(const struct gg_why_row *row)
{
	return gg_figure_between(row->bytes, row->low, row->high, GG_BYTES);
}

/* Appends "server --port 80 (4711), RSS 340.0 MiB at 990 ms". */
static void append_table_title(const struct gg_report *report, const struct gg_why_table *table,
                               struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *command = table->command != NULL ? table->command : "[unknown command]";

	gg_buf_printf(&text, " (%" PRIu32 "), RSS ", table->pid);
	gg_figure_append_number(&report->figures, (double)table->why.rss_bytes, GG_BYTES, &text);
	if (table->why.time_ns > 0) { /* otherwise nobody knows when the process began */
		gg_buf_append_text(&text, " at ");
		gg_report_append_time(table->why.time_ns, &text);
	}
	gg_buf_append_text(out, report->style.strong);
	gg_screen_text_append(out, command, gg_report_room(report, text.length, LEAST_DETAIL),
	                      report->figures.ascii);
	gg_buf_printf(out, "%s%s\n", gg_buf_text(&text), report->style.reset);
}

/* Rows, and the column of their figures. */
struct why_column {
	const struct gg_report *report;
	struct gg_figure_column column;
	size_t name_cells;
	double rss_bytes; /* rows have shares of it; 0: rows have no shares */
};

/* Returns where a detail may break, and the length of what stands there; or NULL. */
static const char *find_break(const char *detail, size_t *ret_length)
{
	static const char *const separators[] = { "; ", "of the heap: " };
	const char *at = NULL;

	for (size_t i = 0; i < GG_COUNT(separators) && at == NULL; i++) {
		at = strstr(detail, separators[i]);
		*ret_length = strlen(separators[i]);
	}
	if (at != NULL && *at != ';') { /* the words stay on the first line */
		at += *ret_length - 1;
		*ret_length = 1;
	}
	return at;
}

/*
 * A detail that needs more room breaks at its semicolon, or behind "of the heap:".  On a narrow
 * screen it has a line of its own, because a few letters of it would say nothing.
 */
static void append_detail(const struct gg_report *report, const char *detail, size_t width,
                          struct gg_buf *out)
{
	enum { DETAIL_INDENT = 4, NARROW = 28 };

	GG_CLEANUP(gg_buf_done) struct gg_buf first = { 0 };
	size_t separator_length;
	const char *second = find_break(detail, &separator_length);
	size_t first_length = second != NULL ? (size_t)(second - detail) : strlen(detail);

	if (first_length > width && width < NARROW) {
		gg_screen_text_break(out, DETAIL_INDENT);
		width = gg_report_room(report, DETAIL_INDENT, LEAST_DETAIL);
	}
	if (second == NULL || gg_screen_text_length(detail) <= width) {
		gg_screen_text_append(out, detail, width, report->figures.ascii);
		return;
	}
	gg_buf_append(&first, detail, (size_t)(second - detail));
	gg_screen_text_append(out, gg_buf_text(&first), width, report->figures.ascii);
	gg_screen_text_break(out, DETAIL_INDENT);
	gg_screen_text_append(out, second + separator_length,
	                      gg_report_room(report, DETAIL_INDENT, LEAST_DETAIL),
	                      report->figures.ascii);
}

static void append_row(const struct why_column *table, const struct gg_why_row *row,
                       struct gg_buf *out)
{
	const struct gg_report *report = table->report;
	struct gg_figure figure = figure_of(row);
	GG_CLEANUP(gg_buf_done) struct gg_buf share = { 0 };
	size_t share_cells = table->rss_bytes > 0 ? SHARE_CELLS + 2 : 0;
	size_t used = table->column.number_cells + table->column.error_cells + share_cells +
	              table->name_cells + 4;

	gg_figure_column_append(&report->figures, &table->column, &figure, out);
	gg_buf_append_text(out, "  ");
	if (table->rss_bytes > 0) {
		gg_figure_append_percent(row->bytes / table->rss_bytes, &share);
		gg_screen_text_append_right(out, gg_buf_text(&share), SHARE_CELLS);
		gg_buf_append_text(out, "  ");
	}
	if (row->detail == NULL) {
		gg_buf_printf(out, "%s\n", row->name);
		return;
	}
	gg_screen_text_append_left(out, row->name, table->name_cells);
	gg_buf_append_text(out, "  ");
	append_detail(report, row->detail, gg_report_room(report, used, LEAST_DETAIL), out);
	gg_buf_append_text(out, "\n");
}

static void append_rows(const struct gg_report *report, const gg_why_row_array *rows,
                        double rss_bytes, struct gg_buf *out)
{
	struct gg_figure *figures = calloc(rows->count + 1, sizeof(*figures));
	struct why_column table = { .report = report, .rss_bytes = rss_bytes };

	if (figures == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < rows->count; i++) {
		size_t length = strlen(rows->items[i].name);

		figures[i] = figure_of(&rows->items[i]);
		table.name_cells = length > table.name_cells ? length : table.name_cells;
	}
	table.column = gg_figure_column_of(&report->figures, figures, rows->count);
	for (size_t i = 0; i < rows->count; i++)
		append_row(&table, &rows->items[i], out);
	free(figures);
}

static void append_paragraph(const struct gg_report *report, const struct gg_buf *text,
                             struct gg_buf *out)
{
	gg_screen_text_append_paragraph(out, gg_buf_text(text), report->width,
	                                report->figures.ascii);
}

/*
 * Appends lines such as "returnable, at most 12.0 MiB: malloc_trim(0) would return it".  The
 * estimate of a row is no bound: "about 12.0 MiB".
 */
static void append_advice(const struct gg_report *report, const struct gg_why *why,
                          struct gg_buf *out)
{
	for (size_t i = 0; i < why->rows.count; i++) {
		const struct gg_why_row *row = &why->rows.items[i];
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		if (row->advice == NULL)
			continue;
		gg_buf_printf(&text, "%s", row->name);
		if (isfinite(row->advice_bytes)) {
			gg_buf_append_text(&text, row->advice_bytes < row->high &&
			                                          row->certainty != GG_WHY_EXACT
			                                  ? ", about "
			                                  : ", at most ");
			gg_figure_append_number(&report->figures, row->advice_bytes, GG_BYTES,
			                        &text);
		}
		gg_buf_printf(&text, ": %s", row->advice);
		append_paragraph(report, &text, out);
	}
}

/* Appends "live blocks of 25.8 MiB keep 533.6 MiB of pages resident" if much of it is pinned. */
static void append_kept(const struct gg_report *report, const struct gg_why *why,
                        struct gg_buf *out)
{
	const double least_ratio = 1.1, least_share = 0.05; /* a small number explains nothing */
	double held_bytes = why->block_bytes * why->pinned_ratio;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (!(why->pinned_ratio >= least_ratio) ||
	    held_bytes - why->block_bytes < least_share * (double)why->rss_bytes)
		return;
	gg_buf_append_text(&text, "live blocks of ");
	gg_figure_append_number(&report->figures, why->block_bytes, GG_BYTES, &text);
	gg_buf_append_text(&text, ", with their headers, keep ");
	gg_figure_append_number(&report->figures, held_bytes, GG_BYTES, &text);
	gg_buf_append_text(&text, " of pages resident");
	append_paragraph(report, &text, out);
}

/* Appends figures beside RSS; those of a control group may have another unit, so they are apart. */
static void append_beside(const struct gg_report *report, const struct gg_why *why,
                          struct gg_buf *out)
{
	static const char cgroup[] = "cgroup-";
	gg_why_row_array process = why->beside, group = why->beside;

	process.count = 0;
	while (process.count < why->beside.count &&
	       strncmp(why->beside.items[process.count].name, cgroup, strlen(cgroup)) != 0)
		process.count++;
	group.items += process.count;
	group.count -= process.count;
	if (process.count > 0)
		gg_buf_append_text(out, "\nbeside RSS\n");
	append_rows(report, &process, 0, out);
	if (group.count > 0)
		gg_buf_append_text(out, "\nthe control group\n");
	append_rows(report, &group, 0, out);
}

static void append_reason(const struct gg_report *report, const struct gg_why *why,
                          struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (why->reason == NULL)
		return;
	gg_buf_printf(&text, "note: %s", why->reason);
	append_paragraph(report, &text, out);
}

/*
 * Appends a note on what came after the look: nothing announces the end of a process, so its last
 * look may be old.
 */
static void append_later(const struct gg_report *report, const struct gg_why_table *table,
                         struct gg_buf *out)
{
	const double much = 0.05, least_bytes = 1 << 20;
	const int64_t old_ns = GG_NS_PER_S;
	double rss = (double)table->why.rss_bytes;
	double change = fabs((double)table->last_rss_bytes - rss);
	bool has_changed = table->last_rss_bytes >= 0 && change > least_bytes &&
	                   change > much * rss;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (table->ended_after_ns < 0 || (table->ended_after_ns < old_ns && !has_changed))
		return;
	gg_buf_append_text(&text, "note: the process ended ");
	gg_report_append_time(table->ended_after_ns, &text);
	gg_buf_append_text(&text, " after this look");
	if (table->last_rss_bytes >= 0) {
		gg_buf_append_text(&text, "; the last RSS that was read is ");
		gg_figure_append_number(&report->figures, (double)table->last_rss_bytes, GG_BYTES,
		                        &text);
		gg_buf_append_text(&text, " at ");
		gg_report_append_time(table->last_rss_ns, &text);
	}
	append_paragraph(report, &text, out);
}

static void append_table(const struct gg_report *report, const struct gg_why_table *table,
                         struct gg_buf *out)
{
	const struct gg_why *why = &table->why;
	GG_CLEANUP(gg_buf_done) struct gg_buf remarks = { 0 };

	if (report->head == GG_HEAD_NONE) {
		append_rows(report, &why->rows, (double)why->rss_bytes, out);
		return;
	}
	append_table_title(report, table, out);
	append_rows(report, &why->rows, (double)why->rss_bytes, out);
	append_beside(report, why, out);
	append_advice(report, why, &remarks);
	append_kept(report, why, &remarks);
	append_reason(report, why, &remarks);
	append_later(report, table, &remarks);
	if (remarks.length > 0)
		gg_buf_printf(out, "\n%s", gg_buf_text(&remarks));
}

/* Appends "and 6 processes with less RSS, 21.3 MiB together: --all shows them". */
static void append_others(const struct gg_report *report, const struct gg_why_list *list,
                          size_t shown_count, struct gg_buf *out)
{
	size_t count = list->table_count - shown_count;
	double bytes = 0;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (count == 0)
		return;
	for (size_t i = shown_count; i < list->table_count; i++)
		bytes += (double)list->tables[i].why.rss_bytes;
	gg_buf_printf(&text, "and %zu process%s with less RSS, ", count, count == 1 ? "" : "es");
	gg_figure_append_number(&report->figures, bytes, GG_BYTES, &text);
	gg_buf_printf(&text, "%s: --all shows %s, --process PID shows one",
	              count == 1 ? "" : " together", count == 1 ? "it" : "them");
	append_paragraph(report, &text, out);
}

/* Notes what no look saw. */
static void append_unseen(const struct gg_report *report, const struct gg_why_list *list,
                          struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (list->unseen_count > 0)
		gg_buf_printf(&text, "note: no look saw %zu process%s", list->unseen_count,
		              list->unseen_count == 1 ? "" : "es");
	if (list->highest_bytes > 0) {
		gg_buf_append_text(&text, text.length > 0 ? "; the " : "note: the ");
		gg_buf_append_text(&text, "RSS of one process was ");
		gg_figure_append_number(&report->figures, list->highest_bytes, GG_BYTES, &text);
		gg_buf_append_text(&text, " at its highest, when no look was taken");
	}
	if (text.length > 0)
		append_paragraph(report, &text, out);
}

void gg_report_why_text(const struct gg_report *report, const struct gg_why_list *list,
                        struct gg_buf *out)
{
	size_t shown_count = list->table_count;
	GG_CLEANUP(gg_buf_done) struct gg_buf remarks = { 0 };

	if (report->limit > 0 && report->limit < shown_count)
		shown_count = report->limit;
	for (size_t i = 0; i < shown_count; i++) {
		if (i > 0)
			gg_buf_append_text(out, "\n");
		append_table(report, &list->tables[i], out);
	}
	if (report->head == GG_HEAD_NONE)
		return;
	append_others(report, list, shown_count, &remarks);
	append_unseen(report, list, &remarks);
	if (remarks.length > 0)
		gg_buf_printf(out, "\n%s", gg_buf_text(&remarks));
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void add_row(struct gg_json *json, const struct gg_why_row *row)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", row->name);
	gg_json_number(json, "bytes", row->bytes);
	gg_json_number(json, "low", row->low);
	gg_json_number(json, "high", row->high);
	gg_json_text(json, "certainty", gg_why_certainty_name(row->certainty));
	gg_json_text(json, "detail", row->detail);
	gg_json_text(json, "advice", row->advice);
	gg_json_number(json, "advice_bytes", row->advice_bytes);
	gg_json_close(json);
}

static void add_rows(struct gg_json *json, const char *name, const gg_why_row_array *rows)
{
	gg_json_open(json, name, '[');
	for (size_t i = 0; i < rows->count; i++)
		add_row(json, &rows->items[i]);
	gg_json_close(json);
}

void gg_report_why_json_table(struct gg_json *json, const struct gg_why_table *table)
{
	const struct gg_why *why = &table->why;

	gg_json_integer(json, "pid", table->pid);
	gg_json_text(json, "command", table->command);
	gg_json_number(json, "time_ns", (double)why->time_ns);
	gg_json_number(json, "rss_bytes", (double)why->rss_bytes);
	add_rows(json, "rows", &why->rows);
	add_rows(json, "beside", &why->beside);
	gg_json_number(json, "block_bytes", why->block_bytes);
	gg_json_open(json, "ratios", '{');
	gg_json_number(json, "pinned", why->pinned_ratio);
	gg_json_number(json, "kept", why->kept_ratio);
	gg_json_number(json, "overhead", why->overhead_ratio);
	gg_json_close(json);
	gg_json_text(json, "reason", why->reason);
	gg_json_number(json, "ended_after_ns",
	               table->ended_after_ns >= 0 ? (double)table->ended_after_ns : NAN);
	gg_json_number(json, "last_rss_bytes",
	               table->last_rss_bytes >= 0 ? (double)table->last_rss_bytes : NAN);
}

void gg_report_why_json(const struct gg_report *report, const struct gg_why_list *list,
                        struct gg_buf *out)
{
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_number(&json, "confidence", report->confidence);
	if (list->table_count > 0)
		gg_report_why_json_table(&json, &list->tables[0]);
	gg_json_open(&json, "processes", '[');
	for (size_t i = 0; i < list->table_count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_report_why_json_table(&json, &list->tables[i]);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
