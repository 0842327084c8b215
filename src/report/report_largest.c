/* SPDX-License-Identifier: Apache-2.0 */
/* report_largest - prints the largest rows, for the end of a recording. */
#include "report/report.h"
#include "report/screen_text.h"

void gg_report_largest(const struct gg_report *report, size_t count, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	struct gg_buf texts[GG_REPORT_LARGEST_MAX] = { 0 };
	size_t shown = 0, widest = 0, width;

	gg_report_append_title(report, &result->query, result->moment_ns, &result->total, "", out);
	while (shown < count && shown < GG_REPORT_LARGEST_MAX && shown < result->row_count &&
	       result->rows[shown].self->sample_count > 0) {
		struct gg_figure figure = gg_figure_of(
			result->rows[shown].self, result->query.unit, report->confidence,
			gg_report_is_discovered(result, &result->rows[shown]));

		gg_figure_append(&report->figures, &figure, &texts[shown]);
		width = gg_screen_text_length(gg_buf_text(&texts[shown++]));
		widest = width > widest ? width : widest;
	}
	for (size_t i = 0; i < shown; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

		gg_query_row_label(report->model, result, &result->rows[i], &label);
		gg_buf_append_text(out, "  ");
		gg_screen_text_append_right(out, gg_buf_text(&texts[i]), widest);
		gg_buf_append_text(out, "  ");
		gg_screen_text_append(out, gg_buf_text(&label),
		                      gg_report_room(report, widest + 4, 20),
		                      report->figures.ascii);
		gg_buf_append_text(out, "\n");
		gg_buf_done(&texts[i]);
	}
}
