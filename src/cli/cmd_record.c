/* SPDX-License-Identifier: Apache-2.0 */
/* `geiger record`: runs a command under the agent and writes a profile of its session. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/metric.h"
#include "cli/profiles.h"
#include "record/session.h"
#include "region/control.h"
#include "stats/scheme.h"

struct record_options {
	const char *output;
	double max_seconds;
	uint64_t interval, seed;
	int scheme, focus;
	bool free_stacks, mappings, compat, no_children, no_symbols, quiet;
};

#define NOT_GIVEN UINT64_MAX

static const struct record_options defaults = { .interval = NOT_GIVEN, .scheme = -1, .focus = -1 };

static const struct gg_option record_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct record_options, output), "FILE",
	  "the profile (default: COMMAND.PID.geiger)" },
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct record_options, interval), "SIZE",
	  "mean sampling interval in bytes (default: 512KiB)" },
	{ "scheme", 0, GG_OPTION_CHOICE, offsetof(struct record_options, scheme), GG_CLI_SCHEMES,
	  "how samples are drawn (default: poisson)" },
	{ "focus", 0, GG_OPTION_CHOICE, offsetof(struct record_options, focus), GG_CLI_FOCUSES,
	  "what scheme optimal, then implied, knows best" },
	{ "seed", 0, GG_OPTION_COUNT, offsetof(struct record_options, seed), "N",
	  "of the random marks, from 1 on (default: random)" },
	{ "free-stacks", 0, GG_OPTION_FLAG, offsetof(struct record_options, free_stacks), NULL,
	  "record where samples are freed, too" },
	{ "mmap", 0, GG_OPTION_FLAG, offsetof(struct record_options, mappings), NULL,
	  "record anonymous mappings, too" },
	{ "compat", 0, GG_OPTION_FLAG, offsetof(struct record_options, compat), NULL,
	  "jemalloc's and gperftools' options and calls, too" },
	{ "no-children", 0, GG_OPTION_FLAG, offsetof(struct record_options, no_children), NULL,
	  "the command's own process alone" },
	{ "max-time", 0, GG_OPTION_TIME, offsetof(struct record_options, max_seconds), "TIME",
	  "end the recording, not the command: 90, 10m, 2h" },
	{ "no-symbols", 0, GG_OPTION_FLAG, offsetof(struct record_options, no_symbols), NULL,
	  "leave functions and lines to 'geiger symbolize'" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct record_options, quiet), NULL,
	  "say nothing unless it fails" },
	GG_OPTIONS_END,
};

/* The five largest holders of what is live at the end; of the peak, if that is little. */
static void print_largest(const char *path, void *context)
{
	const struct gg_report_options look = { .confidence = 0.95 };
	const struct gg_style style = { .strong = "", .heading = "", .reset = "" };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_question question;
	struct gg_report report = { 0 };
	struct gg_result *result = NULL;
	struct gg_model *model;
	bool is_given_back;

	(void)context;
	if (gg_cli_load(&model, &path, 1, NULL) < 0)
		return;
	gg_question_init(&question);
	if (gg_cli_is_given_back(model, 0, &is_given_back, NULL) == 0 && is_given_back)
		question.metric = GG_METRIC_PEAK;
	if (gg_ask_rows(model, &question, &result, NULL) == 0 && result->total.sample_count > 0) {
		gg_cli_fit_report(&look, &style, &report);
		report.model = model;
		report.result = result;
		gg_report_largest(&report, 5, &out);
		fprintf(stderr, "geiger: %s", gg_buf_text(&out));
	}
	gg_result_free(result);
	gg_model_free(model);
}

static int run_record(struct gg_invocation *invocation)
{
	const struct record_options *given = invocation->options;
	struct gg_record_options options = {
		.command = invocation->operands,
		.output = given->output,
		.interval = given->interval != NOT_GIVEN ? given->interval : 0,
		.scheme = gg_cli_scheme_name(given->scheme, given->focus),
		.focus = gg_cli_focus_name(given->focus),
		.seed = given->seed,
		.free_stacks = given->free_stacks,
		.mappings = given->mappings,
		.compat = given->compat,
		.no_children = given->no_children,
		.max_seconds = given->max_seconds,
		.no_symbols = given->no_symbols,
		.quiet = given->quiet,
		.completed = given->quiet ? NULL : print_largest,
	};
	int exit_status, status;

	options.command[invocation->operand_count] = NULL; /* operands were moved forward */
	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "record",
		                    "Name it after the options: geiger record -- COMMAND.",
		                    "no command given");
	if (given->interval != NOT_GIVEN &&
	    (given->interval == 0 || given->interval > GG_REGION_INTERVAL_MAX))
		return gg_error_set(invocation->error, -EINVAL, "record: --interval",
		                    "Give 1 to 256TiB.", "it is out of range");
	if (given->focus >= 0 && given->scheme >= 0 && given->scheme != GG_SCHEME_OPTIMAL)
		return gg_error_set(invocation->error, -EINVAL, "record: --focus",
		                    "Add --scheme optimal.", "only the optimal scheme has one");
	status = gg_record_run(&options, &exit_status, invocation->error);
	if (status < 0)
		invocation->failure_status = exit_status;
	return status < 0 ? status : exit_status;
}

const struct gg_command gg_command_record = {
	.name = "record",
	.summary = "run a command and write a profile of its memory",
	.usage = "[OPTION]... [--] COMMAND [ARGUMENT]...",
	.details = "The profile holds the whole session: the command's process and all that\n"
		   "descend from it. The command's streams, terminal, signals and exit status\n"
		   "are untouched. Exit status: the command's, 128 + N when signal N ended it;\n"
		   "125 if geiger itself failed, 126 if the command cannot be executed, 127 if\n"
		   "it was not found. When the command has ended and processes of its session\n"
		   "live on, so does the recording: Ctrl-C ends it.\n",
	.options = record_option_table,
	.options_size = sizeof(struct record_options),
	.option_defaults = &defaults,
	.option_mode = GG_OPTIONS_BEFORE_OPERANDS,
	.max_operands = -1,
	.failure_status = 125,
	.run = run_record,
};
