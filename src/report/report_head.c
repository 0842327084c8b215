/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_head - prints the head that all reports share, and the notes at their end.
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/time_units.h"
#include "query/why_profile.h"
#include "report/report.h"
#include "report/report_attach.h"
#include "report/report_faults.h"
#include "report/report_held.h"
#include "report/screen_text.h"
#include "report/symbol_hint.h"
#include "stats/estimate/interval.h"

bool gg_report_has_failed_trials(const struct gg_query_result *result)
{
	return (result->query.by == GG_BY_HEAP || result->query.by == GG_BY_TYPE) &&
	       result->query.unit == GG_BYTES && result->query.metric != GG_METRIC_PINNED;
}

void gg_report_append_time(int64_t time_ns, struct gg_buf *out)
{
	double seconds = (double)time_ns * 1e-9;
	int64_t whole = time_ns / GG_NS_PER_S;

	if (time_ns == 0)
		gg_buf_append_text(out, "0 s");
	else if (time_ns < GG_NS_PER_MS)
		gg_buf_printf(out, "%.3g us", seconds * 1e6);
	else if (time_ns < GG_NS_PER_S)
		gg_buf_printf(out, "%.3g ms", seconds * 1e3);
	else if (whole < 100)
		gg_buf_printf(out, "%.3g s", seconds);
	else if (whole < 6000)
		gg_buf_printf(out, "%" PRId64 " min %" PRId64 " s", whole / 60, whole % 60);
	else
		gg_buf_printf(out, "%" PRId64 " h %" PRId64 " min", whole / 3600, whole / 60 % 60);
}

/* One line of the head: its name, a number, and a remark. */
enum { NAME_WIDTH = 17, FIGURE_WIDTH = 18 };

static void append_name(const char *name, struct gg_buf *out)
{
	gg_screen_text_append_left(out, name, NAME_WIDTH);
	gg_buf_append_text(out, " ");
}

static void append_tally(const struct gg_report *report, const struct gg_tally *tally,
                         enum gg_quantity quantity, size_t width, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = gg_figure_of(tally, quantity, report->confidence, false);

	gg_figure_append(&report->figures, &figure, &text);
	if (width > 0 && gg_screen_text_length(gg_buf_text(&text)) >= width)
		gg_buf_append_text(out, " "); /* the columns stay apart */
	gg_screen_text_append_right(out, gg_buf_text(&text), width);
}

/*
 * remark: follows the numbers; without samples only a remark that begins with a comma is printed.
 * On a narrow screen the number of allocations stands below that of bytes.
 */
static void append_both(const struct gg_report *report, const char *name,
                        const struct gg_tally *tally, const char *remark, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf count = { 0 };

	append_name(name, out);
	append_tally(report, tally, GG_BYTES, FIGURE_WIDTH, out);
	if (!gg_tally_is_empty(tally))
		append_tally(report, tally, GG_ALLOCATIONS, FIGURE_WIDTH, &count);
	if (!gg_tally_is_empty(tally) || remark[0] == ',')
		gg_buf_append_text(&count, remark);
	if (count.length > 0)
		gg_screen_text_append_fitting(out, gg_buf_text(&count), report->width,
		                              NAME_WIDTH + 1);
	gg_buf_append_text(out, "\n");
}

static void append_peak(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_report_summary *summary = report->summary;

	append_name("peak", out);
	if (!summary->has_peak) {
		gg_buf_append_text(out, "not known: recorded without history\n");
		return;
	}
	append_tally(report, &summary->peak, GG_BYTES, FIGURE_WIDTH, out);
	if (summary->peak_ns != GG_TIME_NONE) { /* otherwise nothing was ever live */
		gg_buf_append_text(out, "  at ");
		gg_report_append_time(summary->peak_ns, out);
	}
	gg_buf_append_text(out, "\n");
}

/* The rest may be negative by chance, because the live heap is an estimate, or for a reason. */
static const char *remark_on_rest(const struct gg_report *report, double rest)
{
	const struct gg_tally *live = &report->summary->live_then;
	struct gg_figure figure = gg_figure_of(live, GG_BYTES, report->confidence, false);

	if (rest >= 0)
		return "kept free by the allocator, other mappings";
	if (rest + figure.estimate - figure.low >= 0)
		return "none, as far as sampling tells";
	return "negative: some live memory is not resident";
}

/* "at 2.95 s, of 3 processes". */
static void append_reading(const struct gg_resident *resident, struct gg_buf *out)
{
	gg_buf_append_text(out, "at ");
	gg_report_append_time(resident->time_ns, out);
	if (resident->process_count < resident->living_count)
		gg_buf_printf(out, ", of %zu of %zu processes", resident->process_count,
		              resident->living_count);
	else if (resident->process_count > 1)
		gg_buf_printf(out, ", of %zu processes", resident->process_count);
}

/* The parts of RSS, in lines that break between parts. */
struct parts {
	const struct gg_report *report;
	struct gg_buf *out;
	size_t column; /* cells of the line; 0: nothing is printed */
};

static void append_part(struct parts *parts, const char *text)
{
	size_t length = gg_screen_text_length(text);

	if (parts->column > 0 && parts->column + 3 + length > parts->report->width) {
		gg_buf_append_text(parts->out, ",");
		gg_screen_text_break(parts->out, 4);
		parts->column = 4;
	} else {
		gg_buf_append_text(parts->out, parts->column > 0 ? ", " : "  ");
		parts->column += 2;
	}
	gg_buf_append_text(parts->out, text);
	parts->column += length;
}

/* Appends "slack 31.7 MiB"; a negative number is not known. */
static void append_bytes(struct parts *parts, const char *name, double bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (bytes < 0)
		return;
	gg_buf_printf(&text, "%s ", name);
	gg_figure_append_number(&parts->report->figures, bytes, GG_BYTES, &text);
	append_part(parts, gg_buf_text(&text));
}

static void append_live_then(struct parts *parts)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, "= live heap ");
	append_tally(parts->report, &parts->report->summary->live_then, GG_BYTES, 0, &text);
	append_part(parts, gg_buf_text(&text));
}

static void append_rest(struct parts *parts, double rest)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (isnan(rest))
		return;
	gg_buf_append_text(&text, "the rest ");
	gg_figure_append_number(&parts->report->figures, rest, GG_BYTES, &text);
	gg_buf_printf(&text, " (%s)", remark_on_rest(parts->report, rest));
	append_part(parts, gg_buf_text(&text));
}

/* Appends the parts of RSS, and the rest. */
static void append_parts(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_report_summary *summary = report->summary;
	const struct gg_resident *resident = &summary->resident;
	struct parts parts = { .report = report, .out = out };

	if (summary->has_rest) {
		append_live_then(&parts);
		append_bytes(&parts, "slack", summary->slack_bytes);
		append_bytes(&parts, "stacks", resident->stack);
		append_bytes(&parts, "files", resident->file);
		append_bytes(&parts, "geiger itself", resident->geiger);
		append_rest(&parts, gg_report_summary_rest(summary));
	} else {
		append_bytes(&parts, "including geiger itself", resident->geiger);
	}
	if (parts.column > 0)
		gg_buf_append_text(out, "\n");
}

/* Appends "live 297.3 MiB ± 5 %", "returnable 38.0 MiB". */
static void append_why_row(struct parts *parts, const struct gg_why_row *row, const char *before)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = gg_figure_between(row->bytes, row->low, row->high, GG_BYTES);

	gg_buf_printf(&text, "%s%s ", before, row->name);
	gg_figure_append(&parts->report->figures, &figure, &text);
	append_part(parts, gg_buf_text(&text));
}

/* Appends "of 340.0 MiB at 990 ms (geiger why)". */
static void append_why_end(struct parts *parts, const struct gg_why *why)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_append_text(&text, "of ");
	gg_figure_append_number(&parts->report->figures, (double)why->rss_bytes, GG_BYTES, &text);
	gg_buf_append_text(&text, " at ");
	gg_report_append_time(why->time_ns, &text);
	gg_buf_append_text(&text, " (geiger why)");
	append_part(parts, gg_buf_text(&text));
}

/* Appends the large rows of the first table of `geiger why`, and the sum of its other rows. */
static void append_why(const struct gg_report *report, const struct gg_why_list *list,
                       struct gg_buf *out)
{
	const double large_share = 0.03;
	const struct gg_why *why = &list->tables[0].why;
	struct parts parts = { .report = report, .out = out };
	double others = (double)why->rss_bytes;
	GG_CLEANUP(gg_buf_done) struct gg_buf before = { 0 };

	if (report->summary->process_count == 1)
		gg_buf_append_text(&before, "= ");
	else
		gg_buf_printf(&before, "process %" PRIu32 " = ", list->tables[0].pid);
	for (size_t i = 0; i < why->rows.count; i++) {
		const struct gg_why_row *row = &why->rows.items[i];

		if (row->bytes < large_share * (double)why->rss_bytes)
			continue;
		append_why_row(&parts, row, parts.column == 0 ? gg_buf_text(&before) : "");
		others -= row->bytes;
	}
	append_bytes(&parts, "others", others);
	append_why_end(&parts, why);
	gg_buf_append_text(out, "\n");
}

/* Appends the rows of the last look at the largest process.  False: there is no look. */
static bool append_look(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_why_options options = { .pid = report->summary->pid,
		                                .confidence = report->confidence };
	struct gg_why_list list;
	bool has_look;

	if (report->summary->moment_ns != GG_TIME_NONE || report->model->session_count != 1)
		return false;
	if (gg_why_of(&list, report->model, &options, NULL) < 0) {
		out->failed = true;
		return false;
	}
	has_look = list.table_count > 0;
	if (has_look)
		append_why(report, &list, out);
	gg_why_list_done(&list);
	return has_look;
}

/* Appends a remark to the line of RSS, which has `*used` cells, or to a line of its own. */
static void append_remark(const struct gg_report *report, const char *before, const char *text,
                          size_t *used, struct gg_buf *out)
{
	size_t length = gg_screen_text_length(text);

	if (*used + 2 + length > report->width) {
		gg_buf_append_text(out, "\n");
		before = "  ";
		*used = 0;
	}
	gg_buf_printf(out, "%s%s", before, text);
	*used += 2 + length;
}

/* Appends "highest 341.0 MiB of one process": the kernel's maximum. */
static void append_highest(const struct gg_report *report, const char *before, size_t *used,
                           struct gg_buf *out)
{
	const struct gg_highest_rss *highest = &report->summary->highest;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (highest->bytes < 0)
		return;
	gg_buf_append_text(&text, "highest ");
	gg_figure_append_number(&report->figures, highest->bytes, GG_BYTES, &text);
	gg_buf_append_text(&text, highest->process_count > 1 ? " of one process" : "");
	append_remark(report, before, gg_buf_text(&text), used, out);
}

/* Appends how the RSS of several processes counts the pages that they share. */
static void append_sharing(const struct gg_report *report, size_t *used, struct gg_buf *out)
{
	const struct gg_resident *resident = &report->summary->resident;

	if (resident->is_proportional)
		append_remark(report, "; ", "pages that processes share count once", used, out);
	else if (resident->is_upper_bound)
		append_remark(report, "; ", "pages that processes share count in each of them",
		              used, out);
}

/* Appends RSS, and the rest beside the live heap if both belong to one moment. */
static void append_resident(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_report_summary *summary = report->summary;
	const struct gg_resident *resident = &summary->resident;
	bool is_read = resident->process_count > 0 && resident->rss >= 0;
	GG_CLEANUP(gg_buf_done) struct gg_buf bytes = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf reading = { 0 };
	size_t used = NAME_WIDTH + 1;

	if (!is_read && summary->highest.bytes < 0)
		return;
	append_name(is_read && resident->is_upper_bound ? "RSS at most" : "RSS", out);
	if (is_read) {
		gg_figure_append_number(&report->figures, resident->rss, GG_BYTES, &bytes);
		gg_screen_text_append_right(out, gg_buf_text(&bytes), FIGURE_WIDTH);
		gg_buf_append_text(out, "  ");
		append_reading(resident, &reading);
		gg_buf_append_text(out, gg_buf_text(&reading));
		used += 2 + FIGURE_WIDTH + reading.length;
	}
	append_highest(report, is_read ? "; " : "  ", &used, out);
	append_sharing(report, &used, out);
	gg_buf_append_text(out, "\n");
	if (is_read && !append_look(report, out))
		append_parts(report, out);
}

/* Appends "512 KiB", or "4 to 512 KiB" if samples have several sampling intervals. */
static void append_interval(const struct gg_report_summary *summary, struct gg_buf *out)
{
	char least[GG_SIZE_TEXT_MAX], most[GG_SIZE_TEXT_MAX];
	size_t digits;

	gg_size_format_short(summary->least_interval_bytes, least);
	gg_size_format_short(summary->interval_bytes, most);
	if (summary->least_interval_bytes > 0 && strcmp(least, most) != 0) {
		digits = strcspn(least, " ");
		if (strcmp(least + digits, most + strcspn(most, " ")) == 0)
			least[digits] = '\0';
		gg_buf_printf(out, "%s to ", least);
	}
	gg_buf_append_text(out, most);
}

/* Appends "every 512 KiB by poisson"; the unit is allocations for the scheme per-allocation. */
static void append_sampling(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_profile_session *session = &report->model->sessions[0];
	const struct gg_report_held held = gg_report_held_of(report->model, NULL,
	                                                     report->confidence);

	if (session->scheme != GG_SCHEME_PER_ALLOCATION || report->summary->interval_bytes > 0) {
		gg_buf_append_text(out, "every ");
		append_interval(report->summary, out);
		/* An interval that follows an overhead or an error is this one at its coarsest. */
		gg_buf_append_text(out, gg_report_held_is_any(&held) ? " at most " : " ");
	} else if (session->interval_bytes > 0) {
		gg_buf_printf(out, "every %.0f allocations ", session->interval_bytes);
	}
	/* In an exact session, processes without the agent's hooks were sampled. */
	gg_buf_printf(out, "by %s",
	              gg_scheme_name(session->scheme == GG_SCHEME_EXACT ? GG_SCHEME_POISSON
	                                                                : session->scheme));
}

/* True if geiger recorded the session, and so knows each process's end; false for imports. */
static bool is_recorded(const struct gg_report *report)
{
	return gg_model_has_history(report->model) || report->model->sessions[0].geiger != NULL;
}

static void append_command(const struct gg_report *report, struct gg_buf *out)
{
	size_t count = report->model->session_count;
	const struct gg_profile_session *session = &report->model->sessions[0];
	const char *command = session->command != NULL ? session->command : "[unknown command]";
	GG_CLEANUP(gg_buf_done) struct gg_buf samples = { 0 };

	gg_buf_append_text(out, report->style.strong);
	gg_screen_text_append(out, command, report->width, report->figures.ascii);
	gg_buf_printf(out, "%s\n", report->style.reset);
	if (count > 1)
		gg_buf_printf(out, "and %zu more sessions\n", count - 1);
	if (report->model->end_ns > 0 || gg_model_has_history(report->model)) {
		gg_report_append_time(report->model->end_ns, out);
		if (session->host != NULL) {
			gg_buf_append_text(out, " on ");
			gg_screen_text_append(out, session->host, 24, report->figures.ascii);
		}
		gg_buf_append_text(out, ", ");
	}
	if (!(report->summary->interval_bytes > 0) && !gg_model_has_history(report->model)) {
		gg_buf_append_text(out, "sampled in a way that is not known: no intervals\n");
		return;
	}
	if (gg_model_is_exact(report->model)) {
		gg_buf_printf(out, "exact: all %" PRIu64 " allocations were counted\n",
		              report->summary->sample_count);
		return;
	}
	append_sampling(report, out);
	gg_buf_append_text(out, ",");
	gg_buf_printf(&samples, " %" PRIu64 " sample%s, %g %% intervals",
	              report->summary->sample_count, report->summary->sample_count == 1 ? "" : "s",
	              report->confidence * 100);
	gg_screen_text_append_fitting(out, gg_buf_text(&samples), report->width, 2);
	gg_buf_append_text(out, "\n");
}

/* Appends "killed by signal 9": such an end is often the reason to look at the memory. */
static void append_kills(const struct gg_report *report, struct gg_buf *out)
{
	enum { KILLS_MAX = 3 };
	size_t killed_count = 0;
	const struct gg_profile_process *processes = report->model->processes;
	int number;

	for (size_t i = 1; i < report->model->process_count; i++) {
		const char *ending = processes[i].ending, *name;

		if (ending == NULL || sscanf(ending, "killed by signal %d", &number) != 1 ||
		    ++killed_count > KILLS_MAX)
			continue;
		name = sigabbrev_np(number);
		gg_buf_printf(out, "process %" PRIu32 " was killed by signal %d%s%s%s\n",
		              processes[i].pid, number, name != NULL ? " (SIG" : "",
		              name != NULL ? name : "", name != NULL ? ")" : "");
	}
	if (killed_count > KILLS_MAX)
		gg_buf_printf(out, "and %zu more were killed\n", killed_count - KILLS_MAX);
}

void gg_report_append_head(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_report_summary *summary = report->summary;
	GG_CLEANUP(gg_buf_done) struct gg_buf live = { 0 }, processes = { 0 };

	if (report->head != GG_HEAD_FULL)
		return;
	append_command(report, out);
	gg_report_append_attaches(report, out);
	gg_report_append_held(report, out);
	append_kills(report, out);
	gg_report_append_fault_count(report, out);
	gg_buf_append_text(out, "\n");
	if (summary->moment_ns == GG_TIME_NONE) {
		gg_buf_append_text(&live, "live at the end");
	} else {
		gg_buf_append_text(&live, "live at ");
		gg_report_append_time(summary->moment_ns, &live);
	}
	append_both(report, gg_buf_text(&live), &summary->live, " allocations", out);
	if (summary->process_count > 1)
		gg_buf_printf(&processes, ", of %zu processes", summary->process_count);
	/*
	 * With one process, this equals the memory that was live at the end, unless profiles were
	 * merged.  An imported file lacks what its processes left, and its live memory is no bound
	 * of that.
	 */
	if ((summary->process_count > 1 && is_recorded(report)) ||
	    (summary->moment_ns == GG_TIME_NONE &&
	     summary->left.sample_count != summary->live.sample_count)) {
		append_both(report, "left at exit", &summary->left, gg_buf_text(&processes), out);
	}
	append_both(report, "allocated", &summary->allocated, " allocations", out);
	append_peak(report, out);
	append_resident(report, out);
	gg_buf_append_text(out, "\n");
}

/* Appends the moment of pinned memory: that of a look, or of a look at each process. */
static void append_looks(const struct gg_report *report, const struct gg_query *query,
                         int64_t moment_ns, struct gg_buf *out)
{
	const char *which = query->look_moment == GG_LOOK_PEAK ? "at the look with the largest RSS"
	                                                       : "at the last look";

	gg_buf_printf(out, " %s", which);
	if (moment_ns != GG_TIME_NONE) {
		gg_buf_append_text(out, ", ");
		gg_report_append_time(moment_ns, out);
	} else if (report->summary->process_count > 1) {
		gg_buf_append_text(out, " at each process");
	}
}

void gg_report_append_title(const struct gg_report *report, const struct gg_query *query,
                            int64_t moment_ns, const struct gg_tally *total,
                            const struct gg_pinned_coverage *seen, const char *what,
                            struct gg_buf *out)
{
	struct gg_figure figure = gg_figure_of(total, query->unit, report->confidence, false);

	bool is_unknown = query->metric == GG_METRIC_PEAK && !gg_model_has_history(report->model);

	if (report->head == GG_HEAD_NONE)
		return;
	gg_buf_printf(out, "%s%s", report->style.strong,
	              gg_metric_name(is_unknown ? GG_METRIC_LIVE : query->metric));
	if (report->fleet != NULL) {
		gg_buf_printf(out, " %s", report->fleet->when);
	} else if (is_unknown) {
		gg_buf_append_text(out, " at the end (peak not known)");
	} else if (query->metric == GG_METRIC_LIVE && moment_ns == GG_TIME_NONE) {
		gg_buf_append_text(out, " at the end");
	} else if (query->metric == GG_METRIC_PINNED) {
		append_looks(report, query, moment_ns, out);
	} else if (query->metric == GG_METRIC_LEFT && query->from_ns == INT64_MIN &&
	           query->to_ns == GG_TIME_NONE) {
		gg_buf_append_text(out, " at exit");
		if (report->summary->process_count > 1)
			gg_buf_printf(out, ", of %zu processes", report->summary->process_count);
	} else if (query->metric == GG_METRIC_PEAK && moment_ns == GG_TIME_NONE) {
		; /* nothing in the selection was ever live */
	} else if (query->metric == GG_METRIC_LIVE || query->metric == GG_METRIC_PEAK) {
		gg_buf_append_text(out, " at ");
		gg_report_append_time(moment_ns, out);
		/* A merge has no end. */
		if (report->model->end_ns > 0 && moment_ns > report->model->end_ns)
			gg_buf_append_text(out, " (after the end)");
	} else if (query->from_ns != INT64_MIN || query->to_ns != GG_TIME_NONE) {
		gg_buf_append_text(out, " from ");
		gg_report_append_time(query->from_ns > 0 ? query->from_ns : 0, out);
		gg_buf_append_text(out, " to ");
		gg_report_append_time(
			query->to_ns != GG_TIME_NONE ? query->to_ns : report->model->end_ns, out);
	}
	gg_buf_printf(out, "%s: ", report->style.reset);
	gg_figure_append(&report->figures, &figure, out);
	gg_buf_printf(out, "%s%s%s\n", query->unit == GG_ALLOCATIONS ? " allocations" : "",
	              what[0] != '\0' ? " " : "", what);
	if (query->metric == GG_METRIC_PINNED && seen->total_bytes >= 0) {
		gg_buf_append_text(out, "exact, by a walk through the whole heap: ");
		gg_figure_append_number(&report->figures, (double)seen->total_bytes, GG_BYTES, out);
		gg_buf_append_text(out, "\n");
	}
}

/* Appends a paragraph, wrapped at the report's width. */
static void append_folded(const struct gg_report *report, const struct gg_buf *text,
                          struct gg_buf *out)
{
	gg_screen_text_append_paragraph(out, gg_buf_text(text), report->width,
	                                report->figures.ascii);
}

/* Notes that the memory around some of the blocks is unknown. */
static void append_unknown(const struct gg_report *report, const struct gg_pinned_coverage *seen,
                           struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t gone = seen->torn_count + seen->gone_count, missed = gone + seen->unknown_count;

	if (missed == 0)
		return;
	gg_buf_printf(&text,
	              "note: the memory around %" PRIu64 " of %" PRIu64
	              " chosen blocks is unknown, so no estimate includes it",
	              missed, seen->block_count + gone);
	if (seen->torn_count > 0)
		gg_buf_printf(&text, "; around %" PRIu64 " of them it changed during the look",
		              seen->torn_count);
	gg_buf_append_text(&text, ".");
	append_folded(report, &text, out);
}

/* Notes that an allocator answered before its look, so some blocks may keep other bytes. */
static void append_changed(const struct gg_report *report, const struct gg_pinned_coverage *seen,
                           struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (seen->changed_bytes <= 0)
		return;
	gg_buf_append_text(&text, "note: the program was idle, so this is the allocator's last "
	                          "answer; up to ");
	gg_figure_append_number(&report->figures, (double)seen->changed_bytes, GG_BYTES, &text);
	gg_buf_append_text(&text, " of blocks changed since, which each interval includes.");
	append_folded(report, &text, out);
}

void gg_report_append_pinned(const struct gg_report *report, const struct gg_pinned_coverage *seen,
                             struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint32_t unseen = seen->unseen_process_count;

	if (report->head == GG_HEAD_NONE)
		return;
	if (seen->total_bytes >= 0) {
		gg_buf_append_text(&text, "A stack that is in no row keeps at most ");
		gg_figure_append_number(&report->figures, (double)seen->total_bytes, GG_BYTES,
		                        &text);
		gg_buf_append_text(&text, ", which is all that the heap has.");
	} else if (seen->limit_bytes >= 0) {
		gg_buf_append_text(&text, "A stack that is in no row keeps at most ");
		gg_figure_append_number(&report->figures, (double)seen->limit_bytes, GG_BYTES,
		                        &text);
		gg_buf_append_text(&text,
		                   ", as much as there may be in all: the look chose none of "
		                   "its blocks.");
	} else {
		gg_buf_append_text(&text, "A stack that is in no row has no upper bound: the look "
		                          "chose none of its blocks.");
	}
	append_folded(report, &text, out);
	if (unseen > 0) {
		GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };

		gg_buf_printf(&note, "note: %" PRIu32 " process%s without a look %s not included.",
		              unseen, unseen == 1 ? "" : "es", unseen == 1 ? "is" : "are");
		append_folded(report, &note, out);
	}
	append_unknown(report, seen, out);
	append_changed(report, seen, out);
}

void gg_report_append_unseen(const struct gg_report *report, const struct gg_tally *total,
                             struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	double interval = total->reserve_max[GG_BYTES];

	if (report->head == GG_HEAD_NONE || !(interval > 0) || total->incomplete > 0 ||
	    total->unbounded_bytes > 0)
		return;
	gg_buf_append_text(&text, "A stack that is in no row holds less than ");
	gg_figure_append_number(&report->figures,
	                        gg_interval_unseen_bytes(interval, report->confidence), GG_BYTES,
	                        &text);
	gg_buf_printf(&text, "%s with %g %% confidence.", report->figures.raw ? " bytes" : "",
	              report->confidence * 100);
	append_folded(report, &text, out);
}

void gg_report_append_inexact(const struct gg_report *report, const struct gg_tally *unplaced,
                              struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = gg_figure_of(unplaced, GG_BYTES, report->confidence, false);

	if (report->head == GG_HEAD_NONE || gg_tally_is_empty(unplaced))
		return;
	gg_buf_append_text(&text, "note: this moment or window is inexact: of ");
	gg_figure_append(&report->figures, &figure, &text);
	gg_buf_append_text(&text, " allocated and freed around it only sums were kept.");
	append_folded(report, &text, out);
}

#define MODULES_DROPPED "modules dropped: full" /* gg_region_counter_name() */

static bool were_modules_dropped(const struct gg_model *model)
{
	const struct gg_model_counter *counters;
	bool found = false;

	counters = model->counters;
	for (size_t i = 0; i < model->counter_count && !found; i++)
		found = counters[i].name != NULL && counters[i].value > 0 &&
		        strcmp(counters[i].name, MODULES_DROPPED) == 0;
	return found;
}

/* Appends where most frames without names are if they are in no module. */
static void append_no_module(const struct gg_model *model, struct gg_buf *text)
{
	gg_buf_append_text(text,
	                   were_modules_dropped(model)
	                           ? "in libraries that were loaded when the agent's list of them "
	                             "was full (counter '" MODULES_DROPPED "')."
	                   : gg_model_has_times(model)
	                           ? "in code compiled at run time. Some compilers can write "
	                             "its names (node --perf-basic-prof, java "
	                             "-XX:+UnlockDiagnosticVMOptions "
	                             "-XX:+DumpPerfMapAtExit, and -XX:+PreserveFramePointer "
	                             "for whole stacks, .NET DOTNET_PerfMapEnabled=3)."
	                           : "where the imported file names no module.");
}

void gg_report_append_unresolved(const struct gg_model *model, const struct gg_model_unresolved *of,
                                 struct gg_buf *text)
{
	gg_buf_printf(text, "%" PRIu64 " of %" PRIu64 " frames %s no name, mainly ",
	              of->frame_count, of->all_frame_count, of->frame_count == 1 ? "has" : "have");
	if (of->worst_module == 0) {
		append_no_module(model, text);
		return;
	}
	gg_symbol_hint_append(model, NULL, text);
	gg_buf_append_text(text, ".");
}

/* True if geiger has looked at the symbols of the module; another look would find no more. */
static bool is_symbolized(const struct gg_report *report, uint32_t module)
{
	const char *status = report->model->modules[module].status;

	return status != NULL && status[0] != '\0';
}

static bool has_java_vm(const struct gg_model *model)
{
	for (size_t i = 0; i < model->module_count; i++)
		if (model->modules[i].name != NULL &&
		    strcmp(model->modules[i].name, "libjvm.so") == 0)
			return true;
	return false;
}

/* Returns the words for the frames without a name that the module with most of them has. */
static const char *part_in_module(const struct gg_model_unresolved *of)
{
	if (of->frame_count == 1)
		return "it is in ";
	if (of->worst_frame_count == of->frame_count)
		return "all are in ";
	return 2 * of->worst_frame_count > of->frame_count ? "most are in " : "many are in ";
}

void gg_report_append_unnamed(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_model_unresolved *of = &report->summary->unresolved;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (report->head == GG_HEAD_NONE || of->frame_count == 0)
		return;
	gg_buf_printf(&text, "%" PRIu64 " of %" PRIu64 " frames %s no name: ", of->frame_count,
	              of->all_frame_count, of->frame_count == 1 ? "has" : "have");
	if (of->worst_module != 0)
		gg_buf_printf(&text, "%s%s%s.",
		              is_symbolized(report, of->worst_module) ? part_in_module(of)
		                                                      : "try 'geiger symbolize' (",
		              report->model->modules[of->worst_module].name,
		              is_symbolized(report, of->worst_module) ? "" : ")");
	else if (were_modules_dropped(report->model))
		gg_buf_append_text(
			&text,
			"the agent's list of libraries was full (counter '" MODULES_DROPPED "').");
	else if (gg_model_has_times(report->model))
		gg_buf_printf(&text, "%scode compiled at run time.%s", part_in_module(of),
		              has_java_vm(report->model)
		                      ? " java -XX:+PreserveFramePointer shows whole stacks of "
		                        "malloc's blocks, and -XX:+UnlockDiagnosticVMOptions "
		                        "-XX:+DumpPerfMapAtExit names them."
		                      : "");
	else
		gg_buf_append_text(&text, "the imported file names no module.");
	append_folded(report, &text, out);
}

bool gg_report_name_found_wrappers(const struct gg_model *model, struct gg_buf *out)
{
	enum { NAMES_SHOWN = 3 };
	size_t count = model->function_count, found = 0;

	for (size_t i = 1; i < count; i++) {
		const struct gg_model_function *function = &model->functions[i];

		if (!function->is_found_wrapper || function->is_inside_wrapper ||
		    found++ >= NAMES_SHOWN)
			continue;
		gg_buf_printf(out, "%s%s", found == 1 ? "self of " : ", ", function->name);
	}
	if (found == 0)
		return false;
	if (found > NAMES_SHOWN)
		gg_buf_printf(out, " and %zu more", found - NAMES_SHOWN);
	gg_buf_printf(out, " is shown at %s callers; --all-frames shows it",
	              found == 1 ? "its" : "their");
	return true;
}

void gg_report_append_notes(const struct gg_report *report, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf found = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf found_note = { 0 };

	if (report->head == GG_HEAD_NONE)
		return;
	for (size_t i = 0; i < report->model->note_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_buf_printf(&text, "note: %s", report->model->notes[i]);
		append_folded(report, &text, out);
	}
	if (gg_report_name_found_wrappers(report->model, &found)) {
		gg_buf_printf(&found_note, "note: %s", gg_buf_text(&found));
		append_folded(report, &found_note, out);
	}
}

bool gg_report_is_discovered(const struct gg_query_result *result, const struct gg_query_row *row)
{
	return !row->is_named && result->query.by != GG_BY_PROCESS &&
	       result->query.by != GG_BY_LABEL;
}

double gg_report_most_hidden(const struct gg_report *report, size_t first)
{
	enum { CANDIDATES = 8 };
	const struct gg_query_result *result = report->result;
	enum gg_quantity unit = result->query.unit;
	size_t best[CANDIDATES], count = 0;
	double reach[CANDIDATES], most = 0;

	if (result->total.incomplete > 0)
		return INFINITY;

	for (size_t i = first; i < result->row_count; i++) {
		const struct gg_query_row *row = &result->rows[i];
		const struct gg_tally *tally = result->query.sort_by_total ? row->total : row->self;
		struct gg_estimate estimate = gg_tally_estimate(tally, unit);
		double reserve = tally->reserve_max[unit];
		double rough = estimate.value + reserve +
		               3 * sqrt(estimate.variance + reserve * reserve);
		size_t at = count < CANDIDATES ? count++ : CANDIDATES - 1;

		if (i - first >= CANDIDATES && rough <= reach[at])
			continue;
		for (; at > 0 && reach[at - 1] < rough; at--) {
			reach[at] = reach[at - 1];
			best[at] = best[at - 1];
		}
		reach[at] = rough;
		best[at] = i;
	}
	for (size_t i = 0; i < count; i++) {
		const struct gg_query_row *row = &result->rows[best[i]];
		const struct gg_tally *tally = result->query.sort_by_total ? row->total : row->self;

		if (gg_tally_is_empty(tally) && report->summary->interval_bytes == 1)
			continue; /* every allocation was sampled, so nothing was missed */
		most = fmax(most, gg_interval_of(tally, unit, report->confidence,
		                                 gg_report_is_discovered(result, row))
		                          .high);
	}
	return most;
}
