/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/fleet_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/pager.h"
#include "fleet/fleet_draws.h"
#include "fleet/fleet_extend.h"
#include "fleet/fleet_model.h"

#define AT(field) offsetof(struct gg_fleet_ask_options, field)

enum { ASKED_SLOT_SECONDS_MOST = 1000000 }; /* longer than those of hosts, for older snapshots */
enum fleet_metric { FLEET_LIVE, FLEET_ALLOCATED, FLEET_FREED, FLEET_PEAK };

const struct gg_option gg_cli_fleet_metric_options[] = {
	{ "metric", 'm', GG_OPTION_CHOICE, AT(metric), "live|allocated|freed|peak",
	  "which memory (live); peak: the slot with most live" },
	{ "unit", 'u', GG_OPTION_CHOICE, AT(common.unit), "bytes|count",
	  "bytes, or allocations (bytes)" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_fleet_scope_options[] = {
	{ "host", 0, GG_OPTION_TEXT, AT(host), "NAME", "only this host" },
	{ "label", 'l', GG_OPTION_PAIRS, AT(labels), "KEY=VALUE",
	  "only processes with this label; may be repeated" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_fleet_time_options[] = {
	{ "at", 0, GG_OPTION_TEXT, AT(at), "TIME",
	  "live at a moment: '2026-11-27 02:40', 2h, peak" },
	{ "since", 0, GG_OPTION_TEXT, AT(since), "TIME",
	  "from this time on; live memory is averaged" },
	{ "until", 0, GG_OPTION_TEXT, AT(until), "TIME", "up to this time" },
	{ "slot", 0, GG_OPTION_TIME, AT(slot_seconds), "TIME",
	  "how often hosts send snapshots (10m)" },
	GG_OPTIONS_END,
};

/* --- times ----------------------------------------------------------------------------------- */

/* A number with a unit, as a time before now. */
static bool parse_ago(const char *text, uint32_t now_s, uint32_t *ret_time_s)
{
	static const struct {
		char unit;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	double value = strtod(text, &end);

	if (end == text || end[0] == '\0' || end[1] != '\0' || !(value >= 0))
		return false;
	for (size_t i = 0; i < GG_COUNT(units); i++)
		if (units[i].unit == *end && value * units[i].seconds < now_s) {
			*ret_time_s = now_s - (uint32_t)(value * units[i].seconds);
			return true;
		}
	return false;
}

static bool parse_date(const char *text, uint32_t *ret_time_s)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
		                             "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ" };

	for (size_t i = 0; i < GG_COUNT(forms); i++) {
		struct tm parts = { 0 };
		const char *end = strptime(text, forms[i], &parts);
		time_t at = end != NULL && *end == '\0' ? timegm(&parts) : -1;

		if (at >= 0 && at < UINT32_MAX) {
			*ret_time_s = (uint32_t)at;
			return true;
		}
	}
	return false;
}

int gg_cli_fleet_time(const char *text, const char *verb, const char *option, uint32_t *ret_time_s,
                      struct gg_error *error)
{
	unsigned long long seconds;
	char *end;

	if (text[0] == '@') {
		seconds = strtoull(text + 1, &end, 10);
		if (end != text + 1 && *end == '\0' && seconds < UINT32_MAX) {
			*ret_time_s = (uint32_t)seconds;
			return 0;
		}
	} else if (parse_date(text, ret_time_s) ||
	           parse_ago(text, (uint32_t)time(NULL), ret_time_s)) {
		return 0;
	}
	gg_error_set(error, -EINVAL, NULL,
	             "Give '2026-11-27 02:40' in UTC, a time ago such as 2h, or @SECONDS.",
	             "'%s' is not a time", text);
	gg_error_set_place(error, "%s: --%s", verb, option);
	return -EINVAL;
}

/* Reads a time of a side of a diff, whose options have names of their own. */
static int read_time(const struct gg_fleet_ask_options *options, const char *text, const char *verb,
                     const char *option, uint32_t *ret_time_s, struct gg_error *error)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s",
	         options->time_prefix != NULL ? options->time_prefix : "", option);
	return gg_cli_fleet_time(text, verb, name, ret_time_s, error);
}

static int choose_time(struct gg_fleet_question *question,
                       const struct gg_fleet_ask_options *options, const char *verb,
                       struct gg_error *error)
{
	bool is_peak = options->at != NULL && strcmp(options->at, "peak") == 0;
	bool is_at = options->at != NULL && !is_peak;
	int status = 0;

	question->until_s = UINT32_MAX;
	if (options->since != NULL)
		status = read_time(options, options->since, verb, "since", &question->since_s,
		                   error);
	if (status == 0 && options->until != NULL)
		status = read_time(options, options->until, verb, "until", &question->until_s,
		                   error);
	if (status == 0 && question->since_s >= question->until_s)
		status = gg_error_set(error, -EINVAL, "fleet: --since", NULL,
		                      "the window ends before it begins");
	if (status < 0)
		return status;
	if (is_at && (options->since != NULL || options->until != NULL))
		return gg_error_set(error, -EINVAL, "fleet: --at", "Leave one of them out.",
		                    "a moment and a window exclude each other");
	if (options->at != NULL && question->metric != GG_METRIC_LIVE)
		return gg_error_set(error, -EINVAL, "fleet: --at",
		                    "Give --since and --until for what was allocated or freed.",
		                    "a moment has only live memory");
	if (is_peak || options->metric == FLEET_PEAK)
		question->when = GG_FLEET_AT_PEAK;
	else if (options->since != NULL || options->until != NULL)
		question->when = GG_FLEET_AVERAGE;
	if (is_at) {
		question->when = GG_FLEET_AT_TIME;
		status = read_time(options, options->at, verb, "at", &question->until_s, error);
		question->until_s++; /* the slot that begins then counts */
	}
	return status;
}

/* --- questions ------------------------------------------------------------------------------- */

int gg_cli_fleet_check_service(const struct gg_invocation *invocation, const char *verb)
{
	if (invocation->operand_count == 1)
		return 0;
	return gg_error_set(invocation->error, -EINVAL, verb, "geiger fleet services lists them.",
	                    "needs a service");
}

/* Another length than the given one would let other snapshots count, and nobody would see it. */
static int check_slot(const struct gg_fleet_ask_options *options, const char *verb,
                      struct gg_error *error)
{
	double seconds = options->slot_seconds;

	if (seconds >= 1 && seconds <= ASKED_SLOT_SECONDS_MOST && seconds == floor(seconds))
		return 0;
	gg_error_set(error, -EINVAL, NULL, "Give the length with which hosts send, such as 10m.",
	             "a slot is a whole number of seconds, from 1 to %d", ASKED_SLOT_SECONDS_MOST);
	gg_error_set_place(error, "%s: --slot", verb);
	return -EINVAL;
}

static int make_question(struct gg_asked_fleet *answer, const struct gg_fleet_ask_options *options,
                         const char *service, const char *verb, struct gg_error *error)
{
	static const enum gg_metric metrics[] = { GG_METRIC_LIVE, GG_METRIC_ALLOCATED,
		                                  GG_METRIC_FREED, GG_METRIC_LIVE };

	for (size_t i = 0; i < options->labels.count; i++)
		answer->labels[i] = (struct gg_fleet_label){ options->labels.pairs[i].key,
			                                     options->labels.pairs[i].value };
	answer->question = (struct gg_fleet_question){
		.tenant = gg_cli_fleet_tenant(&options->place),
		.service = service,
		.version = options->version,
		.host = options->host,
		.labels = answer->labels,
		.label_count = options->labels.count,
		.metric = metrics[options->metric],
		.by_slot = options->by_slot,
		.joins_draws = options->joins_draws,
		.slot_length_s = (uint32_t)options->slot_seconds,
	};
	return choose_time(&answer->question, options, verb, error);
}

int gg_cli_fleet_ask(struct gg_asked_fleet *answer, const struct gg_fleet_ask_options *options,
                     const char *service, const char *verb, struct gg_error *error)
{
	int status;

	*answer = (struct gg_asked_fleet){ 0 };
	status = gg_frame_selection_check(&options->common.frames, error);
	if (status == 0)
		status = gg_cli_make_query(&options->common, verb, &answer->query, error);
	if (status == 0)
		status = check_slot(options, verb, error);
	if (status == 0)
		status = make_question(answer, options, service, verb, error);
	if (status == 0)
		status = gg_cli_fleet_open(&options->place, &answer->store, error);
	if (status < 0)
		return status;
	answer->delay_s = gg_fleet_delay_seconds(&answer->store, answer->question.tenant);
	status = gg_fleet_scope_of(&answer->scope, &answer->store, &answer->question, error);
	if (status < 0)
		return status;
	answer->query.metric = answer->question.metric;
	gg_fleet_scope_describe(&answer->scope, &answer->when);
	answer->fleet = (struct gg_report_fleet){
		.service = service,
		.when = gg_buf_text(&answer->when),
		.host_count = answer->scope.host_count,
		.selected_count = answer->scope.selected_count,
		.reported_count = answer->scope.is_latest ? answer->scope.reported_count
		                                          : answer->scope.host_count,
		.slot_count = answer->scope.slot_count,
	};
	return answer->when.failed ? gg_error_memory(error, verb) : 0;
}

void gg_cli_fleet_append_hosts(const struct gg_asked_fleet *answer, struct gg_buf *notes)
{
	const struct gg_fleet_scope *scope = &answer->scope;
	bool by_slot = scope->question->by_slot;
	size_t missing = scope->host_count - answer->fleet.reported_count;

	gg_buf_printf(notes, "%zu host%s, %.0f process%s", scope->host_count,
	              scope->host_count == 1 ? "" : "s", scope->process_count,
	              scope->process_count == 1 ? "" : "es");
	if (missing > 0)
		gg_buf_printf(notes, "; %zu of them count with an older snapshot", missing);
	if (scope->lacking_count > 0)
		gg_buf_printf(notes, "; %zu of them lack slots%s", scope->lacking_count,
		              scope->question->metric != GG_METRIC_LIVE ? ", whose sums are missing"
		              : by_slot                                 ? ""
		              : gg_fleet_is_beyond_raw(scope)
		                      ? " and count with what they reported, because rows by host "
		                        "were dropped"
		                      : " and count with the average of those that they have");
	if (scope->ended_count > 0 && scope->question->metric == GG_METRIC_LIVE)
		gg_buf_printf(notes,
		              "; %zu process%s of other agents %s silent at the end and count%s "
		              "as ended: an outage that goes on for %d slots looks the same",
		              scope->ended_count, scope->ended_count == 1 ? "" : "es",
		              scope->ended_count == 1 ? "is" : "are",
		              scope->ended_count == 1 ? "s" : "", GG_FLEET_AROUND_SLOTS);
}

/* Says which hosts the numbers cover, and which error the intervals hold. */
static void append_notes(const struct gg_asked_fleet *answer, bool by_slot, struct gg_buf *notes)
{
	const struct gg_fleet_scope *scope = &answer->scope;

	gg_cli_fleet_append_hosts(answer, notes);
	if (answer->extends_slots)
		gg_buf_append_text(notes, ". Stacks of some of them were drawn; each slot is the "
		                          "estimate for all of its hosts, and intervals hold the "
		                          "error of sampling and that between hosts.\n");
	else if (scope->is_redrawn)
		gg_buf_append_text(notes, ". Each hour drew some of them anew; the numbers are for "
		                          "all, and intervals hold the error of sampling and that "
		                          "between hosts.\n");
	else if (answer->fleet.is_between_hosts)
		gg_buf_printf(notes,
		              ". Stacks of %zu of them were drawn; the numbers are for all, and "
		              "intervals hold the error of sampling and that between hosts.\n",
		              scope->selected_count);
	else if (gg_fleet_is_drawn(scope))
		gg_buf_printf(notes,
		              ". The numbers are of the %zu of them whose stacks were drawn, and "
		              "intervals hold the error of sampling alone.\n",
		              scope->selected_count);
	else
		gg_buf_append_text(notes, ". All of them are in the numbers, and intervals hold "
		                          "the error of sampling.\n");
	if (by_slot)
		gg_buf_append_text(notes,
		                   "A slot has the hosts that reported in it; RSS is that of "
		                   "the same hosts, and unknown if one of them does not say "
		                   "it.\n");
	else if (!scope->is_latest && scope->question->metric == GG_METRIC_LIVE &&
	         scope->slot_count > 1)
		gg_buf_append_text(notes, "Live memory is an average over time, not a sum; its "
		                          "intervals are upper bounds.\n");
}

/* Names and hides frames as the options say. */
static int prepare_model(struct gg_model *model, void *context, struct gg_error *error)
{
	const struct gg_model_name_options naming = { .full_names = true };
	const struct gg_fleet_ask_options *options = context;
	int status = 0;

	if (options->common.full_names)
		status = gg_model_name_functions(&model, 1, &naming, error);
	return status == 0 ? gg_frame_selection_apply(&options->common.frames, &model, 1, error)
	                   : status;
}

bool gg_cli_fleet_append_delay(uint64_t delay_s, struct gg_buf *note)
{
	if (delay_s == 0)
		return false;
	gg_buf_printf(note,
	              "This replica is %" PRIu64
	              " second%s behind the others: rows may be missing.",
	              delay_s, delay_s == 1 ? "" : "s");
	return true;
}

int gg_cli_fleet_model(struct gg_asked_fleet *answer, const struct gg_fleet_ask_options *options,
                       struct gg_error *error)
{
	struct gg_fleet_ask_options copy = *options;
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };
	struct gg_model_options how = { 0 };
	int status;

	answer->groups = options->by_host ? GG_FLEET_EACH_HOST
	                                  : gg_fleet_groups_for(&answer->scope);
	append_notes(answer, options->by_slot, &notes);
	if (gg_cli_fleet_append_delay(answer->delay_s, &notes))
		gg_buf_append_text(&notes, "\n");
	gg_frame_selection_options(&options->common.frames, &how);
	status = gg_fleet_model_make(&answer->model, &answer->store, &answer->scope, answer->groups,
	                             &how, gg_buf_text(&notes), error);
	return status < 0 ? status : prepare_model(answer->model, &copy, error);
}

int gg_cli_fleet_extend(struct gg_asked_fleet *answer, const struct gg_fleet_ask_options *options,
                        struct gg_query_result *result, double confidence, struct gg_error *error)
{
	struct gg_fleet_ask_options copy = *options;
	struct gg_model_options how = { 0 };
	const struct gg_fleet_draws_plan plan = { .store = &answer->store,
		                                  .options = &how,
		                                  .confidence = confidence,
		                                  .prepare = prepare_model,
		                                  .context = &copy };

	if (!answer->fleet.is_between_hosts)
		return 0;
	gg_frame_selection_options(&options->common.frames, &how);
	return answer->scope.is_redrawn
	               ? gg_fleet_extend_draws(&plan, &answer->scope, answer->model, result, error)
	               : gg_fleet_extend_rows(&answer->scope, answer->groups, answer->model, result,
	                                      confidence, error);
}

void gg_cli_asked_fleet_done(struct gg_asked_fleet *answer)
{
	gg_model_free(answer->model);
	gg_fleet_scope_done(&answer->scope);
	gg_clickhouse_done(&answer->store);
	gg_buf_done(&answer->when);
}

int gg_cli_fleet_print(struct gg_invocation *invocation,
                       int (*answer)(struct gg_invocation *, struct gg_buf *), bool no_pager)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	int status = answer(invocation, &out), printed;

	if (status < 0)
		return status;
	printed = gg_cli_print(&out, no_pager, invocation->error);
	return printed < 0 ? printed : status;
}
