/* SPDX-License-Identifier: Apache-2.0 */
/* report_largest - prints the largest rows, for the end of a recording. */
#include "report/report.h"
#include "report/screen_text.h"

/* Rows are sorted by self, and those without samples come last. */
static size_t shown_count(const struct gg_query_result *result, size_t count)
{
	size_t shown = 0;

	while (shown < count && shown < GG_REPORT_LARGEST_MAX && shown < result->row_count &&
	       !gg_tally_is_empty(result->rows[shown].self))
		shown++;
	return shown;
}

void gg_report_largest(const struct gg_report *report, size_t count, struct gg_buf *out)
{
	enum { ROW_INDENT = 2, NAME_BELOW = 6 };
	const struct gg_query_result *result = report->result;
	struct gg_figure figures[GG_REPORT_LARGEST_MAX];
	struct gg_figure_column column;
	size_t shown = shown_count(result, count), room;

	gg_report_append_title(report, &result->query, result->moment_ns, &result->total,
	                       &result->pinned, "", out);
	for (size_t i = 0; i < shown; i++)
		figures[i] = gg_figure_of(result->rows[i].self, result->query.unit,
		                          report->confidence,
		                          gg_report_is_discovered(result, &result->rows[i]));
	column = gg_figure_column_of(&report->figures, figures, shown);
	room = gg_report_room(report, ROW_INDENT + column.number_cells + column.error_cells + 2, 0);
	for (size_t i = 0; i < shown; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		bool is_below;

		gg_query_row_label(report->model, result, &result->rows[i], &label);
		is_below = gg_screen_text_length(gg_buf_text(&label)) > room;
		gg_buf_printf(out, "%*s", ROW_INDENT, "");
		gg_figure_column_append(&report->figures, &column, &figures[i], out);
		gg_buf_append_text(out, "  ");
		if (is_below)
			gg_screen_text_break(out, NAME_BELOW);
		gg_screen_text_append(out, gg_buf_text(&label),
		                      is_below ? gg_report_room(report, NAME_BELOW, 16) : room,
		                      report->figures.ascii);
		gg_buf_append_text(out, "\n");
	}
}
