/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_diff.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/screen_text.h"

enum { LABEL_LEAST = 20, LABEL_INDENT = 4, P_CELLS = 6 };

/* The figures in front of the label. */
enum { COLUMN_BEFORE, COLUMN_AFTER, COLUMN_CHANGE, COLUMN_COUNT };

/* The table: the row of all, then the rows that are shown. */
struct diff_table {
	size_t count; /* with the row of all */
	struct gg_figure *figures[COLUMN_COUNT];
	struct gg_figure_column columns[COLUMN_COUNT];
	bool is_hidden[COLUMN_COUNT]; /* it has no room on a narrow terminal */
	bool has_p;
	size_t growth_cells;
	size_t label_column; /* cells in front of the label */
};

static struct gg_figure figure_of(const struct gg_diff_report *report, const struct gg_tally *tally,
                                  bool discovered)
{
	return gg_figure_of(tally, report->diff->unit, report->look.confidence,
	                    discovered && !gg_tally_is_empty(tally));
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
	       (metric == GG_METRIC_LIVE || metric == GG_METRIC_PEAK || metric == GG_METRIC_LEFT ||
	        metric == GG_METRIC_PINNED);
}

/* Without errors nothing can be significant: all rows are shown. */
static bool is_untested(const struct gg_diff *diff)
{
	return isnan(diff->total.difference.p_value) && !diff->is_exact;
}

static size_t shown_count(const struct gg_diff_report *report)
{
	const struct gg_diff *diff = report->diff;
	size_t count = report->show_all || is_untested(diff) ? diff->row_count
	                                                     : diff->significant_count;

	return report->look.limit != 0 && report->look.limit < count ? report->look.limit : count;
}

static const char *const heads[COLUMN_COUNT] = { "before", "after", "difference" };

static const char growth_title[] = "change";

/* Appends by how much the row grew, such as "+132 %". */
static void append_growth(const struct diff_table *table, size_t index, struct gg_buf *out)
{
	gg_figure_append_growth(table->figures[COLUMN_BEFORE][index].estimate,
	                        table->figures[COLUMN_AFTER][index].estimate, out);
}

static void append_p(double p, struct gg_buf *out)
{
	if (isnan(p))
		gg_buf_append_text(out, "-");
	else if (p < GG_P_VALUE_LEAST)
		gg_buf_append_text(out, "<1e-12");
	else
		gg_buf_printf(out, "%.2g", p);
}

/* "before x 1.7", where it was scaled. */
static void append_column_name(const struct gg_diff_report *report, int column, struct gg_buf *out)
{
	gg_buf_append_text(out, heads[column]);
	if (column == COLUMN_BEFORE && report->normalized_by != NULL)
		gg_buf_printf(out, " x %.4g", report->diff->query.scale);
}

/* The row of the table; the row of all is the first. */
static const struct gg_diff_row *row_of(const struct gg_diff_report *report, size_t index)
{
	return index == 0 ? &report->diff->total : &report->diff->rows[index - 1];
}

static bool is_terminal(const struct gg_diff_report *report)
{
	return report->look.name_width != SIZE_MAX;
}

static size_t cells_of(const struct gg_figure_column *column)
{
	return column->number_cells + column->error_cells + 2;
}

/*
 * Leaves out columns until the row fits a narrow terminal: p, then what was before, then what is
 * after.  The difference and the change stay, and tell both.  Returns the cells of the row.
 */
static size_t drop_columns(const struct gg_diff_report *report, struct diff_table *table,
                           size_t cells)
{
	table->has_p = !report->diff->is_exact &&
	               (!is_terminal(report) || cells + 2 + P_CELLS <= report->look.width);
	for (int i = COLUMN_BEFORE; i < COLUMN_CHANGE; i++) {
		table->is_hidden[i] = is_terminal(report) && cells > report->look.width;
		cells -= table->is_hidden[i] ? cells_of(&table->columns[i]) : 0;
	}
	return cells;
}

/* Fits columns to their figures and titles. */
static void fit_columns(const struct gg_diff_report *report, struct diff_table *table)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf title = { 0 };
	size_t cells = 2;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		struct gg_figure_column *column = &table->columns[i];
		size_t length;

		*column = gg_figure_column_of(&report->look.figures, table->figures[i],
		                              table->count);
		gg_buf_clear(&title);
		append_column_name(report, i, &title);
		length = gg_screen_text_length(gg_buf_text(&title));
		if (column->number_cells + column->error_cells < length)
			column->number_cells = length - column->error_cells;
		cells += cells_of(column);
	}
	table->growth_cells = strlen(growth_title);
	for (size_t k = 0; k < table->count; k++) {
		gg_buf_clear(&title);
		append_growth(table, k, &title);
		if (table->growth_cells < title.length)
			table->growth_cells = title.length;
	}
	cells = drop_columns(report, table, cells + table->growth_cells);
	table->label_column = cells + (table->has_p ? 2 + P_CELLS : 0);
}

/* As a figure shows itself: no estimate is above an exact total. */
static void limit_estimate(struct gg_figure *figure, const struct gg_tally *tally)
{
	if (tally->is_limited)
		figure->estimate = fmin(figure->estimate, figure->high);
}

/*
 * The difference, which stays unbiased unless a side has an exact total: then it is that of the
 * shown estimates, because a reader subtracts them.
 */
static struct gg_figure change_of(const struct gg_diff_report *report,
                                  const struct gg_diff_row *row, const struct gg_figure *before,
                                  const struct gg_figure *after)
{
	enum gg_quantity unit = report->diff->unit;
	struct gg_figure change = { .estimate = row->difference.value,
		                    .low = row->difference.low,
		                    .high = row->difference.high,
		                    .quantity = unit,
		                    .is_change = true };

	if (!row->before.is_limited && !row->after.is_limited)
		return change;
	change.estimate = after->estimate - before->estimate;
	change.low = fmax(change.low,
	                  -report->diff->query.scale * gg_tally_limit(&row->before, unit));
	change.high = fmin(change.high, gg_tally_limit(&row->after, unit));
	change.low = fmin(change.low, change.estimate);
	change.high = fmax(change.high, change.estimate);
	return change;
}

/* False: out of memory.  The caller frees figures[0]. */
static bool make_table(const struct gg_diff_report *report, struct diff_table *table)
{
	size_t count = shown_count(report) + 1;
	struct gg_figure *figures = calloc(COLUMN_COUNT * count, sizeof(*figures));

	if (figures == NULL)
		return false;
	table->count = count;
	for (int i = 0; i < COLUMN_COUNT; i++)
		table->figures[i] = figures + (size_t)i * count;
	for (size_t k = 0; k < count; k++) {
		const struct gg_diff_row *row = row_of(report, k);

		struct gg_figure *before = &table->figures[COLUMN_BEFORE][k];
		struct gg_figure *after = &table->figures[COLUMN_AFTER][k];

		*before = scaled_before(report, row, k > 0);
		*after = figure_of(report, &row->after, k > 0);
		limit_estimate(before, &row->before);
		limit_estimate(after, &row->after);
		table->figures[COLUMN_CHANGE][k] = change_of(report, row, before, after);
	}
	fit_columns(report, table);
	return true;
}

static void append_titles(const struct gg_diff_report *report, const struct diff_table *table,
                          struct gg_buf *out)
{
	gg_buf_printf(out, "%s  ", report->look.style.heading);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct gg_figure_column *column = &table->columns[i];
		size_t cells = column->number_cells;
		GG_CLEANUP(gg_buf_done) struct gg_buf title = { 0 };

		if (table->is_hidden[i])
			continue;
		append_column_name(report, i, &title);
		if (title.length > cells) /* it stands above the uncertainty as well */
			cells = title.length;
		gg_screen_text_append_right(out, gg_buf_text(&title), cells);
		gg_buf_printf(out, "%*s",
		              (int)(column->number_cells + column->error_cells - cells + 2), "");
	}
	gg_screen_text_append_right(out, growth_title, table->growth_cells);
	if (table->has_p)
		gg_buf_printf(out, "  %*s", P_CELLS, "p");
	if (gg_report_room(&report->look, table->label_column + 2, 0) >= LABEL_LEAST)
		gg_buf_printf(out, "  %s", gg_grouping_name(report->after.result->query.by));
	gg_buf_printf(out, "%s\n", report->look.style.reset);
}

static void append_numbers(const struct gg_diff_report *report, const struct diff_table *table,
                           size_t index, struct gg_buf *out)
{
	double p = row_of(report, index)->difference.p_value;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (table->is_hidden[i])
			continue;
		gg_figure_column_append(&report->look.figures, &table->columns[i],
		                        &table->figures[i][index], out);
		gg_buf_append_text(out, "  ");
	}
	append_growth(table, index, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), table->growth_cells);
	if (!table->has_p)
		return;
	gg_buf_clear(&text);
	append_p(p, &text);
	gg_buf_append_text(out, "  ");
	gg_screen_text_append_right(out, gg_buf_text(&text), P_CELLS);
}

/* Appends each frame of "main;f;g" on a line of its own, the innermost first. */
static void append_frames(const struct gg_diff_report *report, const char *label,
                          struct gg_buf *out)
{
	const char *end = label + strlen(label);

	while (end > label) {
		const char *begin = end;
		GG_CLEANUP(gg_buf_done) struct gg_buf frame = { 0 };

		while (begin > label && begin[-1] != ';')
			begin--;
		gg_buf_append(&frame, begin, (size_t)(end - begin));
		gg_screen_text_break(out, LABEL_INDENT);
		gg_screen_text_append(out, gg_buf_text(&frame),
		                      gg_report_room(&report->look, LABEL_INDENT, LABEL_LEAST),
		                      report->look.figures.ascii);
		end = begin > label ? begin - 1 : label;
	}
	gg_buf_append_text(out, "\n");
}

/* Appends the label behind the numbers, or below them if it needs more room on a terminal. */
static void append_label(const struct gg_diff_report *report, const struct diff_table *table,
                         const char *label, const char *via, struct gg_buf *out)
{
	size_t room = gg_report_room(&report->look, table->label_column + 2, 0);
	size_t length = gg_screen_text_length(label);

	if (room < length && report->after.result->query.by == GG_BY_STACK) {
		append_frames(report, label, out);
		return;
	}
	if (room < length) {
		gg_screen_text_break(out, LABEL_INDENT);
		room = gg_report_room(&report->look, LABEL_INDENT, LABEL_LEAST);
	} else {
		gg_buf_append_text(out, "  ");
	}
	gg_screen_text_append(out, label, room, report->look.figures.ascii);
	gg_report_append_via(&report->look, via, length, room, out);
	gg_buf_append_text(out, "\n");
}

static void append_rows(const struct gg_diff_report *report, struct gg_buf *out)
{
	struct diff_table table = { 0 };

	if (!make_table(report, &table)) {
		out->failed = true;
		return;
	}
	append_titles(report, &table, out);
	for (size_t i = 0; i < table.count; i++) {
		const struct gg_diff_row *row = row_of(report, i);

		gg_buf_append_text(out, i > 0 && row->is_significant ? "* " : "  ");
		append_numbers(report, &table, i, out);
		append_label(report, &table, i > 0 ? row->label : "all", i > 0 ? row->via : NULL,
		             out);
	}
	free(table.figures[0]);
}

/* Appends the path of a side and what is compared: "before a.geiger (live)". */
static void append_side_title(const struct gg_diff_report *report, const char *name,
                              const struct gg_diff_side *side, struct gg_buf *out)
{
	enum gg_metric metric = side->result->query.metric;

	if (metric == GG_METRIC_PEAK && !gg_model_has_history(side->model))
		metric = GG_METRIC_LIVE; /* the peak is not known */
	gg_buf_printf(out, "%s ", name);
	gg_screen_text_append(out, side->path, 40, report->look.figures.ascii);
	gg_buf_printf(out, " (%s%s)", gg_metric_name(metric),
	              report->diff->unit == GG_ALLOCATIONS ? " allocations" : "");
}

/* The sides have a line each where the paths are long. */
static void append_title(const struct gg_diff_report *report, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf before = { 0 }, after = { 0 };
	size_t cells;

	append_side_title(report, "before", &report->before, &before);
	append_side_title(report, "after", &report->after, &after);
	cells = gg_screen_text_length(gg_buf_text(&before)) + 2 +
	        gg_screen_text_length(gg_buf_text(&after));
	gg_buf_printf(out, "%s%s,%s%s%s\n", report->look.style.strong, gg_buf_text(&before),
	              cells <= report->look.width ? " " : "\n", gg_buf_text(&after),
	              report->look.style.reset);
}

static void append_side(const struct gg_diff_report *report, const char *name,
                        const struct gg_diff_side *side, struct gg_buf *out)
{
	const struct gg_profile_session *session = &side->model->sessions[0];

	gg_buf_printf(out, "%-7s ", name);
	/* An imported profile may lack the length of the run. */
	if (side->model->end_ns > 0 || gg_model_has_history(side->model)) {
		gg_report_append_time(side->model->end_ns, out);
		gg_buf_append_text(out, ", ");
	}
	gg_screen_text_append(out, session->command != NULL ? session->command : "",
	                      report->look.width - 24, report->look.figures.ascii);
	gg_buf_append_text(out, "\n");
}

static void append_head(const struct gg_diff_report *report, struct gg_buf *out)
{
	if (report->look.head == GG_HEAD_FULL) {
		append_side(report, "before", &report->before, out);
		append_side(report, "after", &report->after, out);
		if (report->normalized_by != NULL)
			gg_buf_printf(out, "Before is multiplied by %.4g (--normalize %s).\n",
			              report->diff->query.scale, report->normalized_by);
		gg_buf_append_text(out, "\n");
	}
	if (report->look.head != GG_HEAD_NONE)
		append_title(report, out);
}

static void append_verdict(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_diff *diff = report->diff;
	double rate = 100 * diff->query.false_discovery_rate;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (diff->is_exact) {
		gg_buf_printf(&text, "Exact: %zu of %zu rows differ, %zu grew.",
		              diff->significant_count, diff->row_count, diff->grown_count);
	} else if (is_untested(diff)) {
		gg_buf_printf(&text,
		              "Not tested: how far the numbers may be from the truth is not known; "
		              "compared: %zu.",
		              diff->row_count);
	} else if (diff->significant_count == 0) {
		gg_buf_printf(out,
		              "No row differs by more than sampling explains; compared: %zu,\n"
		              "  false discovery rate: %.3g %%.\n",
		              diff->row_count, rate);
	} else {
		gg_buf_printf(out, "%zu of %zu rows differ%s, %zu grew.\n", diff->significant_count,
		              diff->row_count, diff->significant_count == 1 ? "s" : "",
		              diff->grown_count);
		gg_buf_printf(&text, "On average at most %.3g %% of the rows %s are false alarms.",
		              rate, report->show_all ? "with a *" : "listed");
	}
	if (text.length > 0)
		gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->look.width,
		                                report->look.figures.ascii);
	if (shown_count(report) <
	    (report->show_all || is_untested(diff) ? diff->row_count : diff->significant_count))
		gg_buf_append_text(out, "There are more: --limit 0 shows all.\n");
}

static void append_gate(const struct gg_diff_report *report, struct gg_buf *out)
{
	bool has_grown = report->diff->grown_count > 0;

	if (report->fails_on_growth)
		gg_buf_printf(out, "%s%s%s\n",
		              has_grown ? report->look.style.error : report->look.style.strong,
		              has_grown ? "failed: memory grew"
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

/* Says what the rows of pinned memory are, and the exact totals that bound them. */
static void append_pinned(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_diff_side *sides[] = { &report->before, &report->after };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	bool has_exact = false;

	if (report->after.result->query.metric != GG_METRIC_PINNED)
		return;
	gg_buf_printf(&text,
	              "Rows are free memory that live blocks keep resident, as the %s saw it.",
	              report->after.result->query.look_moment == GG_LOOK_PEAK
	                      ? "look at each process at its largest RSS"
	                      : "last look at each process");
	for (int i = 0; i < 2; i++) {
		int64_t bytes = sides[i]->result->pinned.total_bytes;

		if (bytes < 0)
			continue;
		gg_buf_append_text(&text, has_exact ? " and "
		                                    : " Walks through whole heaps found exactly ");
		gg_figure_append_number(&report->look.figures, (double)bytes, GG_BYTES, &text);
		gg_buf_append_text(&text, i == 0 ? " before" : " after");
		has_exact = true;
	}
	gg_buf_append_text(&text, has_exact ? "." : "");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->look.width,
	                                report->look.figures.ascii);
}

void gg_report_diff_text(const struct gg_diff_report *report, struct gg_buf *out)
{
	const struct gg_model *before = report->before.model, *after = report->after.model;
	GG_CLEANUP(gg_buf_done) struct gg_buf found = { 0 };

	append_head(report, out);
	append_rows(report, out);
	if (report->look.head == GG_HEAD_NONE) {
		append_gate(report, out);
		return;
	}
	gg_buf_append_text(out, "\n");
	append_verdict(report, out);
	append_gate(report, out);
	append_pinned(report, out);
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

/* The bounds of pinned memory do not follow from the sampling interval, so it is in no tally. */
static double interval_of(const struct gg_diff_side *side)
{
	return side->result->query.metric == GG_METRIC_PINNED
	               ? gg_model_exposure(side->model, 0)
	               : side->result->total.reserve_max[GG_BYTES];
}

static void add_side(const struct gg_diff_report *report, struct gg_json *json, const char *name,
                     const struct gg_diff_side *side)
{
	const struct gg_profile_session *session = &side->model->sessions[0];

	(void)report;
	gg_json_open(json, name, '{');
	gg_json_text(json, "path", side->path);
	gg_json_text(json, "command", session->command);
	gg_json_number(json, "interval_bytes", interval_of(side));
	gg_json_integer(json, "samples", side->model->sample_total);
	gg_json_number(json, "duration_ns", (double)side->model->end_ns);
	gg_report_json_notes(json, side->model);
	gg_report_json_found_wrappers(json, side->model);
	if (side->result->query.metric == GG_METRIC_PINNED)
		gg_report_json_pinned(json, &side->result->pinned);
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
		                    .is_unknown = isnan(row->difference.p_value) &&
		                                  !isfinite(row->difference.low) };

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
	gg_report_json_look_moment(&json, query);
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
