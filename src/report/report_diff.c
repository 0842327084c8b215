/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_leaks.h"
#include "report/screen_text.h"

enum { LABEL_LEAST = 20, LABEL_INDENT = 4 };

/* The columns in front of the label, each with its two blanks. */
enum { COLUMN_BEFORE, COLUMN_AFTER, COLUMN_CHANGE, COLUMN_P, COLUMN_COUNT };

struct diff_cells {
	struct gg_buf texts[COLUMN_COUNT];
};

static void diff_cells_done(struct diff_cells *cells)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		gg_buf_done(&cells->texts[i]);
}

static struct gg_figure figure_of(const struct gg_diff_report *report, const struct gg_tally *tally,
                                  bool discovered)
{
	return gg_figure_of(tally, report->diff->unit, report->look.confidence,
	                    discovered && tally->sample_count > 0);
}

/* As it is compared: times the scale, so that it and the difference add up to what is after. */
static struct gg_figure scaled_before(const struct gg_diff_report *report,
                                      const struct gg_diff_row *row, bool discovered)
{
	struct gg_figure figure = figure_of(report, &row->before, discovered);
	double scale = report->diff->query.scale;

	figure.estimate *= scale;
	figure.low *= scale;
	figure.high *= scale;
	return figure;
}

/* Live memory does not grow with the time of a run, so scaling by time makes it seem to change. */
static const char time_warning[] =
	"live memory does not grow with the time of a run, so --normalize time makes constant memory "
	"look changed. Use it with --metric allocated, which grows with time.";

static bool warns_of_time(const struct gg_diff_report *report)
{
	enum gg_metric metric = report->after.result->query.metric;

	return report->normalized_by != NULL && strcmp(report->normalized_by, "time") == 0 &&
	       (metric == GG_METRIC_LIVE || metric == GG_METRIC_PEAK || metric == GG_METRIC_LEFT);
}

static struct gg_range change_of(const struct gg_diff_row *row)
{
	return (struct gg_range){ row->difference.value, row->difference.low,
		                  row->difference.high };
}

static void fill_cells(const struct gg_diff_report *report, const struct gg_diff_row *row,
                       bool discovered, struct diff_cells *cells)
{
	struct gg_figure before = scaled_before(report, row, discovered);
	struct gg_figure after = figure_of(report, &row->after, discovered);
	struct gg_range change = change_of(row);
	double p = row->difference.p_value;

	for (int i = 0; i < COLUMN_COUNT; i++)
		gg_buf_clear(&cells->texts[i]);
	gg_figure_append(&report->look.figures, &before, &cells->texts[COLUMN_BEFORE]);
	gg_figure_append(&report->look.figures, &after, &cells->texts[COLUMN_AFTER]);
	gg_report_append_change(&report->look, &change, report->diff->unit,
	                        &cells->texts[COLUMN_CHANGE]);
	if (isnan(p))
		gg_buf_append_text(&cells->texts[COLUMN_P], "-");
	else if (p < GG_P_VALUE_LEAST)
		gg_buf_append_text(&cells->texts[COLUMN_P], "<1e-12");
	else
		gg_buf_printf(&cells->texts[COLUMN_P], "%.2g", p);
}

/* Without errors nothing can be significant: all rows are shown. */
static bool is_untested(const struct gg_diff *diff)
{
	return isnan(diff->total.difference.p_value);
}

static size_t shown_count(const struct gg_diff_report *report)
{
	const struct gg_diff *diff = report->diff;
	size_t count = report->show_all || is_untested(diff) ? diff->row_count
	                                                     : diff->significant_count;

	return report->look.limit != 0 && report->look.limit < count ? report->look.limit : count;
}

static const char *const heads[COLUMN_COUNT] = { "before", "after", "difference", "p" };

/* "before x 1.7", where it was scaled. */
static void append_column_name(const struct gg_diff_report *report, int column, struct gg_buf *out)
{
	gg_buf_append_text(out, heads[column]);
	if (column == COLUMN_BEFORE && report->normalized_by != NULL)
		gg_buf_printf(out, " x %.4g", report->diff->query.scale);
}

static void append_cells(const struct diff_cells *cells, const size_t *widths, struct gg_buf *out)
{
	for (int i = 0; i < COLUMN_COUNT; i++) {
		gg_buf_append_text(out, i > 0 ? "  " : "");
		gg_screen_text_append_right(out, gg_buf_text(&cells->texts[i]), widths[i]);
	}
}

static void measure(const struct gg_diff_report *report, size_t *widths)
{
	GG_CLEANUP(diff_cells_done) struct diff_cells cells = { 0 };

	for (int i = 0; i < COLUMN_COUNT; i++) {
		append_column_name(report, i, &cells.texts[i]);
		widths[i] = gg_screen_text_length(gg_buf_text(&cells.texts[i]));
	}
	for (size_t k = 0; k < shown_count(report); k++) {
		fill_cells(report, &report->diff->rows[k], true, &cells);
		for (int i = 0; i < COLUMN_COUNT; i++) {
			size_t width = gg_screen_text_length(gg_buf_text(&cells.texts[i]));

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
}

/* On a line of their own: stacks, which are long, and all where nearly no room is left. */
static bool has_labels_below(const struct gg_diff_report *report, size_t column)
{
	return report->after.result->query.by == GG_BY_STACK ||
	       column + LABEL_LEAST > report->look.width;
}

/* Behind the figures, or below them. */
static void append_label(const struct gg_diff_report *report, const struct gg_diff_row *row,
                         size_t column, struct gg_buf *out)
{
	size_t room;

	if (has_labels_below(report, column)) {
		gg_buf_printf(out, "\n%*s", LABEL_INDENT, "");
		column = LABEL_INDENT;
	}
	gg_buf_append_text(out, column > LABEL_INDENT ? "  " : "");
	room = gg_report_room(&report->look, column, LABEL_LEAST);
	gg_screen_text_append(out, row->label, room, report->look.figures.ascii);
	gg_report_append_via(&report->look, row->via, gg_screen_text_length(row->label), room, out);
	gg_buf_append_text(out, "\n");
}

static void append_rows(const struct gg_diff_report *report, struct gg_buf *out)
{
	GG_CLEANUP(diff_cells_done) struct diff_cells cells = { 0 };
	size_t widths[COLUMN_COUNT], column = 2;

	if (shown_count(report) == 0)
		return;
	measure(report, widths);
	gg_buf_printf(out, "%s  ", report->look.style.heading);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		gg_buf_clear(&cells.texts[i]);
		append_column_name(report, i, &cells.texts[i]);
		gg_buf_append_text(out, i > 0 ? "  " : "");
		gg_screen_text_append_right(out, gg_buf_text(&cells.texts[i]), widths[i]);
		column += widths[i] + 2;
	}
	if (!has_labels_below(report, column))
		gg_buf_printf(out, "  %s", gg_grouping_name(report->after.result->query.by));
	gg_buf_printf(out, "%s\n", report->look.style.reset);
	for (size_t k = 0; k < shown_count(report); k++) {
		const struct gg_diff_row *row = &report->diff->rows[k];

		fill_cells(report, row, true, &cells);
		gg_buf_append_text(out, row->is_significant ? "* " : "  ");
		append_cells(&cells, widths, out);
		append_label(report, row, column, out);
	}
	gg_buf_append_text(out, "\n");
}

static void append_side(const struct gg_diff_report *report, const char *name,
                        const struct gg_diff_side *side, const struct gg_tally *total,
                        struct gg_buf *out)
{
	const struct gg_profile_session *session = &side->model->sessions[0];
	struct gg_figure figure = figure_of(report, total, false);
	enum gg_metric metric = side->result->query.metric;
	size_t begin, used, left;

	gg_buf_append_text(out, report->look.style.strong);
	begin = out->length;
	gg_buf_printf(out, "%-7s%s ", name, report->look.style.reset);
	gg_screen_text_append(out, side->path, 40, report->look.figures.ascii);
	gg_buf_append_text(out, ": ");
	gg_figure_append(&report->look.figures, &figure, out);
	if (metric == GG_METRIC_PEAK && !gg_model_has_history(side->model))
		metric = GG_METRIC_LIVE; /* the peak is not known */
	gg_buf_printf(out, " %s%s, ", gg_metric_name(metric),
	              report->diff->unit == GG_ALLOCATIONS ? " allocations" : "");
	/* An imported profile may lack the length of the run. */
	if (side->model->end_ns > 0 || gg_model_has_history(side->model)) {
		gg_report_append_time(side->model->end_ns, out);
		gg_buf_append_text(out, ", ");
	}
	used = gg_screen_text_length(gg_buf_text(out) + begin) - strlen(report->look.style.reset);
	left = report->look.width > used + 20 ? report->look.width - used : 20;
	gg_screen_text_append(out, session->command != NULL ? session->command : "", left,
	                      report->look.figures.ascii);
	gg_buf_append_text(out, "\n");
}

static void append_head(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_diff *diff = report->diff;
	struct gg_range change = change_of(&diff->total);

	append_side(report, "before", &report->before, &diff->total.before, out);
	append_side(report, "after", &report->after, &diff->total.after, out);
	if (report->normalized_by != NULL)
		gg_buf_printf(out, "Before is multiplied by %.4g (--normalize %s).\n",
		              diff->query.scale, report->normalized_by);
	gg_buf_printf(out, "%sin all%s  ", report->look.style.strong, report->look.style.reset);
	gg_report_append_change(&report->look, &change, diff->unit, out);
	if (isnan(diff->total.difference.p_value))
		gg_buf_append_text(out, "\n\n");
	else if (diff->total.difference.p_value < GG_P_VALUE_LEAST)
		gg_buf_append_text(out, ", p < 1e-12\n\n");
	else
		gg_buf_printf(out, ", p = %.2g\n\n", diff->total.difference.p_value);
}

static void append_verdict(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_diff *diff = report->diff;
	double rate = 100 * diff->query.false_discovery_rate;

	if (is_untested(diff))
		gg_buf_printf(out,
		              "Not tested: how far the numbers may be from the truth is not known; "
		              "compared: %zu.\n",
		              diff->row_count);
	else if (diff->significant_count == 0)
		gg_buf_printf(out,
		              "No row differs by more than sampling explains; compared: %zu,\n"
		              "  false discovery rate: %.3g %%.\n",
		              diff->row_count, rate);
	else
		gg_buf_printf(out,
		              "%zu of %zu rows differ%s, %zu grew.\n"
		              "On average at most %.3g %% of the rows %s are false alarms.\n",
		              diff->significant_count, diff->row_count,
		              diff->significant_count == 1 ? "s" : "", diff->grown_count, rate,
		              report->show_all ? "with a *" : "listed");
	if (shown_count(report) <
	    (report->show_all || is_untested(diff) ? diff->row_count : diff->significant_count))
		gg_buf_append_text(out, "There are more: --limit 0 shows all.\n");
	if (report->fails_on_growth)
		gg_buf_printf(out, "%s%s%s\n",
		              diff->grown_count > 0 ? report->look.style.error
		                                    : report->look.style.strong,
		              diff->grown_count > 0 ? "failed: memory grew"
		                                    : "passed: nothing grew for certain",
		              report->look.style.reset);
}

static bool has_note(const struct gg_model *model, const char *note)
{
	for (size_t i = 0; i < model->note_count; i++)
		if (strcmp(model->notes[i], note) == 0)
			return true;
	return false;
}

/* Why a side may have less than it should; what both say, once. */
static void append_side_notes(const struct gg_diff_report *report, const char *name,
                              const struct gg_model *model, const struct gg_model *other,
                              bool with_shared, struct gg_buf *out)
{
	for (size_t i = 0; i < model->note_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		bool is_shared = has_note(other, model->notes[i]);

		if (is_shared && !with_shared)
			continue;
		gg_buf_printf(&text, "note on %s: %s", is_shared ? "both" : name, model->notes[i]);
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->look.width,
		                                report->look.figures.ascii);
	}
}

void gg_report_diff_text(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_model *before = report->before.model, *after = report->after.model;
	GG_CLEANUP(gg_buf_done) struct gg_buf found = { 0 };

	append_head(report, out);
	append_rows(report, out);
	append_verdict(report, out);
	if (warns_of_time(report)) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_buf_printf(&text, "note: %s", time_warning);
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->look.width,
		                                report->look.figures.ascii);
	}
	append_side_notes(report, "before", before, after, true, out);
	append_side_notes(report, "after", after, before, false, out);
	/* Both sides hide the same functions, but one of them may lack a function. */
	if (gg_report_name_found_wrappers(after, &found) ||
	    gg_report_name_found_wrappers(before, &found)) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_buf_printf(&text, "note: %s", gg_buf_text(&found));
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->look.width,
		                                report->look.figures.ascii);
	}
}

static void add_side(const struct gg_diff_report *report, struct gg_json *json, const char *name,
                     const struct gg_diff_side *side)
{
	const struct gg_profile_session *session = &side->model->sessions[0];

	(void)report;
	gg_json_open(json, name, '{');
	gg_json_text(json, "path", side->path);
	gg_json_text(json, "command", session->command);
	gg_json_number(json, "interval_bytes", side->result->total.reserve_max[GG_BYTES]);
	gg_json_integer(json, "samples", side->model->sample_total);
	gg_json_number(json, "duration_ns", (double)side->model->end_ns);
	gg_report_json_notes(json, side->model);
	gg_report_json_found_wrappers(json, side->model);
	gg_json_close(json);
}

/* The members of a row; into an open object. */
static void add_row(const struct gg_diff_report *report, struct gg_json *json,
                    const struct gg_diff_row *row, bool discovered)
{
	struct gg_figure before = figure_of(report, &row->before, discovered);
	struct gg_figure scaled = scaled_before(report, row, discovered);
	struct gg_figure after = figure_of(report, &row->after, discovered);
	struct gg_figure change = { .estimate = row->difference.value,
		                    .low = row->difference.low,
		                    .high = row->difference.high,
		                    .quantity = report->diff->unit,
		                    .is_unknown = isnan(row->difference.p_value) };

	gg_json_integer(json, "samples_before", row->before.sample_count);
	gg_json_integer(json, "samples_after", row->after.sample_count);
	gg_report_json_figure(json, "before", &before);
	gg_report_json_figure(json, "before_scaled", &scaled);
	gg_report_json_figure(json, "after", &after);
	gg_report_json_figure(json, "difference", &change);
	gg_json_number(json, "p_value", row->difference.p_value);
	gg_json_number(json, "q_value", row->q_value);
	gg_json_bool(json, "significant", row->is_significant);
}

void gg_report_diff_json(const struct gg_diff_report *report, struct gg_buf *out)
{
	struct gg_json json = { .out = out };
	const struct gg_query *query = &report->after.result->query;
	const struct gg_diff *diff = report->diff;

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_number(&json, "confidence", report->look.confidence);
	gg_json_number(&json, "false_discovery_rate", diff->query.false_discovery_rate);
	gg_json_number(&json, "scale", diff->query.scale);
	gg_json_text(&json, "metric", gg_metric_name(query->metric));
	gg_json_text(&json, "unit", diff->unit == GG_BYTES ? "bytes" : "count");
	gg_json_text(&json, "by", gg_grouping_name(query->by));
	gg_json_open(&json, "warnings", '[');
	if (warns_of_time(report))
		gg_json_text(&json, NULL, time_warning);
	gg_json_close(&json);
	add_side(report, &json, "before", &report->before);
	add_side(report, &json, "after", &report->after);
	gg_json_open(&json, "total", '{');
	add_row(report, &json, &diff->total, false);
	gg_json_close(&json);
	gg_json_integer(&json, "row_count", diff->row_count);
	gg_json_integer(&json, "significant_count", diff->significant_count);
	gg_json_integer(&json, "grown_count", diff->grown_count);
	if (report->fails_on_growth)
		gg_json_bool(&json, "failed", diff->grown_count > 0);
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < shown_count(report); i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "label", diff->rows[i].label);
		if (diff->rows[i].via != NULL)
			gg_json_text(&json, "via", diff->rows[i].via);
		gg_json_text(&json, "full_name", diff->rows[i].full_name);
		add_row(report, &json, &diff->rows[i], true);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
