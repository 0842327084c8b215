/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_collections.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/screen_text.h"

enum {
	PERIODS = 10,      /* rows of the table */
	COLLECTORS_MAX = 4 /* that have a table */
};

/* The work of a collector in a part of the time.  All zero with most_bytes -1: nothing. */
struct period {
	int64_t minor_count, major_count, pause_ns, longest_ns;
	int64_t most_bytes, most_ns; /* -1: not known */
};

struct collector {
	const struct gg_report *report;
	uint32_t process;
	int64_t first_ns, last_ns; /* of the table */
	struct period whole, periods[PERIODS];
};

static bool is_asked_for(const struct gg_report *report, const struct gg_model_collections *row)
{
	uint32_t pid = report->summary->pid;

	return pid == 0 || report->model->processes[row->process].pid == pid;
}

static void add(struct period *period, const struct gg_model_collections *row)
{
	period->minor_count += row->minor_count;
	period->major_count += row->major_count;
	period->pause_ns += row->pause_ns;
	if (row->longest_ns > period->longest_ns)
		period->longest_ns = row->longest_ns;
	if (row->most_bytes > period->most_bytes) {
		period->most_bytes = row->most_bytes;
		period->most_ns = row->time_ns;
	}
}

static size_t period_of(const struct collector *collector, int64_t time_ns)
{
	double span = (double)(collector->last_ns - collector->first_ns);
	double at = (double)(time_ns - collector->first_ns);

	return span > 0 ? (size_t)fmin(fmax(at / span * PERIODS, 0), PERIODS - 1) : 0;
}

static void add_up(struct collector *collector)
{
	const struct gg_model *model = collector->report->model;

	collector->whole.most_bytes = -1;
	for (size_t i = 0; i < PERIODS; i++)
		collector->periods[i].most_bytes = -1;
	for (size_t i = 0; i < model->collections_count; i++) {
		const struct gg_model_collections *row = &model->collections[i];

		if (row->process != collector->process)
			continue;
		add(&collector->whole, row);
		add(&collector->periods[period_of(collector, row->time_ns)], row);
	}
}

static void append_bytes(const struct gg_report *report, int64_t bytes, struct gg_buf *out)
{
	if (bytes < 0)
		gg_buf_append_text(out, "-");
	else
		gg_figure_append_number(&report->figures, (double)bytes, GG_BYTES, out);
}

/* "collector of process 4711: 1378 minor collections, 9 major; pauses of 310 ms, ..." */
static void append_sentence(const struct collector *collector, struct gg_buf *out)
{
	const struct gg_report *report = collector->report;
	const struct period *whole = &collector->whole;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_printf(&text,
	              "collector of process %" PRIu32 ": %" PRId64 " minor and %" PRId64
	              " major collections; pauses of ",
	              report->model->processes[collector->process].pid, whole->minor_count,
	              whole->major_count);
	gg_report_append_time(whole->pause_ns, &text);
	gg_buf_append_text(&text, ", the longest ");
	gg_report_append_time(whole->longest_ns, &text);
	if (whole->most_bytes >= 0) {
		gg_buf_append_text(&text, "; its heap was at most ");
		append_bytes(report, whole->most_bytes, &text);
		gg_buf_append_text(&text, ", at ");
		gg_report_append_time(whole->most_ns, &text);
	}
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
	out->failed |= text.failed;
}

enum { COLUMN_CHARACTERS = 10 };

/* Ends the text of a cell, and begins the next one. */
static void append_cell(struct gg_buf *cell, struct gg_buf *out)
{
	gg_screen_text_append_right(out, gg_buf_text(cell), COLUMN_CHARACTERS);
	out->failed |= cell->failed;
	cell->length = 0;
}

static void append_row(const struct collector *collector, size_t number, struct gg_buf *out)
{
	const struct period *period = &collector->periods[number];
	double span = (double)(collector->last_ns - collector->first_ns);
	GG_CLEANUP(gg_buf_done) struct gg_buf cell = { 0 };

	gg_report_append_time(
		collector->first_ns + (int64_t)(span * (double)(number + 1) / PERIODS), &cell);
	append_cell(&cell, out);
	gg_buf_printf(&cell, "%" PRId64, period->minor_count);
	append_cell(&cell, out);
	gg_buf_printf(&cell, "%" PRId64, period->major_count);
	append_cell(&cell, out);
	gg_report_append_time(period->pause_ns, &cell);
	append_cell(&cell, out);
	append_bytes(collector->report, period->most_bytes, &cell);
	append_cell(&cell, out);
	gg_buf_append_text(out, "\n");
}

static void append_collector(const struct collector *collector, struct gg_buf *out)
{
	append_sentence(collector, out);
	gg_buf_printf(out, "%*s%*s%*s%*s%*s\n", COLUMN_CHARACTERS, "until", COLUMN_CHARACTERS,
	              "minor", COLUMN_CHARACTERS, "major", COLUMN_CHARACTERS, "pauses",
	              COLUMN_CHARACTERS, "heap");
	for (size_t i = 0; i < PERIODS; i++)
		append_row(collector, i, out);
}

/* Processes are few, and the rows of one of them follow each other. */
static bool is_first_of(const struct gg_model *model, size_t index)
{
	for (size_t i = index; i > 0; i--)
		if (model->collections[i - 1].process == model->collections[index].process)
			return false;
	return true;
}

bool gg_report_has_collections(const struct gg_report *report)
{
	for (size_t i = 0; i < report->model->collections_count; i++)
		if (is_asked_for(report, &report->model->collections[i]))
			return true;
	return false;
}

/* Sets the times of the table. */
static void set_span(struct collector *collector, const struct gg_timeline *timeline)
{
	const struct gg_model *model = collector->report->model;

	if (timeline != NULL) {
		collector->first_ns = timeline->points[0].time_ns;
		collector->last_ns = timeline->points[timeline->point_count - 1].time_ns;
		return;
	}
	for (size_t i = 0; i < model->collections_count; i++)
		if (model->collections[i].process == collector->process &&
		    model->collections[i].time_ns > collector->last_ns)
			collector->last_ns = model->collections[i].time_ns;
}

void gg_report_collections_text(const struct gg_report *report, const struct gg_timeline *timeline,
                                struct gg_buf *out)
{
	const struct gg_model *model = report->model;
	size_t count = 0;

	for (size_t i = 0; i < model->collections_count; i++) {
		const struct gg_model_collections *row = &model->collections[i];
		struct collector collector = { .report = report, .process = row->process };

		if (!is_asked_for(report, row) || !is_first_of(model, i) ||
		    ++count > COLLECTORS_MAX)
			continue;
		gg_buf_append_text(out, "\n");
		set_span(&collector, timeline);
		add_up(&collector);
		append_collector(&collector, out);
	}
	if (count > COLLECTORS_MAX)
		gg_buf_printf(out, "and %zu more have collectors; --process PID shows one\n",
		              count - COLLECTORS_MAX);
}

static void add_known(struct gg_json *json, const char *name, int64_t bytes)
{
	gg_json_number(json, name, bytes >= 0 ? (double)bytes : NAN);
}

void gg_report_collections_json(const struct gg_report *report, struct gg_json *json)
{
	const struct gg_model *model = report->model;

	gg_json_open(json, "collections", '[');
	for (size_t i = 0; i < model->collections_count; i++) {
		const struct gg_model_collections *row = &model->collections[i];

		if (!is_asked_for(report, row))
			continue;
		gg_json_open(json, NULL, '{');
		gg_json_integer(json, "pid", model->processes[row->process].pid);
		gg_json_number(json, "time_ns", (double)row->time_ns);
		gg_json_number(json, "minor_count", (double)row->minor_count);
		gg_json_number(json, "step_count", (double)row->step_count);
		gg_json_number(json, "major_count", (double)row->major_count);
		gg_json_number(json, "pause_ns", (double)row->pause_ns);
		gg_json_number(json, "longest_ns", (double)row->longest_ns);
		add_known(json, "heap_bytes", row->heap_bytes);
		add_known(json, "most_bytes", row->most_bytes);
		add_known(json, "arena_bytes", row->arena_bytes);
		add_known(json, "large_bytes", row->large_bytes);
		gg_json_close(json);
	}
	gg_json_close(json);
}
