/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/response.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "base/time_units.h"
#include "format/export/export.h"
#include "page/page.h"
#include "query/diff.h"
#include "report/frame_selection.h"
#include "report/report_diff.h"
#include "report/report_why.h"
#include "serve/fleet_response.h"
#include "serve/folder_page.h"
#include "serve/metrics.h"

/* Forms of the list of a folder lead to pages of this server. */
#define NO_SCRIPTS \
	"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'"

const char *gg_response_policy(const struct gg_serving *serving, const struct gg_response *answer)
{
	return answer->kind == GG_RESPONSE_PAGE ? gg_buf_text(&serving->policy) : NO_SCRIPTS;
}

/* Makes the response to a failed request: the error as the command prints it. */
static void fail_by(struct gg_response *answer, const struct gg_error *error)
{
	char line[GG_ERROR_LINE_MAX];

	gg_error_format(error, line, sizeof(line));
	gg_response_fail(answer,
	                 error->status == -ENOENT   ? 404
	                 : error->status == -EINVAL ? 400
	                                            : 500,
	                 line);
}

static const char *argument(const struct gg_request *request, const char *name)
{
	return request->argument(request, name);
}

/* --- pages --------------------------------------------------------------------------------- */

static void answer_page(struct gg_serving *serving, const struct gg_request *request,
                        struct gg_response *answer)
{
	const char *name = argument(request, "profile"), *before = argument(request, "before");
	GG_CLEANUP(gg_buf_done) struct gg_buf source = { 0 };
	struct gg_library_entry entry = { 0 };
	struct gg_error error = { 0 };
	int status = gg_library_find(serving->library, name, &entry, &error);

	answer->kind = GG_RESPONSE_PAGE;
	gg_buf_append_text(&source, "/data");
	if (name != NULL) {
		gg_buf_append_text(&source, "?profile=");
		gg_page_append_escaped(name, &source);
	}
	if (before != NULL) {
		gg_buf_append_text(&source, name != NULL ? "&before=" : "?before=");
		gg_page_append_escaped(before, &source);
	}
	if (status == 0)
		status = gg_page_html_live(gg_buf_text(&source), entry.is_live, &answer->body,
		                           &error);
	free(entry.name);
	if (status < 0)
		fail_by(answer, &error);
}

/* How long one request for a list may read profiles. */
#define LIST_BUDGET_NS (700 * (uint64_t)GG_NS_PER_MS)

/* Reads the arguments sort, order, q and page.  Invalid values mean the defaults. */
static struct gg_folder_view folder_view(const struct gg_request *request)
{
	struct gg_folder_view view = { .filter = argument(request, "q"), .is_descending = true };
	const char *column = argument(request, "sort"), *order = argument(request, "order");
	const char *page = argument(request, "page");

	for (int i = 0; column != NULL && i < GG_FOLDER_COLUMN_COUNT; i++)
		if (strcmp(column, gg_folder_column_name(i)) == 0) {
			view.column = (enum gg_folder_column)i;
			view.is_descending = gg_folder_column_descends(view.column);
		}
	if (order != NULL && (order[0] == 'a' || order[0] == 'd'))
		view.is_descending = order[0] == 'd';
	if (page != NULL)
		view.page = strtoul(page, NULL, 10) % 1000;
	return view;
}

static void answer_root(struct gg_serving *serving, const struct gg_request *request,
                        struct gg_response *answer)
{
	struct gg_library_entry *entries;
	struct gg_folder_view view = folder_view(request);
	struct gg_error error = { 0 };
	size_t count;

	if (!gg_library_is_folder(serving->library)) {
		answer_page(serving, request, answer);
		return;
	}
	if (gg_library_list(serving->library, &entries, &count, &error) < 0) {
		fail_by(answer, &error);
		return;
	}
	view.missing = gg_library_summarize(serving->library, entries, count, LIST_BUDGET_NS);
	gg_folder_page_html(gg_library_title(serving->library), entries, count, &view,
	                    &answer->body);
	gg_library_free_list(entries, count);
}

static void answer_profiles(struct gg_serving *serving, const struct gg_request *request,
                            struct gg_response *answer)
{
	struct gg_library_entry *entries;
	struct gg_error error = { 0 };
	size_t count;

	(void)request;
	answer->kind = GG_RESPONSE_JSON;
	if (gg_library_list(serving->library, &entries, &count, &error) < 0) {
		fail_by(answer, &error);
		return;
	}
	gg_library_summarize(serving->library, entries, count, LIST_BUDGET_NS);
	gg_folder_page_json(gg_library_title(serving->library), entries, count, &answer->body);
	gg_library_free_list(entries, count);
}

/* --- data ---------------------------------------------------------------------------------- */

static void answer_data(struct gg_serving *serving, const struct gg_request *request,
                        struct gg_response *answer)
{
	const struct gg_buf *packed;
	struct gg_error error = { 0 };
	uint64_t tag;
	int status = gg_library_data(serving->library, argument(request, "profile"),
	                             argument(request, "before"), &packed, &tag, &error);

	answer->kind = GG_RESPONSE_JSON;
	if (status < 0) {
		fail_by(answer, &error);
		return;
	}
	snprintf(answer->tag, sizeof(answer->tag), "\"%016" PRIx64 "\"", tag);
	if (request->if_none_match != NULL && strstr(request->if_none_match, answer->tag) != NULL) {
		answer->status = 304;
		return;
	}
	if (request->accept_encoding != NULL && strstr(request->accept_encoding, "gzip") != NULL) {
		gg_buf_append(&answer->body, packed->data, packed->length);
		answer->is_gzip = true;
		return;
	}
	if (gg_page_unpack(packed, &answer->body, &error) < 0)
		fail_by(answer, &error);
}

/* --- queries ------------------------------------------------------------------------------- */

/*
 * The number below `count` whose name is the argument's value.  `otherwise` if the request has no
 * such argument; -1 if no number has that name.
 */
static int choice(const struct gg_request *request, const char *argument_name,
                  const char *(*name_of)(int number), int count, int otherwise)
{
	const char *given = argument(request, argument_name);

	if (given == NULL)
		return otherwise;
	for (int i = 0; i < count; i++)
		if (strcmp(name_of(i), given) == 0)
			return i;
	return -1;
}

static const char *metric_name(int number)
{
	return gg_metric_name((enum gg_metric)number);
}

static const char *unit_name(int number)
{
	return number == GG_BYTES ? "bytes" : "count";
}

static const char *grouping_name(int number)
{
	return gg_grouping_name((enum gg_grouping)number);
}

/* Requests may use all metrics, and the groupings that a diff can use. */
enum { METRIC_COUNT = GG_METRIC_LEFT + 1, GROUPING_COUNT = GG_BY_TYPE + 1 };

/* Parses a number that is not negative.  True if the argument is absent or valid. */
static bool take_number(const struct gg_request *request, const char *name, int64_t *number)
{
	const char *given = argument(request, name);
	char *end;
	long long value;

	if (given == NULL)
		return true;
	errno = 0;
	value = strtoll(given, &end, 10);
	if (end == given || *end != '\0' || errno != 0 || value < 0)
		return false;
	*number = value;
	return true;
}

static int wrong(const char *name, struct gg_error *error)
{
	return gg_error_set(error, -EINVAL, name, "docs/reference/HTTP_API.md has what is known.",
	                    "not a value that it can have");
}

/* Reads metric, unit, by, from_ns, and to_ns or at_ns from the request. */
static int take_query(const struct gg_request *request, struct gg_query *query,
                      struct gg_error *error)
{
	int metric = choice(request, "metric", metric_name, METRIC_COUNT, GG_METRIC_LIVE);
	int unit = choice(request, "unit", unit_name, GG_QUANTITY_COUNT, GG_BYTES);
	int by = choice(request, "by", grouping_name, GROUPING_COUNT, GG_BY_FUNCTION);

	gg_query_init(query);
	if (metric < 0)
		return wrong("metric", error);
	if (unit < 0)
		return wrong("unit", error);
	if (by < 0)
		return wrong("by", error);
	query->metric = (enum gg_metric)metric;
	query->unit = (enum gg_quantity)unit;
	query->by = (enum gg_grouping)by;
	if (!take_number(request, "from_ns", &query->from_ns))
		return wrong("from_ns", error);
	if (!take_number(request, "to_ns", &query->to_ns) ||
	    !take_number(request, "at_ns", &query->to_ns))
		return wrong("to_ns", error);
	return 0;
}

/* True if the request has the argument with the value 1. */
static bool is_on(const struct gg_request *request, const char *name)
{
	const char *given = argument(request, name);

	return given != NULL && strcmp(given, "1") == 0;
}

/* Reads mine, module, hide, and all_frames from the request. */
static int take_frames(const struct gg_request *request, struct gg_frame_selection *frames,
                       struct gg_error *error)
{
	*frames = (struct gg_frame_selection){
		.all_frames = is_on(request, "all_frames"),
		.mine = is_on(request, "mine"),
		.module = argument(request, "module"),
		.hide = argument(request, "hide"),
		.native = is_on(request, "native"),
		.only_python = is_on(request, "only_python"),
	};
	return gg_frame_selection_check(frames, error);
}

/* Names the downloaded file after the profile, with harmless characters and the format's suffix. */
static void name_file(struct gg_response *answer, const char *name,
                      const struct gg_export_format *format)
{
	const char *dot = strrchr(name, '.');
	size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name), at = 0;

	for (size_t i = 0; i < length && at < 100; i++) {
		unsigned char c = (unsigned char)name[i];
		bool is_harmless = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		                   (c >= 'A' && c <= 'Z') || c == '-' || c == '_';

		answer->file_name[at++] = is_harmless ? (char)c : '_';
	}
	snprintf(answer->file_name + at, sizeof(answer->file_name) - at, "%.40s",
	         format->suffix[0] != '\0' ? format->suffix : ".txt");
}

/* Reads the profile that the request names, with the frames that other tools get. */
static int read_for_export(struct gg_serving *serving, const struct gg_request *request,
                           struct gg_model **ret_model, struct gg_error *error)
{
	/* Other tools hide frames by rules of their own, so they get all. */
	const struct gg_frame_selection frames = { .all_frames = true };
	int status = gg_library_read(serving->library, argument(request, "profile"), &frames,
	                             ret_model, error);

	return status < 0 ? status : gg_frame_selection_apply(&frames, ret_model, 1, error);
}

static int write_export(const struct gg_serving *serving, const struct gg_export_format *format,
                        const struct gg_model *model, const struct gg_query *query,
                        struct gg_buf *out, struct gg_error *error)
{
	struct gg_extract *extract;
	struct gg_export job = { .out = out, .error = error };
	int status = gg_extract_make(&extract, model, query, serving->confidence, error);

	if (status < 0)
		return status;
	job.extract = extract;
	status = gg_export_write(format, &job);
	gg_extract_free(extract);
	return status;
}

static void answer_export(struct gg_serving *serving, const struct gg_request *request,
                          struct gg_response *answer)
{
	const char *name = argument(request, "profile"), *wanted = argument(request, "format");
	const struct gg_export_format *format = wanted != NULL ? gg_export_find(wanted) : NULL;
	struct gg_library_entry entry = { 0 };
	struct gg_model *model = NULL;
	struct gg_query query;
	struct gg_error error = { 0 };
	int status = format != NULL ? take_query(request, &query, &error) : wrong("format", &error);

	if (status == 0)
		status = gg_export_check(format, query.metric, &error);
	if (status == 0)
		status = gg_library_find(serving->library, name, &entry, &error);
	if (status == 0)
		status = read_for_export(serving, request, &model, &error);
	if (status == 0)
		status = write_export(serving, format, model, &query, &answer->body, &error);
	answer->kind = GG_RESPONSE_FILE;
	if (status == 0)
		name_file(answer, entry.name, format);
	else
		fail_by(answer, &error);
	gg_model_free(model);
	free(entry.name);
}

/* --- for scrapers -------------------------------------------------------------------------- */

/*
 * Answers like the packages of Go do: a pprof file, whose default is live or allocated memory.
 * `seconds` is the length of a window that ends now, so nobody waits for it.
 */
static void answer_pprof(struct gg_serving *serving, const struct gg_request *request,
                         struct gg_response *answer, enum gg_metric metric)
{
	struct gg_query query;
	struct gg_model *model = NULL;
	struct gg_error error = { 0 };
	int64_t seconds = 0, debug = 0, pid = 0;
	int status = 0;

	gg_query_init(&query);
	query.metric = metric;
	if (!take_number(request, "seconds", &seconds) || seconds > INT32_MAX)
		status = wrong("seconds", &error);
	else if (!take_number(request, "debug", &debug) || debug != 0)
		status = wrong("debug", &error); /* there is no form as text */
	else if (!take_number(request, "pid", &pid) || pid > INT32_MAX)
		status = wrong("pid", &error);
	query.pid = (uint32_t)pid;
	if (status == 0)
		status = read_for_export(serving, request, &model, &error);
	if (status == 0 && seconds > 0)
		query.from_ns = model->end_ns - seconds * (int64_t)GG_NS_PER_S;
	if (status == 0)
		status = write_export(serving, gg_export_find("pprof"), model, &query,
		                      &answer->body, &error);
	answer->kind = GG_RESPONSE_FILE;
	if (status == 0)
		snprintf(answer->file_name, sizeof(answer->file_name), "%s",
		         metric == GG_METRIC_LIVE ? "heap.pb.gz" : "allocs.pb.gz");
	else
		fail_by(answer, &error);
	gg_model_free(model);
}

static void answer_heap(struct gg_serving *serving, const struct gg_request *request,
                        struct gg_response *answer)
{
	answer_pprof(serving, request, answer, GG_METRIC_LIVE);
}

static void answer_allocs(struct gg_serving *serving, const struct gg_request *request,
                          struct gg_response *answer)
{
	answer_pprof(serving, request, answer, GG_METRIC_ALLOCATED);
}

static void answer_metrics(struct gg_serving *serving, const struct gg_request *request,
                           struct gg_response *answer)
{
	struct gg_library_entry entry = { 0 };
	struct gg_model *model = NULL;
	struct gg_error error = { 0 };
	int status = gg_library_find(serving->library, argument(request, "profile"), &entry,
	                             &error);

	if (status == 0)
		status = read_for_export(serving, request, &model, &error);
	if (status == 0)
		status = gg_metrics_write(model, serving->confidence,
		                          gg_library_is_process(serving->library), &answer->body,
		                          &error);
	answer->kind = GG_RESPONSE_METRICS;
	if (status < 0)
		fail_by(answer, &error);
	gg_model_free(model);
	free(entry.name);
}

/* --- RSS ----------------------------------------------------------------------------------- */

static const char *moment_name(int number)
{
	return number == GG_WHY_PEAK ? "peak" : "last";
}

static void answer_why(struct gg_serving *serving, const struct gg_request *request,
                       struct gg_response *answer)
{
	const struct gg_report report = { .confidence = serving->confidence };
	int moment = choice(request, "moment", moment_name, GG_WHY_PEAK + 1, GG_WHY_LAST);
	struct gg_why_options options = { .confidence = serving->confidence };
	struct gg_why_list list;
	struct gg_error error = { 0 };
	int64_t pid = 0;
	int status = 0;

	answer->kind = GG_RESPONSE_JSON;
	if (moment < 0)
		status = wrong("moment", &error);
	else if (!take_number(request, "pid", &pid) || pid > INT32_MAX)
		status = wrong("pid", &error);
	options.moment = (enum gg_why_moment)moment;
	options.pid = (uint32_t)pid;
	if (status == 0)
		status = gg_library_why(serving->library, argument(request, "profile"), &options,
		                        &list, &error);
	if (status < 0) {
		fail_by(answer, &error);
		return;
	}
	gg_report_why_json(&report, &list, &answer->body);
	gg_why_list_done(&list);
}

/* --- two profiles -------------------------------------------------------------------------- */

/* The models and rows of a request for a diff. */
struct diff_sides {
	struct gg_model *models[2]; /* before, after */
	struct gg_query_result *results[2];
};

static int query_sides(struct gg_serving *serving, const char *const names[2],
                       const struct gg_query *query, const struct gg_frame_selection *frames,
                       struct diff_sides *sides, struct gg_error *error)
{
	int status = 0;

	for (size_t i = 0; i < 2 && status == 0; i++)
		status = gg_library_read(serving->library, names[i], frames, &sides->models[i],
		                         error);
	if (status == 0)
		status = gg_page_name_functions(sides->models[1], sides->models[0], error);
	if (status == 0)
		status = gg_frame_selection_apply(frames, sides->models, 2, error);
	for (size_t i = 0; i < 2 && status == 0; i++)
		status = gg_query_rows(sides->models[i], query, &sides->results[i], error);
	return status;
}

static void free_sides(struct diff_sides *sides)
{
	for (size_t i = 0; i < 2; i++) {
		gg_query_result_free(sides->results[i]);
		gg_model_free(sides->models[i]);
	}
}

static void answer_diff(struct gg_serving *serving, const struct gg_request *request,
                        struct gg_response *answer)
{
	struct gg_diff_query diff_query = { .scale = 1,
		                            .confidence = serving->confidence,
		                            .false_discovery_rate = 0.05,
		                            .only_significant = argument(request, "all") == NULL };
	struct gg_diff_report report = {
		.show_all = argument(request, "all") != NULL,
		.look = { .confidence = serving->confidence, .limit = 1000 },
	};
	const char *const names[] = { argument(request, "before"), argument(request, "profile") };
	struct diff_sides sides = { 0 };
	struct gg_frame_selection frames;
	struct gg_query query;
	struct gg_error error = { 0 };
	struct gg_diff *diff = NULL;
	int status = take_query(request, &query, &error);

	answer->kind = GG_RESPONSE_JSON;
	if (status == 0)
		status = take_frames(request, &frames, &error);
	if (status == 0 && (names[0] == NULL || names[1] == NULL))
		status = wrong(names[0] == NULL ? "before" : "profile", &error);
	if (status == 0)
		status = query_sides(serving, names, &query, &frames, &sides, &error);
	if (status == 0)
		status = gg_diff_run(sides.models[0], sides.results[0], sides.models[1],
		                     sides.results[1], &diff_query, &diff, &error);
	if (status == 0) {
		report.before = (struct gg_diff_side){ names[0], sides.models[0],
			                               sides.results[0] };
		report.after = (struct gg_diff_side){ names[1], sides.models[1], sides.results[1] };
		report.diff = diff;
		gg_report_diff_json(&report, &answer->body);
		gg_diff_free(diff);
	} else {
		fail_by(answer, &error);
	}
	free_sides(&sides);
}

/* --- paths and access ---------------------------------------------------------------------- */

static const struct {
	const char *path;
	void (*answer)(struct gg_serving *serving, const struct gg_request *request,
	               struct gg_response *answer);
	bool is_for_scrapers;
} addresses[] = {
	{ "/", answer_root, false },
	{ "/page", answer_page, false },
	{ "/profiles", answer_profiles, false },
	{ "/data", answer_data, false },
	{ "/export", answer_export, false },
	{ "/diff", answer_diff, false },
	{ "/why", answer_why, false },
	{ "/debug/pprof/heap", answer_heap, true },
	{ "/debug/pprof/allocs", answer_allocs, true },
	{ "/metrics", answer_metrics, true },
};

/* True for the addresses that scrapers on this machine may read without the token. */
static bool is_pull(const struct gg_serving *serving, const char *path)
{
	for (size_t i = 0; serving->pull && i < GG_COUNT(addresses); i++)
		if (addresses[i].is_for_scrapers && strcmp(addresses[i].path, path) == 0)
			return true;
	return false;
}

/* Moves the token of a browser's first request out of the URL and into a cookie. */
static void take_token_in(const struct gg_serving *serving, const struct gg_request *request,
                          struct gg_response *answer)
{
	snprintf(answer->cookie, sizeof(answer->cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/",
	         serving->access.cookie, serving->access.token);
	if (serving->fleet == NULL ||
	    !gg_fleet_response_location(request, answer->location, sizeof(answer->location)))
		snprintf(answer->location, sizeof(answer->location), "/");
	gg_response_fail(answer, 303, "See /");
}

void gg_response_request(struct gg_serving *serving, const struct gg_request *request,
                         struct gg_response *answer)
{
	const struct gg_access *access = &serving->access;
	bool is_in_address = gg_access_knows(access, argument(request, "token"));

	*answer = (struct gg_response){ .status = 200, .kind = GG_RESPONSE_HTML };
	if (!gg_access_is_our_host(access, request->host)) {
		gg_response_fail(answer, 421,
		                 "Use the address of this server, or localhost, as its name.");
		return;
	}
	if (!is_in_address && !gg_access_knows_cookie(access, request->cookies) &&
	    !gg_access_knows_bearer(access, request->authorization) &&
	    !is_pull(serving, request->path)) {
		gg_response_fail(
			answer, 403,
			"Open the URL that 'geiger serve' printed; it contains the token.");
		return;
	}
	answer->is_trusted = true;
	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
		gg_response_fail(answer, 405, "This server accepts GET and HEAD only.");
		return;
	}
	if (is_in_address && strcmp(request->path, "/") == 0) {
		take_token_in(serving, request, answer);
		return;
	}
	if (serving->fleet != NULL) {
		gg_fleet_response(serving, request, answer);
		return;
	}
	for (size_t i = 0; i < GG_COUNT(addresses); i++)
		if (strcmp(addresses[i].path, request->path) == 0) {
			addresses[i].answer(serving, request, answer);
			if (answer->body.failed)
				gg_response_fail(answer, 500, "The server is out of memory.");
			return;
		}
	gg_response_fail(answer, 404, "There is no such page.");
}
