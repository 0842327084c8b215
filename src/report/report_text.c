/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text - prints rows for people: self and total with intervals, a bar, and a name in the
 * rest of the line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "report/report.h"
#include "report/screen_text.h"

enum {
	SAMPLES_WIDTH = 100,     /* a screen of this width has a column for samples */
	STACK_FRAMES_SHOWN = 24, /* the report shows this many frames of a stack */
};

struct columns {
	bool has_total;  /* beside self */
	bool has_failed; /* self by failed trials as well */
	size_t figure_width, bar_width;
	bool has_samples;
	double most;          /* the value at the end of the bars */
	struct gg_buf labels; /* labels of shown rows, each with a 0 byte; unused for stacks */
	const char **names;   /* where each begins; NULL: out of memory */
	const char **others;  /* by row: a label that would look equal, or the name itself */
};

static size_t shown_count(const struct gg_report *report)
{
	size_t count = report->result->row_count;

	return report->limit != 0 && report->limit < count ? report->limit : count;
}

static const struct gg_tally *sorted_by(const struct gg_report *report,
                                        const struct gg_query_row *row)
{
	return report->result->query.sort_by_total ? row->total : row->self;
}

static struct gg_figure figure_of(const struct gg_report *report, const struct gg_query_row *row,
                                  const struct gg_tally *tally)
{
	return gg_figure_of(tally, report->result->query.unit, report->confidence,
	                    gg_report_is_discovered(report->result, row));
}

static void append_failed_text(const struct gg_report *report, const struct gg_query_row *row,
                               struct gg_buf *text)
{
	struct gg_figure figure;

	if (gg_figure_by_failed_trials(row->self, report->confidence, &figure))
		gg_figure_append(&report->figures, &figure, text);
	else
		gg_buf_append_text(text, "-");
}

static void fit_failed(const struct gg_report *report, const struct gg_query_row *row,
                       struct columns *columns)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t width;

	append_failed_text(report, row, &text);
	width = gg_screen_text_length(gg_buf_text(&text));
	if (width > columns->figure_width)
		columns->figure_width = width;
}

static struct columns lay_out(const struct gg_report *report)
{
	const struct gg_query_result *result = report->result;
	struct columns columns = { .figure_width = gg_report_has_failed_trials(result) ? 13 : 8,
		                   .bar_width = report->width >= SAMPLES_WIDTH ? 16 : 8,
		                   .has_samples = report->width >= SAMPLES_WIDTH,
		                   .has_total = result->query.by == GG_BY_FUNCTION ||
		                                result->query.by == GG_BY_LINE ||
		                                result->query.by == GG_BY_MODULE,
		                   .has_failed = gg_report_has_failed_trials(result) };

	for (size_t i = 0; i < shown_count(report); i++) {
		const struct gg_tally *both[] = { result->rows[i].self, result->rows[i].total };

		if (columns.has_failed)
			fit_failed(report, &result->rows[i], &columns);
		for (size_t k = 0; k < 2; k++) {
			GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
			struct gg_figure figure = figure_of(report, &result->rows[i], both[k]);
			size_t width;

			gg_figure_append(&report->figures, &figure, &text);
			width = gg_screen_text_length(gg_buf_text(&text));
			if (width > columns.figure_width)
				columns.figure_width = width;
			if (both[k] == sorted_by(report, &result->rows[i]))
				columns.most = fmax(columns.most, isfinite(figure.high)
				                                          ? figure.high
				                                          : figure.estimate);
		}
	}
	return columns;
}

static void append_heads(const struct gg_report *report, const struct columns *columns,
                         struct gg_buf *out)
{
	gg_buf_append_text(out, report->style.heading);
	gg_screen_text_append_right(out,
	                            columns->has_total    ? "self"
	                            : columns->has_failed ? "weighted"
	                                                  : "",
	                            columns->figure_width);
	if (columns->has_total) {
		gg_buf_append_text(out, "  ");
		gg_screen_text_append_right(out, "total", columns->figure_width);
	}
	if (columns->has_failed) {
		gg_buf_append_text(out, "  ");
		gg_screen_text_append_right(out, "failed trials", columns->figure_width);
	}
	if (columns->has_samples)
		gg_buf_append_text(out, "  samples");
	gg_buf_printf(out, "  %*s  %s%s\n", (int)columns->bar_width, "",
	              gg_grouping_name(report->result->query.by), report->style.reset);
}

static void append_figure(const struct gg_report *report, const struct columns *columns,
                          const struct gg_query_row *row, const struct gg_tally *tally,
                          struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = figure_of(report, row, tally);

	gg_figure_append(&report->figures, &figure, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), columns->figure_width);
	gg_buf_append_text(out, "  ");
}

static void append_failed(const struct gg_report *report, const struct columns *columns,
                          const struct gg_query_row *row, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	append_failed_text(report, row, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), columns->figure_width);
	gg_buf_append_text(out, "  ");
}

/* The number of characters before the name. */
static size_t name_column(const struct columns *columns)
{
	return (columns->figure_width + 2) * (columns->has_total || columns->has_failed ? 2 : 1) +
	       (columns->has_samples ? 9 : 0) + columns->bar_width + 2;
}

size_t gg_report_room(const struct gg_report *report, size_t column, size_t least)
{
	size_t width = report->name_width > 0 ? report->name_width : report->width;

	return width > column && width - column > least ? width - column : least;
}

const char *gg_report_via_name(const struct gg_model *model, uint32_t via)
{
	return via != 0 ? model->functions[via].short_name : NULL;
}

void gg_report_append_via(const struct gg_report *report, const char *via, size_t used,
                          size_t width, struct gg_buf *out)
{
	static const char before[] = " via ";
	enum { LEAST = 7 };

	if (via == NULL || used + sizeof(before) - 1 + LEAST > width)
		return;
	gg_buf_append_text(out, before);
	gg_screen_text_append(out, via, width - used - (sizeof(before) - 1), report->figures.ascii);
}

void gg_report_append_place(const struct gg_report *report, const struct gg_code_location *place,
                            uint32_t via, size_t width, struct gg_buf *out)
{
	struct gg_model_line line = report->model->lines[place->line];
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, report->model->functions[place->function].name);
	if (line.file != NULL)
		gg_buf_printf(&text, " %s:%u", gg_path_base(line.file), line.line);
	gg_screen_text_append(out, gg_buf_text(&text), width, report->figures.ascii);
	gg_report_append_via(report, gg_report_via_name(report->model, via),
	                     gg_screen_text_length(gg_buf_text(&text)), width, out);
	gg_buf_append_text(out, "\n");
}

/* Prints a stack, a line for each frame: the innermost beside the figures, callers below it. */
static void append_stack(const struct gg_report *report, const struct columns *columns,
                         const struct gg_query_row *row, struct gg_buf *out)
{
	uint32_t stack = row->key;
	struct gg_code_location places[STACK_FRAMES_SHOWN];
	size_t count = gg_model_path(report->model, stack, places, STACK_FRAMES_SHOWN);
	size_t column = name_column(columns);
	size_t width = gg_report_room(report, column + 2, 18);

	for (size_t i = 0; i < count && i < STACK_FRAMES_SHOWN; i++) {
		if (i > 0)
			gg_buf_printf(out, "%*s", (int)column + 2, "");
		gg_report_append_place(report, &places[i], i == 0 ? row->via : 0,
		                       i > 0 ? width : width + 2, out);
	}
	if (count > STACK_FRAMES_SHOWN)
		gg_buf_printf(out, "%*s(%zu more callers)\n", (int)column + 2, "",
		              count - STACK_FRAMES_SHOWN);
}

/* Makes the names of all rows, and finds names that would look equal when shortened. */
static void find_names(const struct gg_report *report, struct columns *columns)
{
	size_t count = shown_count(report), at = 0;

	if (report->result->query.by == GG_BY_STACK)
		return;
	columns->names = calloc(2 * count + 1, sizeof(*columns->names));
	if (columns->names == NULL)
		return;
	columns->others = columns->names + count;
	for (size_t i = 0; i < count; i++) {
		gg_query_row_label(report->model, report->result, &report->result->rows[i],
		                   &columns->labels);
		gg_buf_append(&columns->labels, "", 1);
	}
	for (size_t i = 0; i < count && !columns->labels.failed; i++) {
		columns->names[i] = columns->labels.data + at;
		at += strlen(columns->names[i]) + 1;
	}
	if (!columns->labels.failed)
		gg_screen_text_find_alike(columns->names, count,
		                          gg_report_room(report, name_column(columns), 16),
		                          report->figures.ascii, columns->others);
}

static void append_row(const struct gg_report *report, const struct columns *columns, size_t index,
                       struct gg_buf *out)
{
	const struct gg_query_row *row = &report->result->rows[index];
	struct gg_figure figure = figure_of(report, row, sorted_by(report, row));
	size_t column = name_column(columns), width;

	append_figure(report, columns, row, row->self, out);
	if (columns->has_total)
		append_figure(report, columns, row, row->total, out);
	if (columns->has_failed)
		append_failed(report, columns, row, out);
	if (columns->has_samples)
		gg_buf_printf(out, "%7llu  ", (unsigned long long)row->total->sample_count);
	gg_figure_append_bar(&report->figures, &figure, columns->most > 0 ? columns->most : 1,
	                     columns->bar_width, out);
	gg_buf_append_text(out, "  ");
	if (report->result->query.by == GG_BY_STACK) {
		append_stack(report, columns, row, out);
		return;
	}
	if (columns->names == NULL || columns->labels.failed) {
		out->failed = true;
		return;
	}
	width = gg_report_room(report, column, 16);
	gg_screen_text_append_apart(out, columns->names[index], columns->others[index], width,
	                            report->figures.ascii);
	gg_report_append_via(report, gg_report_via_name(report->model, row->via),
	                     gg_screen_text_length(columns->names[index]), width, out);
	gg_buf_append_text(out, "\n");
}

/* Adds a line about the rows that the report does not show. */
static void append_hidden(const struct gg_report *report, struct gg_buf *out)
{
	enum gg_quantity unit = report->result->query.unit;
	size_t shown = shown_count(report), hidden = report->result->row_count - shown;
	double most = hidden > 0 ? gg_report_most_hidden(report, shown) : 0;

	if (hidden == 0)
		return;
	gg_buf_printf(out, "%zu more row%s", hidden, hidden == 1 ? "" : "s");
	/* Samples do not tell the number of small allocations; and rows may have only callees. */
	if (!isfinite(most) || most <= 0) {
		gg_buf_append_text(out, ".\n");
		return;
	}
	gg_buf_append_text(out, hidden == 1 ? ", which holds at most "
	                                    : ", of which each holds at most ");
	gg_figure_append_number(&report->figures, most, unit, out);
	gg_buf_append_text(out, unit == GG_ALLOCATIONS ? " allocations.\n" : ".\n");
}

static void append_no_match(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query *query = &report->result->query;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (query->focus == NULL && query->ignore == NULL)
		return;
	gg_buf_printf(&text,
	              "%s%s%s left no sample: expressions match any part of the names of "
	              "functions, callers included.",
	              query->focus != NULL ? "--focus" : "",
	              query->focus != NULL && query->ignore != NULL ? " and " : "",
	              query->ignore != NULL ? "--ignore" : "");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

/* Nothing is live, as in every program that frees all; hints at metrics that have more to show. */
static void append_other_metrics(const struct gg_report *report, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (report->result->row_count > 0 || report->model->sample_total == 0)
		return;
	append_no_match(report, out);
	if (report->result->query.metric != GG_METRIC_LIVE)
		return;
	if (gg_model_has_history(report->model))
		gg_buf_append_text(&text, "--metric peak shows the largest moment, ");
	gg_buf_append_text(&text, "--metric allocated all allocations.");
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

/* Processes that share blocks have rows that add up to more than the total. */
static void append_shared(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	enum gg_quantity unit = result->query.unit;
	double total = gg_tally_estimate(&result->total, unit).value, sum = 0;

	if (result->query.by != GG_BY_PROCESS)
		return;
	for (size_t i = 0; i < result->row_count; i++)
		sum += gg_tally_estimate(result->rows[i].self, unit).value;
	if (sum > total * (1 + 1e-6))
		gg_screen_text_append_paragraph(
			out,
			"Blocks that processes share by fork count in each row, "
			"once in the total.",
			report->width, report->figures.ascii);
}

void gg_report_text(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	struct columns columns = lay_out(report);
	char what[64];

	snprintf(what, sizeof(what), "in %zu row%s, by %s", result->row_count,
	         result->row_count == 1 ? "" : "s", gg_grouping_name(result->query.by));
	gg_report_append_head(report, out);
	if (gg_model_is_unprofiled(report->model)) {
		gg_report_append_notes(report, out);
		return;
	}
	gg_report_append_title(report, &result->query, result->moment_ns, &result->total, what,
	                       out);
	if (result->row_count > 0)
		append_heads(report, &columns, out);
	find_names(report, &columns);
	for (size_t i = 0; i < shown_count(report); i++)
		append_row(report, &columns, i, out);
	free(columns.names);
	gg_buf_done(&columns.labels);
	gg_buf_append_text(out, "\n");
	append_shared(report, out);
	append_hidden(report, out);
	append_other_metrics(report, out);
	gg_report_append_unseen(report, &result->total, out);
	gg_report_append_inexact(report, &result->unplaced, out);
	gg_report_append_notes(report, out);
}
