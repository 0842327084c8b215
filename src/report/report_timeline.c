/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_timeline.h"

#include <math.h>
#include <stdlib.h>

#include "report/chart.h"
#include "report/report_collections.h"
#include "report/screen_text.h"

size_t gg_report_timeline_points(size_t width, bool ascii)
{
	return ascii ? width : width * GG_CHART_DOTS;
}

/* A size for the axis: "1.5 MiB", right in its column. */
static void append_mark(const struct gg_report *report, double bytes, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_figure_append_number(&report->figures, bytes, GG_BYTES, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), GG_TIMELINE_MARGIN - 2);
}

/*
 * A column has the largest estimate since the column before, so that no peak is lost.  Its
 * confidence interval is that of the moment, shifted.
 */
static void fill_columns(const struct gg_timeline *timeline, struct gg_chart_column *columns,
                         double *ret_most)
{
	double most = 0;

	for (size_t i = 0; i < timeline->point_count; i++) {
		const struct gg_timeline_point *point = &timeline->points[i];
		double rise = point->most_bytes - point->live_bytes;
		double low = point->low + rise, high = point->high + rise;

		if (point->most_bytes == 0) /* nothing sampled: what may hide is no area */
			low = high = NAN;
		columns[i] = (struct gg_chart_column){ low, high,
			                               point->rss_bytes >= 0 ? point->rss_bytes
			                                                     : NAN };
		/* An upper end that nothing bounds does not scale the axis. */
		most = fmax(most, fmax(isinf(high) ? point->most_bytes : high, columns[i].line));
	}
	*ret_most = most;
}

/* A line of the chart without the blanks at its end. */
static void append_trimmed(const struct gg_chart *chart, size_t row, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };
	size_t length;

	gg_chart_append_row(chart, row, &line);
	for (length = line.length; length > 0 && line.data[length - 1] == ' ';)
		length--;
	gg_buf_append(out, line.data, length);
	gg_buf_append_text(out, "\n");
}

static void append_chart(const struct gg_report *report, const struct gg_chart *chart,
                         struct gg_buf *out)
{
	const char *const edge = report->figures.ascii ? "|" : "\xe2\x94\x82";

	for (size_t row = 0; row < chart->height; row++) {
		if (row == 0)
			append_mark(report, chart->top, out);
		else if (row == chart->height / 2 && chart->height >= 6)
			append_mark(report,
			            chart->top * (double)(chart->height - row) /
			                    (double)chart->height,
			            out);
		else
			gg_buf_printf(out, "%*s", GG_TIMELINE_MARGIN - 2, "");
		gg_buf_printf(out, " %s", edge);
		append_trimmed(chart, row, out);
	}
}

/* The column of a moment on an axis of `width` characters. */
static size_t column_of(const struct gg_timeline *timeline, int64_t time_ns, size_t width)
{
	double first = (double)timeline->points[0].time_ns;
	double span = (double)timeline->points[timeline->point_count - 1].time_ns - first;
	double column = span > 0 ? ((double)time_ns - first) / span * (double)(width - 1) : 0;

	return (size_t)fmin(fmax(round(column), 0), (double)(width - 1));
}

/* Without history only what was never freed is known, and that has no peak. */
static bool has_peak(const struct gg_report *report, const struct gg_timeline *timeline)
{
	return timeline->peak.live_bytes > 0 && gg_model_has_history(report->model);
}

/* The lower edge with the peak's mark, and the times at its ends and in the middle. */
static void append_axis(const struct gg_report *report, const struct gg_timeline *timeline,
                        size_t width, struct gg_buf *out)
{
	bool ascii = report->figures.ascii;
	size_t peak = has_peak(report, timeline) ? column_of(timeline, timeline->peak_ns, width)
	                                         : width;
	GG_CLEANUP(gg_buf_done) struct gg_buf first = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf last = { 0 };

	append_mark(report, 0, out);
	gg_buf_append_text(out, ascii ? " +" : " \xe2\x94\x94");
	for (size_t x = 0; x < width; x++) {
		if (x == peak)
			gg_buf_append_text(out, ascii ? "^" : "\xe2\x96\xb2");
		else
			gg_buf_append_text(out, ascii ? "-" : "\xe2\x94\x80");
	}
	gg_report_append_time(timeline->points[0].time_ns, &first);
	gg_report_append_time(timeline->points[timeline->point_count - 1].time_ns, &last);
	gg_buf_printf(out, "\n%*s%s", GG_TIMELINE_MARGIN, "", gg_buf_text(&first));
	gg_screen_text_append_right(out, gg_buf_text(&last),
	                            width - gg_screen_text_length(gg_buf_text(&first)));
	gg_buf_append_text(out, "\n");
}

/* Appends "live heap over 1.16 s: peak 307.7 MiB ± 9 % at 670 ms". */
static void append_title(const struct gg_report *report, const struct gg_timeline *timeline,
                         struct gg_buf *out)
{
	const struct gg_timeline_point *peak = &timeline->peak;
	struct gg_figure figure = gg_figure_between(peak->live_bytes, peak->low, peak->high,
	                                            GG_BYTES);

	gg_buf_printf(out, "%slive heap over ", report->style.strong);
	gg_report_append_time(timeline->points[timeline->point_count - 1].time_ns, out);
	gg_buf_append_text(out, report->style.reset);
	if (has_peak(report, timeline)) {
		gg_buf_append_text(out, ": peak ");
		gg_figure_append(&report->figures, &figure, out);
		gg_buf_append_text(out, " at ");
		gg_report_append_time(timeline->peak_ns, out);
	}
	gg_buf_append_text(out, "\n");
}

static void append_rss(const struct gg_report *report, const struct gg_timeline *timeline,
                       struct gg_buf *out)
{
	const struct gg_highest_rss *highest = &report->summary->highest;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (timeline->rss_peak_bytes >= 0) {
		gg_buf_append_text(&text, "RSS as read: at most ");
		gg_figure_append_number(&report->figures, timeline->rss_peak_bytes, GG_BYTES,
		                        &text);
		gg_buf_append_text(&text, ", at ");
		gg_report_append_time(timeline->rss_peak_ns, &text);
		if (timeline->is_rss_peak_upper_bound)
			gg_buf_append_text(&text,
			                   " (pages that processes share count in each of them)");
	}
	if (highest->bytes >= 0) {
		gg_buf_printf(&text, "%shighest RSS%s: ", text.length > 0 ? "; " : "",
		              highest->process_count > 1 ? " of one process" : "");
		gg_figure_append_number(&report->figures, highest->bytes, GG_BYTES, &text);
	}
	if (text.length > 0)
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
		                                report->figures.ascii);
}

/* Exact counts have bounds where nobody knows when a forked process freed what it inherited. */
static bool has_bounds(const struct gg_timeline *timeline)
{
	for (size_t i = 0; i < timeline->point_count; i++)
		if (timeline->points[i].low < timeline->points[i].high)
			return true;
	return false;
}

static void append_legend(const struct gg_report *report, const struct gg_timeline *timeline,
                          struct gg_buf *out)
{
	bool ascii = report->figures.ascii;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (gg_model_is_exact(report->model))
		gg_buf_printf(&text, "Solid: live heap, exact%s",
		              !has_bounds(timeline) ? ""
		              : ascii               ? "; ':': upper end"
		                                    : "; dotted: upper end");
	else
		gg_buf_printf(&text, "Solid: live heap; %s: %.4g %% confidence interval",
		              ascii ? "':'" : "dotted", 100 * report->confidence);
	gg_buf_printf(&text, "%s%s.",
	              timeline->rss_peak_bytes < 0 ? ""
	              : ascii                      ? "; '*': RSS"
	                                           : "; line: RSS",
	              !has_peak(report, timeline) ? ""
	              : ascii                     ? "; ^: peak"
	                                          : "; \xe2\x96\xb2: peak");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width, ascii);
	append_rss(report, timeline, out);
}

static void append_without_moments(const struct gg_report *report,
                                   const struct gg_timeline *timeline, struct gg_buf *out)
{
	struct gg_figure figure = gg_figure_of(&timeline->without_moments, GG_BYTES,
	                                       report->confidence, false);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (!gg_model_has_history(report->model) && report->fleet == NULL)
		gg_screen_text_append_paragraph(
			out,
			"note: recorded without history: the chart has only "
			"what was never freed",
			report->width, report->figures.ascii);
	if (gg_tally_is_empty(&timeline->without_moments))
		return;
	gg_buf_append_text(&text, "note: not in the chart, because its moments are not known: ");
	gg_figure_append(&report->figures, &figure, &text);
	gg_buf_append_text(&text, " that was allocated and freed");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

static void append_picture(const struct gg_report *report, const struct gg_timeline *timeline,
                           const struct gg_chart *chart, struct gg_buf *out)
{
	bool has_head = report->head != GG_HEAD_NONE;

	/* Without a sample and without RSS there is nothing to draw. */
	if (report->model->sample_total == 0 && timeline->rss_peak_bytes < 0)
		return;
	if (has_head)
		append_title(report, timeline, out);
	append_chart(report, chart, out);
	append_axis(report, timeline, chart->width, out);
	if (has_head)
		append_legend(report, timeline, out);
}

static void append_timeline(const struct gg_report *report, const struct gg_timeline *timeline,
                            size_t width, size_t height, struct gg_buf *out)
{
	struct gg_chart_column *columns = calloc(timeline->point_count, sizeof(*columns));
	struct gg_chart chart = { .columns = columns,
		                  .column_count = timeline->point_count,
		                  .width = width,
		                  .height = height,
		                  .ascii = report->figures.ascii };
	double most;

	if (columns == NULL) {
		out->failed = true;
		return;
	}
	fill_columns(timeline, columns, &most);
	chart.top = gg_chart_top(most);
	append_picture(report, timeline, &chart, out);
	if (report->head != GG_HEAD_NONE)
		append_without_moments(report, timeline, out);
	free(columns);
}

void gg_report_timeline_text(const struct gg_report *report, const struct gg_timeline *timeline,
                             size_t width, size_t height, struct gg_buf *out)
{
	gg_report_append_head(report, out);
	if (timeline != NULL)
		append_timeline(report, timeline, width, height, out);
	gg_report_collections_text(report, timeline, out);
	gg_report_append_notes(report, out);
}

static void add_live(struct gg_json *json, const struct gg_timeline_point *point)
{
	struct gg_figure figure = gg_figure_between(point->live_bytes, point->low, point->high,
	                                            GG_BYTES);

	gg_report_json_figure(json, "live_bytes", &figure);
}

/* Bytes that may be unknown. */
static void add_bytes(struct gg_json *json, const char *name, double bytes)
{
	gg_json_number(json, name, bytes >= 0 ? bytes : NAN);
}

static void add_peaks(const struct gg_report *report, const struct gg_timeline *timeline,
                      struct gg_json *json)
{
	if (has_peak(report, timeline)) {
		gg_json_open(json, "peak", '{');
		gg_json_number(json, "time_ns", (double)timeline->peak_ns);
		add_live(json, &timeline->peak);
		gg_json_close(json);
	} else {
		gg_json_text(json, "peak", NULL);
	}
	gg_json_open(json, "rss_peak", '{');
	gg_json_number(json, "time_ns",
	               timeline->rss_peak_bytes >= 0 ? (double)timeline->rss_peak_ns : NAN);
	add_bytes(json, "rss_bytes", timeline->rss_peak_bytes);
	gg_json_bool(json, "is_upper_bound", timeline->is_rss_peak_upper_bound);
	gg_json_close(json);
}

void gg_report_timeline_json(const struct gg_report *report, const struct gg_timeline *timeline,
                             struct gg_buf *out)
{
	static const struct gg_timeline none = { .rss_peak_bytes = -1 };
	const struct gg_timeline *shown = timeline != NULL ? timeline : &none;
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_report_json_head(report, &json);
	add_peaks(report, shown, &json);
	gg_json_number(&json, "without_moments_bytes",
	               timeline != NULL
	                       ? gg_tally_estimate(&timeline->without_moments, GG_BYTES).value
	                       : NAN);
	gg_json_open(&json, "points", '[');
	for (size_t i = 0; i < shown->point_count; i++) {
		const struct gg_timeline_point *point = &shown->points[i];

		gg_json_open(&json, NULL, '{');
		gg_json_number(&json, "time_ns", (double)point->time_ns);
		add_live(&json, point);
		gg_json_number(&json, "most_bytes", point->most_bytes);
		add_bytes(&json, "rss_bytes", point->rss_bytes);
		gg_json_bool(&json, "rss_is_upper_bound", point->is_rss_upper_bound);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_report_collections_json(report, &json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
