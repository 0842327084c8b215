/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_meta - the profiled processes, the totals, and what readers should know before they start.
 */
#include "page/page_meta.h"

#include <math.h>

#include "base/buf.h"
#include "base/json.h"
#include "format/export/export.h"
#include "model/model.h"
#include "page/page_run.h"
#include "query/query.h"
#include "report/figure.h"
#include "report/report.h"
#include "report/report_attach.h"
#include "report/report_held.h"
#include "stats/estimate/interval.h"

static void write_tally(const struct gg_page_run *run, const char *name,
                        const struct gg_tally *tally, enum gg_quantity quantity,
                        struct gg_json *json)
{
	struct gg_figure figure = gg_figure_of(tally, quantity, run->options->confidence, false);

	gg_report_json_figure(json, name, &figure);
}

static void write_totals(const struct gg_page_run *run, const struct gg_report_summary *summary,
                         struct gg_json *json)
{
	gg_json_open(json, "totals", '{');
	write_tally(run, "live_bytes", &summary->live, GG_BYTES, json);
	write_tally(run, "live_count", &summary->live, GG_ALLOCATIONS, json);
	write_tally(run, "left_bytes", &summary->left, GG_BYTES, json);
	write_tally(run, "left_count", &summary->left, GG_ALLOCATIONS, json);
	write_tally(run, "allocated_bytes", &summary->allocated, GG_BYTES, json);
	write_tally(run, "allocated_count", &summary->allocated, GG_ALLOCATIONS, json);
	if (summary->has_peak)
		write_tally(run, "peak_bytes", &summary->peak, GG_BYTES, json);
	else
		gg_json_text(json, "peak_bytes", NULL);
	gg_json_close(json);
	gg_json_number(json, "peak_at_ns",
	               summary->has_peak && summary->peak_ns != GG_TIME_NONE
	                       ? (double)summary->peak_ns
	                       : NAN);
}

static void write_bytes(struct gg_json *json, const char *name, double bytes)
{
	gg_json_number(json, name, bytes < 0 ? NAN : bytes);
}

static void write_resident(const struct gg_report_summary *summary, struct gg_json *json)
{
	gg_report_json_highest(json, &summary->highest);
	if (summary->resident.process_count == 0) {
		gg_json_text(json, "resident", NULL);
		return;
	}
	gg_json_open(json, "resident", '{');
	gg_json_number(json, "time_ns", (double)summary->resident.time_ns);
	gg_json_integer(json, "processes", summary->resident.process_count);
	gg_json_integer(json, "living_processes", summary->resident.living_count);
	gg_json_bool(json, "proportional", summary->resident.is_proportional);
	gg_json_bool(json, "is_upper_bound", summary->resident.is_upper_bound);
	write_bytes(json, "rss_bytes", summary->resident.rss);
	write_bytes(json, "geiger_bytes", summary->resident.geiger);
	write_bytes(json, "anonymous_bytes", summary->resident.anonymous);
	write_bytes(json, "file_bytes", summary->resident.file);
	write_bytes(json, "stack_bytes", summary->resident.stack);
	write_bytes(json, "slack_bytes", summary->slack_bytes);
	write_bytes(json, "mapping_bytes", summary->mapping_bytes);
	gg_json_number(json, "rest_bytes", gg_report_summary_rest(summary));
	gg_json_close(json);
}

/* Writes "exports": the formats in which the server of this page offers the profile. */
static void write_exports(const struct gg_page_options *options, struct gg_json *json)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf address = { 0 };

	gg_json_open(json, "exports", '[');
	for (size_t i = 0; options->exports != NULL && gg_export_formats[i] != NULL; i++) {
		gg_buf_clear(&address);
		gg_buf_printf(&address, "%sformat=%s", options->exports,
		              gg_export_formats[i]->name);
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "name", gg_export_formats[i]->name);
		gg_json_text(json, "href", gg_buf_text(&address));
		gg_json_close(json);
	}
	gg_json_close(json);
}

int gg_page_meta_write(struct gg_page_run *run, struct gg_json *json)
{
	const struct gg_page_options *options = run->options;
	const struct gg_profile_session *session = &run->model->sessions[0];
	struct gg_report_summary summary;
	struct gg_query query;
	bool is_given_back = false, is_unprofiled = gg_model_is_unprofiled(run->model);
	/* Without a recorded process, nothing bounds the memory that was not sampled. */
	double exposure = is_unprofiled ? 0 : gg_model_exposure(run->model, 0);
	int status;

	gg_query_init(&query);
	status = gg_report_summary_of(&summary, run->model, &query, run->error);
	if (status == 0)
		status = gg_query_is_given_back(run->model, 0, &is_given_back, run->error);
	if (status < 0)
		return status;
	gg_json_open(json, "meta", '{');
	gg_json_text(json, "title", options->title);
	gg_json_text(json, "command", session->command);
	gg_json_text(json, "host", session->host);
	gg_json_text(json, "geiger", session->geiger);
	gg_json_number(json, "start_seconds", (double)(session->start_wall_ns / 1000) * 1e-6);
	gg_json_number(json, "duration_ns", (double)run->model->end_ns);
	gg_json_number(json, "interval_bytes", summary.interval_bytes);
	gg_json_number(json, "least_interval_bytes", summary.least_interval_bytes);
	gg_json_number(json, "exposure_bytes", exposure);
	gg_json_text(json, "scheme", gg_scheme_name(session->scheme));
	gg_json_integer(json, "samples", summary.sample_count);
	gg_json_integer(json, "dropped", summary.dropped_count);
	gg_json_number(json, "confidence", options->confidence);
	gg_json_bool(json, "is_unprofiled", is_unprofiled);
	gg_json_bool(json, "is_exact", gg_model_is_exact(run->model));
	gg_json_bool(json, "has_history", gg_model_has_history(run->model));
	gg_json_number(json, "watched_ns",
	               options->watched_from_ns > 0 ? (double)options->watched_from_ns : NAN);
	gg_json_bool(json, "is_live", options->is_live);
	gg_json_number(json, "processes",
	               summary.process_count > 0 ? (double)summary.process_count : NAN);
	gg_json_text(json, "opening_metric", is_given_back ? "peak" : "live");
	write_totals(run, &summary, json);
	gg_json_number(json, "unseen_bytes",
	               exposure > 0 && !gg_model_lacks_objects(run->model, 0)
	                       ? gg_interval_unseen_bytes(exposure, options->confidence)
	                       : NAN);
	gg_json_bool(json, "is_incomplete",
	             gg_model_is_incomplete(run->model, 0, INT64_MIN, GG_TIME_NONE));
	gg_json_bool(json, "lacks_java_objects", gg_model_lacks_java_objects(run->model, 0));
	write_resident(&summary, json);
	gg_report_json_unresolved(json, run->model, &summary.unresolved);
	gg_report_json_attaches(json, run->model, 0, options->confidence);
	gg_report_json_held(json, run->model, &summary, options->confidence);
	gg_report_json_notes(json, run->model);
	gg_json_close(json);
	write_exports(options, json);
	return 0;
}
