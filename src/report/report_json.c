/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json - prints reports as JSON (docs/reference/JSON.md).  Within a version, members are
 * added and never removed or changed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/report.h"
#include "report/report_attach.h"
#include "report/report_faults.h"
#include "report/report_held.h"
#include "report/report_why.h"
#include "stats/estimate/interval.h"

void gg_report_json_figure(struct gg_json *json, const char *name, const struct gg_figure *figure)
{
	gg_json_open(json, name, '{');
	if (figure->is_unknown && figure->estimate == 0)
		gg_json_text(json, "estimate", NULL);
	else
		gg_json_number(json, "estimate", figure->estimate);
	if (figure->is_unknown)
		gg_json_text(json, "interval", NULL);
	gg_json_number(json, "low", figure->is_unknown ? NAN : figure->low);
	gg_json_number(json, "high", figure->high);
	if (figure->is_least)
		gg_json_bool(json, "at_least", true);
	gg_json_close(json);
}

static void add_tally(const struct gg_report *report, struct gg_json *json, const char *name,
                      const struct gg_tally *tally, enum gg_quantity quantity, bool discovered)
{
	struct gg_figure figure = gg_figure_of(tally, quantity, report->confidence, discovered);

	gg_report_json_figure(json, name, &figure);
}

/* A moment in nanoseconds, or null. */
static void add_time(struct gg_json *json, const char *name, int64_t time_ns)
{
	if (time_ns == GG_TIME_NONE || time_ns == INT64_MIN)
		gg_json_text(json, name, NULL);
	else
		gg_json_number(json, name, (double)time_ns);
}

/* Bytes, or null if they are unknown. */
static void add_bytes(struct gg_json *json, const char *name, double bytes)
{
	if (bytes < 0)
		gg_json_text(json, name, NULL);
	else
		gg_json_number(json, name, bytes);
}

static void add_totals(const struct gg_report *report, struct gg_json *json)
{
	const struct gg_report_summary *summary = report->summary;

	gg_json_open(json, "totals", '{');
	add_tally(report, json, "live_bytes", &summary->live, GG_BYTES, false);
	add_tally(report, json, "allocated_bytes", &summary->allocated, GG_BYTES, false);
	add_tally(report, json, "left_bytes", &summary->left, GG_BYTES, false);
	add_tally(report, json, "live_count", &summary->live, GG_ALLOCATIONS, false);
	add_tally(report, json, "left_count", &summary->left, GG_ALLOCATIONS, false);
	add_tally(report, json, "allocated_count", &summary->allocated, GG_ALLOCATIONS, false);
	if (summary->has_peak)
		add_tally(report, json, "peak_bytes", &summary->peak, GG_BYTES, false);
	else
		gg_json_text(json, "peak_bytes", NULL);
	gg_json_close(json);
	add_time(json, "live_at_ns", summary->moment_ns);
	add_time(json, "peak_at_ns", summary->has_peak ? summary->peak_ns : GG_TIME_NONE);
}

/* A reading of the kernel's figures, or null. */
static void add_resident(struct gg_json *json, const char *name, const struct gg_resident *resident)
{
	if (resident->process_count == 0) {
		gg_json_text(json, name, NULL);
		return;
	}
	gg_json_open(json, name, '{');
	add_time(json, "time_ns", resident->time_ns);
	gg_json_integer(json, "processes", resident->process_count);
	add_bytes(json, "rss_bytes", resident->rss);
	add_bytes(json, "anonymous_bytes", resident->anonymous);
	add_bytes(json, "file_bytes", resident->file);
	add_bytes(json, "stack_bytes", resident->stack);
	add_bytes(json, "swap_bytes", resident->swap);
	add_bytes(json, "geiger_bytes", resident->geiger);
	gg_json_integer(json, "living_processes", resident->living_count);
	gg_json_bool(json, "proportional", resident->is_proportional);
	gg_json_bool(json, "is_upper_bound", resident->is_upper_bound);
	gg_json_close(json);
}

void gg_report_json_highest(struct gg_json *json, const struct gg_highest_rss *highest)
{
	if (highest->bytes < 0) {
		gg_json_text(json, "highest", NULL);
		return;
	}
	gg_json_open(json, "highest", '{');
	gg_json_number(json, "rss_bytes", highest->bytes);
	gg_json_text(json, "source", highest->is_of_end ? "ru_maxrss" : "VmHWM");
	add_time(json, "time_ns", highest->time_ns);
	gg_json_integer(json, "processes", highest->process_count);
	gg_json_close(json);
}

/* The tables of `geiger why`: a list, one for each process. */
static void add_looks(const struct gg_report *report, struct gg_json *json)
{
	const struct gg_why_options options = { .pid = report->summary->pid,
		                                .confidence = report->confidence };
	struct gg_why_list list;

	if (gg_why_of(&list, report->model, &options, NULL) < 0) {
		json->out->failed = true;
		return;
	}
	gg_json_open(json, "looks", '[');
	for (size_t i = 0; i < list.table_count; i++) {
		gg_json_open(json, NULL, '{');
		gg_report_why_json_table(json, &list.tables[i]);
		gg_json_close(json);
	}
	gg_json_close(json);
	gg_why_list_done(&list);
}

static void add_memory(const struct gg_report *report, struct gg_json *json)
{
	const struct gg_report_summary *summary = report->summary;

	gg_json_open(json, "memory", '{');
	add_resident(json, "at_moment", &summary->resident);
	add_resident(json, "at_peak", &summary->at_peak);
	add_tally(report, json, "live_bytes", &summary->live_then, GG_BYTES, false);
	gg_json_number(json, "slack_bytes", summary->slack_bytes);
	gg_json_number(json, "mapping_bytes", summary->mapping_bytes);
	gg_report_json_highest(json, &summary->highest);
	gg_json_number(json, "rest_bytes", gg_report_summary_rest(summary));
	add_looks(report, json);
	gg_json_close(json);
}

void gg_report_json_notes(struct gg_json *json, const struct gg_model *model)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf found = { 0 };

	gg_json_open(json, "notes", '[');
	for (size_t i = 0; i < model->note_count; i++)
		gg_json_text(json, NULL, model->notes[i]);
	if (gg_report_name_found_wrappers(model, &found))
		gg_json_text(json, NULL, gg_buf_text(&found));
	gg_json_close(json);
}

void gg_report_json_found_wrappers(struct gg_json *json, const struct gg_model *model)
{
	size_t count = model->function_count;

	gg_json_open(json, "found_wrappers", '[');
	for (size_t i = 1; i < count; i++)
		if (model->functions[i].is_found_wrapper)
			gg_json_text(json, NULL, model->functions[i].name);
	gg_json_close(json);
}

void gg_report_json_unresolved(struct gg_json *json, const struct gg_model *model,
                               const struct gg_model_unresolved *unresolved)
{
	gg_json_open(json, "unresolved", '{');
	gg_json_integer(json, "frames", unresolved->frame_count);
	gg_json_integer(json, "of", unresolved->all_frame_count);
	gg_json_text(json, "module",
	             unresolved->frame_count > 0 ? model->modules[unresolved->worst_module].path
	                                         : NULL);
	gg_json_close(json);
}

static void add_fleet(const struct gg_report_fleet *fleet, struct gg_json *json)
{
	gg_json_open(json, "fleet", '{');
	gg_json_text(json, "service", fleet->service);
	gg_json_text(json, "when", fleet->when);
	gg_json_integer(json, "hosts", fleet->host_count);
	gg_json_integer(json, "selected_hosts", fleet->selected_count);
	gg_json_integer(json, "reported_hosts", fleet->reported_count);
	gg_json_integer(json, "slots", fleet->slot_count);
	gg_json_text(json, "error", fleet->is_between_hosts ? "sampling and hosts" : "sampling");
	gg_json_close(json);
}

void gg_report_json_head(const struct gg_report *report, struct gg_json *json)
{
	const struct gg_profile_session *session = &report->model->sessions[0];

	gg_json_integer(json, "version", 1);
	gg_json_number(json, "interval_bytes", report->summary->interval_bytes);
	gg_json_number(json, "least_interval_bytes", report->summary->least_interval_bytes);
	gg_json_number(json, "confidence", report->confidence);
	gg_json_integer(json, "samples", report->summary->sample_count);
	gg_json_text(json, "scheme", gg_scheme_name(session->scheme));
	gg_json_text(json, "command", session->command);
	gg_json_text(json, "host", session->host);
	gg_json_text(json, "geiger", session->geiger);
	gg_json_integer(json, "sessions", report->model->session_count);
	if (report->fleet != NULL)
		add_fleet(report->fleet, json);
	gg_json_number(json, "processes",
	               report->summary->process_count > 0 ? (double)report->summary->process_count
	                                                  : NAN);
	gg_json_number(json, "start_seconds", (double)(session->start_wall_ns / 1000) * 1e-6);
	gg_json_number(json, "duration_ns", (double)report->model->end_ns);
	gg_json_bool(json, "has_history", gg_model_has_history(report->model));
	/* The model of a fleet has the one kind of memory that the question is about. */
	if (report->fleet == NULL) {
		add_totals(report, json);
		add_memory(report, json);
		gg_report_json_attaches(json, report->model, report->summary->pid,
		                        report->confidence);
		gg_json_integer(json, "faults",
		                gg_report_count_faults(report->model, report->summary->pid));
		gg_report_json_held(json, report->model, report->summary, report->confidence);
	}
	gg_report_json_notes(json, report->model);
	gg_report_json_found_wrappers(json, report->model);
	gg_json_integer(json, "dropped", report->summary->dropped_count);
	gg_report_json_unresolved(json, report->model, &report->summary->unresolved);
}

static void add_place(const struct gg_report *report, struct gg_json *json,
                      const struct gg_code_location *place)
{
	struct gg_model_function function = report->model->functions[place->function];
	struct gg_model_line line = report->model->lines[place->line];

	gg_json_open(json, NULL, '{');
	gg_json_text(json, "function", function.name);
	gg_json_text(json, "file", line.file);
	if (line.line != 0)
		gg_json_integer(json, "line", line.line);
	else
		gg_json_text(json, "line", NULL);
	gg_json_text(json, "module", report->model->modules[function.module].path);
	gg_json_text(json, "full_name", function.full_name);
	gg_json_close(json);
}

/* The members of every row; null if the grouping does not have them.  `function` may be NULL. */
static void add_where(struct gg_json *json, const struct gg_model_function *function,
                      const char *file, uint32_t line, const char *module)
{
	gg_json_text(json, "function", function != NULL ? function->name : NULL);
	gg_json_text(json, "file", file);
	if (line != 0)
		gg_json_integer(json, "line", line);
	else
		gg_json_text(json, "line", NULL);
	gg_json_text(json, "module", module);
	gg_json_text(json, "full_name", function != NULL ? function->full_name : NULL);
}

void gg_report_json_stack(const struct gg_report *report, struct gg_json *json, uint32_t stack)
{
	size_t count = gg_model_path(report->model, stack, NULL, 0);
	struct gg_code_location *places = malloc(count * sizeof(*places));
	struct gg_model_function function;
	struct gg_model_line line;

	if (places == NULL) {
		json->out->failed = true;
		return;
	}
	gg_model_path(report->model, stack, places, count);
	function = report->model->functions[places[0].function];
	line = report->model->lines[places[0].line];
	add_where(json, &function, line.file, line.line,
	          report->model->modules[function.module].path);
	gg_json_open(json, "stack", '[');
	for (size_t i = 0; i < count; i++)
		add_place(report, json, &places[i]);
	gg_json_close(json);
	free(places);
}

static void add_process(const struct gg_report *report, struct gg_json *json, uint32_t number)
{
	const struct gg_profile_process *process = report->model->processes + number;

	gg_json_integer(json, "pid", process->pid);
	gg_json_text(json, "command", process->command);
}

static void add_thread(const struct gg_report *report, struct gg_json *json, uint32_t number)
{
	const struct gg_profile_thread *thread = report->model->threads + number;
	const struct gg_profile_process *processes = report->model->processes;

	gg_json_integer(json, "pid", processes[thread->process].pid);
	gg_json_integer(json, "tid", thread->tid);
	gg_json_text(json, "thread", thread->name);
}

/* Finds for each function its first line with a file; 0: none. */
static uint32_t *find_files(const struct gg_model *model)
{
	uint32_t *lines = calloc(model->function_count, sizeof(*lines));

	for (size_t i = model->line_count; lines != NULL && i-- > 1;) {
		struct gg_model_line line = model->lines[i];

		if (line.file != NULL)
			lines[line.function] = (uint32_t)i;
	}
	return lines;
}

/* Appends the members that identify the row, by the grouping. */
static void add_key(const struct gg_report *report, struct gg_json *json,
                    const struct gg_query_row *row, const uint32_t *files)
{
	const struct gg_model *model = report->model;
	struct gg_model_function function;
	struct gg_model_line line;
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	switch (report->result->query.by) {
	case GG_BY_FUNCTION:
		function = model->functions[row->key];
		add_where(json, &function, model->lines[files[row->key]].file, 0,
		          model->modules[function.module].path);
		return;
	case GG_BY_LINE:
		line = model->lines[row->key];
		function = model->functions[line.function];
		add_where(json, &function, line.file, line.line,
		          model->modules[function.module].path);
		return;
	case GG_BY_STACK:
		gg_report_json_stack(report, json, row->key);
		return;
	case GG_BY_MODULE:
		add_where(json, NULL, NULL, 0, model->modules[row->key].path);
		return;
	case GG_BY_PROCESS:
		add_where(json, NULL, NULL, 0, NULL);
		add_process(report, json, row->key);
		return;
	case GG_BY_THREAD:
		add_where(json, NULL, NULL, 0, NULL);
		add_thread(report, json, row->key);
		return;
	case GG_BY_SIZE:
	case GG_BY_KIND:
	case GG_BY_HEAP:
	case GG_BY_TYPE:
	case GG_BY_LABEL:
		add_where(json, NULL, NULL, 0, NULL);
		gg_query_row_label(model, report->result, row, &label);
		gg_json_text(json, gg_grouping_name(report->result->query.by), gg_buf_text(&label));
		return;
	}
}

static void add_known(struct gg_json *json, const char *name, double value)
{
	if (isfinite(value))
		gg_json_number(json, name, value);
	else
		gg_json_text(json, name, NULL);
}

void gg_report_json_comparison(const struct gg_pinned_comparison *row, struct gg_json *json)
{
	gg_json_integer(json, "block_count", row->block_count);
	add_known(json, "size_ratio", row->ratio);
	add_known(json, "size_ratio_p", row->p_value);
	add_known(json, "median_age_ns", row->age_ns);
}

static void add_neighbors(const struct gg_report *report, const struct gg_pinned_neighbors *row,
                          struct gg_json *json)
{
	gg_json_open(json, "allocated_among", '[');
	for (size_t i = 0; i < row->count; i++) {
		const struct gg_pinned_neighbor *neighbor = &row->functions[i];

		gg_json_open(json, NULL, '{');
		gg_json_text(json, "function", report->model->functions[neighbor->function].name);
		gg_json_number(json, "share", neighbor->share);
		gg_json_number(json, "median_lifetime_ns", neighbor->median_lifetime_ns);
		gg_json_close(json);
	}
	gg_json_close(json);
}

static void add_row(const struct gg_report *report, struct gg_json *json,
                    const struct gg_query_row *row, const uint32_t *files)
{
	enum gg_quantity unit = report->result->query.unit;
	bool discovered = gg_report_is_discovered(report->result, row);
	struct gg_figure self = gg_figure_of(row->self, unit, report->confidence, discovered);
	struct gg_figure total = self, failed;

	if (row->total != row->self)
		total = gg_figure_of(row->total, unit, report->confidence, discovered);
	gg_json_open(json, NULL, '{');
	add_key(report, json, row, files);
	if (row->via != 0)
		gg_json_text(json, "via", report->model->functions[row->via].name);
	gg_json_integer(json, "samples", row->total->sample_count);
	gg_report_json_figure(json, "self", &self);
	gg_report_json_figure(json, "total", &total);
	if (gg_report_has_failed_trials(report->result)) {
		if (gg_figure_by_failed_trials(row->self, report->confidence, &failed))
			gg_report_json_figure(json, "failed_trials", &failed);
		else
			gg_json_text(json, "failed_trials", NULL);
	}
	if (report->comparisons != NULL)
		gg_report_json_comparison(&report->comparisons[row - report->result->rows], json);
	if (report->neighbors != NULL)
		add_neighbors(report, &report->neighbors[row - report->result->rows], json);
	gg_json_close(json);
}

void gg_report_json_look_moment(struct gg_json *json, const struct gg_query *query)
{
	if (query->metric == GG_METRIC_PINNED)
		gg_json_text(json, "look_moment",
		             query->look_moment == GG_LOOK_PEAK ? "peak" : "last");
}

void gg_report_json_query(const struct gg_report *report, const struct gg_query *query,
                          int64_t moment_ns, const struct gg_tally *total,
                          const struct gg_tally *unplaced, struct gg_json *json)
{
	bool is_moment = query->metric == GG_METRIC_LIVE || query->metric == GG_METRIC_PEAK ||
	                 query->metric == GG_METRIC_PINNED;
	double interval = total->reserve_max[GG_BYTES];

	gg_json_open(json, "query", '{');
	gg_json_text(json, "metric", gg_metric_name(query->metric));
	gg_json_text(json, "unit", query->unit == GG_BYTES ? "bytes" : "count");
	gg_json_text(json, "by", gg_grouping_name(query->by));
	if (query->by == GG_BY_LABEL)
		gg_json_text(json, "label", query->label);
	gg_json_text(json, "sort", query->sort_by_total ? "total" : "self");
	add_time(json, "at_ns", is_moment ? moment_ns : GG_TIME_NONE);
	add_time(json, "from_ns", query->from_ns);
	add_time(json, "to_ns", query->to_ns);
	gg_report_json_look_moment(json, query);
	gg_json_text(json, "focus", query->focus);
	gg_json_text(json, "ignore", query->ignore);
	if (query->pid != 0)
		gg_json_integer(json, "pid", query->pid);
	else
		gg_json_text(json, "pid", NULL);
	gg_json_close(json);
	add_tally(report, json, "selected_bytes", total, GG_BYTES, false);
	add_tally(report, json, "selected_count", total, GG_ALLOCATIONS, false);
	add_tally(report, json, "inexact_bytes", unplaced, GG_BYTES, false);
	if (query->metric != GG_METRIC_PINNED && interval > 0 && !(total->incomplete > 0) &&
	    !(total->unbounded_bytes > 0))
		gg_json_number(json, "unseen_bytes",
		               gg_interval_unseen_bytes(interval, report->confidence));
	else
		gg_json_text(json, "unseen_bytes", NULL);
}

void gg_report_json_pinned(struct gg_json *json, const struct gg_pinned_coverage *seen)
{
	gg_json_open(json, "pinned", '{');
	gg_json_integer(json, "look_count", seen->look_count);
	gg_json_integer(json, "unseen_process_count", seen->unseen_process_count);
	gg_json_integer(json, "looked_count", seen->block_count);
	gg_json_integer(json, "torn_count", seen->torn_count);
	gg_json_integer(json, "unknown_count", seen->unknown_count);
	gg_json_integer(json, "gone_count", seen->gone_count);
	add_bytes(json, "total_bytes", (double)seen->total_bytes);
	add_bytes(json, "limit_bytes", (double)seen->limit_bytes);
	gg_json_integer(json, "changed_bytes", (uint64_t)seen->changed_bytes);
	gg_json_close(json);
}

void gg_report_json(const struct gg_report *report, struct gg_buf *out)
{
	const struct gg_query_result *result = report->result;
	struct gg_json json = { .out = out };
	uint32_t *files = find_files(report->model);
	size_t shown = result->row_count;

	if (files == NULL) {
		out->failed = true;
		return;
	}
	if (report->limit != 0 && report->limit < shown)
		shown = report->limit;
	gg_json_open(&json, NULL, '{');
	gg_report_json_head(report, &json);
	gg_report_json_query(report, &result->query, result->moment_ns, &result->total,
	                     &result->unplaced, &json);
	if (result->query.metric == GG_METRIC_PINNED)
		gg_report_json_pinned(&json, &result->pinned);
	gg_json_integer(&json, "row_count", result->row_count);
	gg_json_number(&json, "hidden_most",
	               shown < result->row_count ? gg_report_most_hidden(report, shown) : 0);
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < shown; i++)
		add_row(report, &json, &result->rows[i], files);
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
	free(files);
}
