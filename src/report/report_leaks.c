/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_leaks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_attach.h"
#include "report/screen_text.h"
#include "report/text_cells.h"

enum { LEAK_FRAMES_SHOWN = 24, LEAK_TYPES_SHOWN = 4, INDENT = 4, CLASS_WIDTH = 11 };

static struct gg_figure figure_of(const struct gg_range *range, enum gg_quantity quantity)
{
	return gg_figure_between(range->estimate, range->low, range->high, quantity);
}

static void append_range(const struct gg_report *report, const struct gg_range *range,
                         enum gg_quantity quantity, struct gg_buf *out)
{
	struct gg_figure figure = figure_of(range, quantity);

	gg_figure_append(&report->figures, &figure, out);
}

void gg_report_append_change(const struct gg_report *report, const struct gg_range *change,
                             enum gg_quantity quantity, struct gg_buf *out)
{
	struct gg_figure figure = figure_of(change, quantity);

	figure.is_change = true;
	gg_figure_append(&report->figures, &figure, out);
}

/* True for several processes: each held its part at its own exit, never all at once. */
static bool is_left(const struct gg_report *report, const struct gg_leaks *leaks)
{
	return leaks->at_ns == GG_TIME_NONE && report->summary->process_count > 1;
}

/* The share of `whole`, right in its column. */
static void append_share(double bytes, double whole, struct gg_buf *out)
{
	enum { SHARE_WIDTH = 6 };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_figure_append_percent(bytes / whole, &text);
	gg_screen_text_append_right(out, gg_buf_text(&text), SHARE_WIDTH);
}

static void append_classes(const struct gg_report *report, const struct gg_leaks *leaks,
                           struct gg_buf *out)
{
	struct gg_figure figures[GG_LEAK_CLASS_COUNT];
	struct gg_figure_column column;

	for (int i = 0; i < GG_LEAK_CLASS_COUNT; i++)
		figures[i] = gg_figure_between(
			leaks->class_bytes[i], leaks->class_bytes[i],
			leaks->class_row_count[i] > 0 ? leaks->class_bytes[i] : INFINITY, GG_BYTES);
	column = gg_figure_column_of(&report->figures, figures, GG_LEAK_CLASS_COUNT);
	gg_buf_printf(out, "%s%-*s  stacks  %*s%s\n", report->style.heading, CLASS_WIDTH, "",
	              (int)column.number_cells, is_left(report, leaks) ? "left" : "live",
	              report->style.reset);
	for (int i = 0; i < GG_LEAK_CLASS_COUNT; i++) {
		gg_buf_printf(out, "%-*s  %6zu  ", CLASS_WIDTH,
		              gg_leak_class_name((enum gg_leak_class)i), leaks->class_row_count[i]);
		gg_figure_column_append(&report->figures, &column, &figures[i], out);
		gg_buf_append_text(out, "  ");
		append_share(leaks->class_bytes[i], leaks->live_bytes.estimate, out);
		gg_buf_append_text(out, "\n");
	}
	gg_buf_append_text(out, "older than a tenth of the run: ");
	append_range(report, &leaks->old_bytes, GG_BYTES, out);
	gg_buf_append_text(out, "\n");
}

/* When what is live was allocated: a character for each tenth of the run. */
static void append_cohorts(const struct gg_report *report, const struct gg_leak_row *row,
                           struct gg_buf *out)
{
	static const char ascii[] = " .:-=+*#";
	double most = 0;

	for (int i = 0; i < GG_LEAK_COHORTS; i++)
		most = fmax(most, row->cohorts[i]);
	gg_buf_append_text(out, "|");
	for (int i = 0; i < GG_LEAK_COHORTS; i++) {
		int level = most > 0 ? (int)ceil(row->cohorts[i] / most * 8) : 0; /* 0 to 8 */
		const char block[] = { (char)0xe2, (char)0x96, (char)(0x80 + level), 0 };

		if (report->figures.ascii)
			gg_buf_append(out, &ascii[level < 8 ? level : 7], 1);
		else
			gg_buf_append_text(out, level > 0 ? block : " ");
	}
	gg_buf_append_text(out, "|");
}

/*
 * Appends "growing  30.0 MiB ± 29 %   11 %  786.5 k ± 29 % allocations, 60 samples".  The number of
 * allocations has a line of its own where the width has no room for it.
 */
static void append_row_title(const struct gg_report *report, const struct gg_leaks *leaks,
                             const struct gg_figure_column *column, const struct gg_leak_row *row,
                             struct gg_buf *out)
{
	enum { LEAK_SHARE_CELLS = 7 };
	struct gg_figure figure = figure_of(&row->live_bytes, GG_BYTES);
	GG_CLEANUP(gg_buf_done) struct gg_buf count = { 0 };
	size_t used = CLASS_WIDTH + 2 + column->number_cells + column->error_cells +
	              LEAK_SHARE_CELLS;

	gg_buf_printf(out, "%s%-*s%s  ",
	              row->class == GG_LEAK_GROWING ? report->style.error : report->style.strong,
	              CLASS_WIDTH, gg_leak_class_name(row->class), report->style.reset);
	gg_figure_column_append(&report->figures, column, &figure, out);
	gg_buf_append_text(out, " ");
	append_share(row->live_bytes.estimate, leaks->live_bytes.estimate, out);
	append_range(report, &row->live_count, GG_ALLOCATIONS, &count);
	gg_buf_printf(&count, " allocation%s", strcmp(gg_buf_text(&count), "1") == 0 ? "" : "s");
	if (!gg_model_is_exact(report->model)) /* with exact counts, each allocation is a sample */
		gg_buf_printf(&count, ", %" PRIu64 " sample%s", row->sample_count,
		              row->sample_count == 1 ? "" : "s");
	gg_buf_append_text(&count, "\n");
	if (used + 2 + gg_text_cells(gg_buf_text(&count), count.length - 1) <= report->width)
		gg_buf_append_text(out, "  ");
	else
		gg_buf_printf(out, "\n%*s", INDENT, "");
	gg_buf_append_text(out, gg_buf_text(&count));
}

static struct gg_figure figure_of_type(const struct gg_leak_type *type)
{
	return gg_figure_between(type->live_bytes, type->low_bytes, type->high_bytes, GG_BYTES);
}

/*
 * Appends the types of a row's objects: the largest ones, and in any case the memory whose type is
 * not known.  A row of which nothing has a type has no such lines.
 */
static void append_types(const struct gg_report *report, const struct gg_leak_row *row,
                         struct gg_buf *out)
{
	struct gg_figure figures[LEAK_TYPES_SHOWN];
	size_t shown[LEAK_TYPES_SHOWN], count = 0, i;
	struct gg_figure_column column;
	size_t indent;

	if (row->type_count == 0 || (row->type_count == 1 && row->types[0].type == 0))
		return;
	for (i = 0; i < row->type_count && count < LEAK_TYPES_SHOWN; i++)
		shown[count++] = i;
	for (; i < row->type_count; i++)
		if (row->types[i].type == 0)
			shown[LEAK_TYPES_SHOWN - 1] = i;
	for (i = 0; i < count; i++)
		figures[i] = figure_of_type(&row->types[shown[i]]);
	column = gg_figure_column_of(&report->figures, figures, count);
	indent = INDENT + column.number_cells + column.error_cells + 14;
	for (i = 0; i < count; i++) {
		const struct gg_leak_type *type = &row->types[shown[i]];

		gg_buf_printf(out, "%*s", INDENT, "");
		gg_figure_column_append(&report->figures, &column, &figures[i], out);
		gg_buf_append_text(out, " ");
		append_share(type->live_bytes, row->live_bytes.estimate, out);
		gg_buf_append_text(out, type->type == 0 ? "  " : "  type ");
		gg_screen_text_append(out, report->model->types[type->type],
		                      gg_report_room(report, indent, 16), report->figures.ascii);
		gg_buf_append_text(out, "\n");
	}
	if (count < row->type_count)
		gg_buf_printf(out, "%*s(%zu more type%s)\n", INDENT, "", row->type_count - count,
		              row->type_count - count == 1 ? "" : "s");
}

static void append_row(const struct gg_report *report, const struct gg_leaks *leaks,
                       const struct gg_figure_column *column, const struct gg_leak_row *row,
                       struct gg_buf *out)
{
	struct gg_code_location places[LEAK_FRAMES_SHOWN];
	size_t count = gg_model_path(report->model, row->stack, places, LEAK_FRAMES_SHOWN);
	GG_CLEANUP(gg_buf_done) struct gg_buf oldest = { 0 };

	append_row_title(report, leaks, column, row, out);
	gg_buf_printf(out, "%*sallocated ", INDENT, "");
	append_cohorts(report, row, out);
	gg_buf_append_text(out, " start to end,");
	gg_buf_append_text(&oldest, " the oldest ");
	gg_report_append_time(row->oldest_ns, &oldest);
	gg_buf_append_text(&oldest, " old");
	if (isfinite(row->kept_share))
		gg_buf_printf(&oldest, "; %.3g %% is kept", 100 * row->kept_share);
	gg_screen_text_append_fitting(out, gg_buf_text(&oldest), report->width, INDENT);
	gg_buf_append_text(out, "\n");
	if (row->class == GG_LEAK_GROWING) {
		gg_buf_printf(out, "%*sin the last third ", INDENT, "");
		gg_report_append_change(report, &row->growth_bytes, GG_BYTES, out);
		gg_buf_printf(out, ", p = %.1g\n", row->p_value);
	}
	append_types(report, row, out);
	for (size_t i = 0; i < count && i < LEAK_FRAMES_SHOWN; i++) {
		gg_buf_printf(out, "%*s", INDENT, "");
		gg_report_append_place(report, &places[i], i == 0 ? row->via : 0,
		                       gg_report_room(report, INDENT, 16), out);
	}
	if (count > LEAK_FRAMES_SHOWN)
		gg_buf_printf(out, "%*s(%zu more callers)\n", INDENT, "",
		              count - LEAK_FRAMES_SHOWN);
}

static void append_suppressed(const struct gg_report *report, const struct gg_leaks *leaks,
                              struct gg_buf *out)
{
	for (size_t i = 0; i < leaks->suppressed_count; i++) {
		const struct gg_leak_suppressed *suppressed = &leaks->suppressed[i];

		gg_buf_append_text(out, "suppressed by leak:");
		gg_screen_text_append(out, suppressed->pattern, 60, report->figures.ascii);
		if (suppressed->row_count == 0) {
			gg_buf_append_text(out, ": nothing\n");
			continue;
		}
		gg_buf_printf(out, ": %zu stack%s, ", suppressed->row_count,
		              suppressed->row_count == 1 ? "" : "s");
		gg_figure_append_number(&report->figures, suppressed->live_bytes, GG_BYTES, out);
		gg_buf_append_text(out, "\n");
	}
}

static void append_gate(const struct gg_report *report, const struct gg_leaks *leaks,
                        const struct gg_leak_gate *gate, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf bound = { 0 };

	if (!gate->is_asked)
		return;
	gg_buf_printf(out,
	              "%s%s%s: ", gate->has_failed ? report->style.error : report->style.strong,
	              gate->has_failed ? "failed" : "passed", report->style.reset);
	gg_buf_append_text(out, "what is older than a tenth of the run is");
	if (gate->has_failed) {
		gg_buf_append_text(&bound, " at least ");
		gg_figure_append_number(&report->figures, leaks->old_bytes.low, GG_BYTES, &bound);
		gg_buf_append_text(&bound, ", above ");
	} else {
		gg_buf_append_text(&bound, " not certainly above ");
	}
	gg_figure_append_number(&report->figures, (double)gate->limit_bytes, GG_BYTES, &bound);
	gg_screen_text_append_fitting(out, gg_buf_text(&bound), report->width, INDENT);
	gg_buf_append_text(out, "\n");
}

static size_t shown_count(const struct gg_report *report, const struct gg_leaks *leaks)
{
	return report->limit != 0 && report->limit < leaks->row_count ? report->limit
	                                                              : leaks->row_count;
}

static void append_title(const struct gg_report *report, const struct gg_leaks *leaks,
                         struct gg_buf *out)
{
	gg_buf_append_text(out, report->style.strong);
	if (is_left(report, leaks)) {
		gg_buf_printf(out, "left at exit, of %zu processes",
		              report->summary->process_count);
	} else if (leaks->at_ns == GG_TIME_NONE) {
		gg_buf_append_text(out, "live at the end");
	} else {
		gg_buf_append_text(out, "live at ");
		gg_report_append_time(leaks->at_ns, out);
	}
	gg_buf_printf(out, "%s: ", report->style.reset);
}

/* Rounded down: a moment later the program may have begun to give it back. */
static void append_given_back(const struct gg_report *report, int64_t given_back_ns,
                              struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int64_t us = given_back_ns / 1000;

	if (us == 0)
		return;
	gg_buf_append_text(&text, "note: little is left at the end of what was live at ");
	gg_report_append_time(given_back_ns, &text);
	gg_buf_printf(&text,
	              ": the program gave it back. '--at %" PRId64 ".%06" PRId64
	              "s' judges what it held then.",
	              us / 1000000, us % 1000000);
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

void gg_report_leaks_collections(const struct gg_figure_style *style, const struct gg_leaks *leaks,
                                 struct gg_buf *out)
{
	const struct gg_leak_collections *sums = &leaks->collections;
	size_t without = sums->process_count - sums->collected_count;

	if (sums->collected_count > 0) {
		gg_buf_append_text(out,
		                   "Java: counted is what survived the last full collection, at ");
		gg_report_append_time(sums->first_ns, out);
		if (sums->last_ns != sums->first_ns) {
			gg_buf_append_text(out, " to ");
			gg_report_append_time(sums->last_ns, out);
		}
		gg_buf_append_text(out, ".");
	}
	if (sums->younger_sample_count > 0) {
		gg_buf_append_text(out, " Left out: ");
		gg_figure_append_number(style, sums->younger_bytes, GG_BYTES, out);
		gg_buf_append_text(out, " that came later and may be dead (--uncollected: with "
		                        "them).");
	}
	if (without > 0) {
		gg_buf_printf(out, "%s%s", out->length > 0 ? " " : "Java: ",
		              sums->collected_count > 0 ? "In other processes, " : "");
		gg_figure_append_number(style, sums->uncollected_bytes, GG_BYTES, out);
		gg_buf_append_text(out,
		                   " are live or not yet collected, because geiger saw no full "
		                   "collection there: 'jcmd PID GC.run' makes one (not with "
		                   "generations of Shenandoah).");
	}
}

static void append_collections(const struct gg_report *report, const struct gg_leaks *leaks,
                               struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_report_leaks_collections(&report->figures, leaks, &text);
	if (text.length == 0)
		return;
	gg_screen_text_append_paragraph(out, gg_buf_text(&text), report->width,
	                                report->figures.ascii);
}

static void append_rows(const struct gg_report *report, const struct gg_leaks *leaks,
                        struct gg_buf *out)
{
	size_t count = shown_count(report, leaks);
	struct gg_figure *figures = calloc(count + 1, sizeof(*figures));
	struct gg_figure_column column;

	if (figures == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		figures[i] = figure_of(&leaks->rows[i].live_bytes, GG_BYTES);
	column = gg_figure_column_of(&report->figures, figures, count);
	for (size_t i = 0; i < count; i++) {
		gg_buf_append_text(out, i > 0 || report->head != GG_HEAD_NONE ? "\n" : "");
		append_row(report, leaks, &column, &leaks->rows[i], out);
	}
	free(figures);
}

/* Appends the lines below the rows: bounds of other stacks, and notes. */
static void append_foot(const struct gg_report *report, const struct gg_leaks *leaks,
                        int64_t given_back_ns, struct gg_buf *out)
{
	size_t shown = shown_count(report, leaks);

	gg_buf_append_text(out, "\n");
	if (shown < leaks->row_count)
		gg_buf_printf(out, "%zu more: --limit 0 shows all stacks.\n",
		              leaks->row_count - shown);
	if (leaks->unseen_bytes > 0) {
		gg_buf_append_text(out, "A stack that is not here holds less than ");
		gg_figure_append_number(&report->figures, leaks->unseen_bytes, GG_BYTES, out);
		gg_buf_append_text(out, ".\n");
	}
	append_suppressed(report, leaks, out);
	append_given_back(report, given_back_ns, out);
	if (!leaks->has_history)
		gg_buf_append_text(
			out, "note: the profile has no history, so times of frees are unknown, "
			     "and no stack that\n  freed memory counts as growing or level\n");
	gg_report_append_older_note(report, out);
	gg_report_append_notes(report, out);
}

void gg_report_leaks_text(const struct gg_report *report, const struct gg_leaks *leaks,
                          const struct gg_leak_gate *gate, int64_t given_back_ns,
                          struct gg_buf *out)
{
	bool has_head = report->head != GG_HEAD_NONE;

	gg_report_append_head(report, out);
	if (gg_model_is_unprofiled(report->model)) {
		gg_report_append_notes(report, out);
		append_gate(report, leaks, gate, out);
		return;
	}
	if (has_head) {
		append_title(report, leaks, out);
		append_range(report, &leaks->live_bytes, GG_BYTES, out);
		gg_buf_printf(out, " in %zu stack%s\n", leaks->row_count,
		              leaks->row_count == 1 ? "" : "s");
		append_collections(report, leaks, out);
		gg_buf_append_text(out, "\n");
		append_classes(report, leaks, out);
	}
	append_rows(report, leaks, out);
	if (has_head)
		append_foot(report, leaks, given_back_ns, out);
	append_gate(report, leaks, gate, out);
}

static void add_range(struct gg_json *json, const char *name, const struct gg_range *range)
{
	struct gg_figure figure = figure_of(range, GG_BYTES);

	gg_report_json_figure(json, name, &figure);
}

static void add_types(const struct gg_report *report, struct gg_json *json,
                      const struct gg_leak_row *row)
{
	gg_json_open(json, "types", '[');
	for (size_t i = 0; i < row->type_count; i++) {
		const struct gg_leak_type *type = &row->types[i];
		struct gg_figure figure = figure_of_type(type);

		gg_json_open(json, NULL, '{');
		gg_json_text(json, "type", report->model->types[type->type]);
		gg_json_integer(json, "samples", type->sample_count);
		gg_report_json_figure(json, "live_bytes", &figure);
		gg_json_number(json, "share", type->live_bytes / row->live_bytes.estimate);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void add_row(const struct gg_report *report, struct gg_json *json,
                    const struct gg_leak_row *row)
{
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "class", gg_leak_class_name(row->class));
	gg_json_integer(json, "samples", row->sample_count);
	add_range(json, "live_bytes", &row->live_bytes);
	add_range(json, "live_count", &row->live_count);
	add_range(json, "old_bytes", &row->old_bytes);
	add_range(json, "growth_bytes", &row->growth_bytes);
	gg_json_number(json, "p_value", row->p_value);
	gg_json_number(json, "q_value", row->q_value);
	gg_json_number(json, "kept_share", row->kept_share);
	gg_json_number(json, "oldest_ns", (double)row->oldest_ns);
	gg_json_open(json, "allocated_tenths_bytes", '[');
	for (int i = 0; i < GG_LEAK_COHORTS; i++)
		gg_json_number(json, NULL, row->cohorts[i]);
	gg_json_close(json);
	add_types(report, json, row);
	if (row->via != 0)
		gg_json_text(json, "via", report->model->functions[row->via].name);
	gg_report_json_stack(report, json, row->stack);
	gg_json_close(json);
}

void gg_report_leaks_json_classes(struct gg_json *json, const struct gg_leaks *leaks)
{
	gg_json_open(json, "classes", '[');
	for (int i = 0; i < GG_LEAK_CLASS_COUNT; i++) {
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "class", gg_leak_class_name((enum gg_leak_class)i));
		gg_json_integer(json, "stacks", leaks->class_row_count[i]);
		gg_json_number(json, "live_bytes", leaks->class_bytes[i]);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void add_suppressed(struct gg_json *json, const struct gg_leaks *leaks)
{
	gg_json_open(json, "suppressed", '[');
	for (size_t i = 0; i < leaks->suppressed_count; i++) {
		const struct gg_leak_suppressed *suppressed = &leaks->suppressed[i];

		gg_json_open(json, NULL, '{');
		gg_json_text(json, "pattern", suppressed->pattern);
		gg_json_integer(json, "stacks", suppressed->row_count);
		gg_json_integer(json, "samples", suppressed->sample_count);
		gg_json_number(json, "live_bytes", suppressed->live_bytes);
		gg_json_close(json);
	}
	gg_json_close(json);
}

/* Only where a process has live objects of Java. */
static void add_collections(struct gg_json *json, const struct gg_leaks *leaks)
{
	const struct gg_leak_collections *sums = &leaks->collections;

	if (sums->process_count == 0)
		return;
	gg_json_open(json, "full_collections", '{');
	gg_json_integer(json, "processes", sums->process_count);
	gg_json_integer(json, "collected_processes", sums->collected_count);
	if (sums->collected_count > 0) {
		gg_json_number(json, "first_ns", (double)sums->first_ns);
		gg_json_number(json, "last_ns", (double)sums->last_ns);
	}
	gg_json_integer(json, "younger_samples", sums->younger_sample_count);
	gg_json_number(json, "younger_bytes", sums->younger_bytes);
	gg_json_number(json, "uncollected_bytes", sums->uncollected_bytes);
	gg_json_close(json);
}

void gg_report_leaks_json(const struct gg_report *report, const struct gg_leaks *leaks,
                          const struct gg_leak_gate *gate, struct gg_buf *out)
{
	struct gg_json json = { .out = out };
	size_t shown = shown_count(report, leaks);

	gg_json_open(&json, NULL, '{');
	gg_report_json_head(report, &json);
	add_range(&json, "live_bytes", &leaks->live_bytes);
	add_range(&json, "live_count", &leaks->live_count);
	add_range(&json, "old_bytes", &leaks->old_bytes);
	gg_json_number(&json, "unseen_bytes", leaks->unseen_bytes);
	add_collections(&json, leaks);
	gg_report_leaks_json_classes(&json, leaks);
	add_suppressed(&json, leaks);
	if (gate->is_asked) {
		gg_json_integer(&json, "fail_above_bytes", gate->limit_bytes);
		gg_json_bool(&json, "failed", gate->has_failed);
	}
	gg_json_integer(&json, "row_count", leaks->row_count);
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < shown; i++)
		add_row(report, &json, &leaks->rows[i]);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}
