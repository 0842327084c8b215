/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_record - `geiger record`: runs a command under the agent and writes a profile of its session.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/metric.h"
#include "cli/next_steps.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "cli/query_options.h"
#include "cli/record_sender.h"
#include "cli/sampling.h"
#include "cli/variables.h"
#include "query/query.h"
#include "record/session/session.h"
#include "report/report.h"
#include "report/screen_text.h"

struct record_options {
	const char *output;
	double max_seconds;
	struct gg_cli_sampling sampling;
	struct gg_send_options send;
	bool no_children, no_dotnet, no_symbols, quiet;
};

/* The context of the session's callbacks. */
struct recording {
	struct gg_next_steps steps;
	struct gg_record_sender sender;
};

static const struct record_options defaults = { .sampling = GG_CLI_SAMPLING_DEFAULTS };

static const struct gg_option record_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct record_options, output), "FILE",
	  "the profile (default: COMMAND.PID.geiger)" },
	GG_OPTIONS_SHARED(gg_cli_sampling_options, offsetof(struct record_options, sampling)),
	{ "pid", 'p', GG_OPTION_ABSENT, 0, NULL,
	  "'geiger attach PID' records a process that runs already." },
	{ "follow-fork", 0, GG_OPTION_ABSENT, 0, NULL,
	  "Forked processes are recorded anyway; '--no-children' leaves them out." },
	{ "no-children", 0, GG_OPTION_FLAG, offsetof(struct record_options, no_children), NULL,
	  "the command's own process alone" },
	{ "no-dotnet", 0, GG_OPTION_FLAG, offsetof(struct record_options, no_dotnet), NULL,
	  "leave out the managed memory of .NET" },
	{ "max-time", 0, GG_OPTION_TIME, offsetof(struct record_options, max_seconds), "TIME",
	  "end the recording, not the command: 90, 10m, 2h" },
	{ "no-symbols", 0, GG_OPTION_FLAG, offsetof(struct record_options, no_symbols), NULL,
	  "leave functions and lines to 'geiger symbolize'" },
	{ "send", 0, GG_OPTION_TEXT, offsetof(struct record_options, send.to), "URL",
	  "send profiles to this receiver: geiger-send(1)" },
	{ "every", 0, GG_OPTION_TIME, offsetof(struct record_options, send.every_seconds), "TIME",
	  "with --send: time between profiles (60s)" },
	{ "slot", 0, GG_OPTION_TIME, offsetof(struct record_options, send.slot_seconds), "TIME",
	  "with --send to a fleet: length of its slots (10m)" },
	{ "service", 0, GG_OPTION_TEXT, offsetof(struct record_options, send.service), "NAME",
	  "with --send: service.name (the program's name)" },
	{ "label", 0, GG_OPTION_PAIRS, offsetof(struct record_options, send.labels), "KEY=VALUE",
	  "with --send: an attribute of the resource" },
	{ "headers", 0, GG_OPTION_TEXT, offsetof(struct record_options, send.headers_file), "FILE",
	  "with --send: lines 'Name: value'" },
	{ "state", 0, GG_OPTION_TEXT, offsetof(struct record_options, send.state), "DIR",
	  "with --send: for what waits; or none" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct record_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

/* Prints the largest rows, and adds the steps that follow from them and from the model. */
static void print_rows(struct gg_model *model, const char *path, struct gg_next_steps *steps)
{
	const struct gg_report_options look = { .confidence = 0.95 };
	const struct gg_style style = { .strong = "", .heading = "", .reset = "" };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_query question;
	struct gg_report report = { 0 };
	struct gg_query_result *result = NULL;
	bool is_given_back;

	gg_query_init(&question);
	if (gg_query_is_given_back(model, 0, &is_given_back, NULL) == 0 && is_given_back)
		question.metric = GG_METRIC_PEAK;
	if (gg_query_rows(model, &question, &result, NULL) == 0 && result->total.sample_count > 0) {
		gg_cli_fit_report(&look, &style, &report);
		report.width = gg_screen_text_width(STDERR_FILENO);
		report.name_width = gg_screen_text_name_width(STDERR_FILENO);
		report.model = model;
		report.result = result;
		gg_report_largest(&report, GG_NEXT_STEPS_ROWS, &out);
		fprintf(stderr, "geiger: %s", gg_buf_text(&out));
		gg_next_steps_add(steps, &report, path);
	}
	gg_query_result_free(result);
}

/*
 * Prints the five largest holders of the memory that is live at the end, or of the peak if little
 * is live.  It runs after the profile is complete and ignores errors, because the recording has
 * succeeded.
 */
static void print_largest(const char *path, void *context)
{
	struct recording *recording = context;
	struct gg_model *model;

	if (gg_cli_load(&model, path, &(struct gg_frame_selection){ 0 }, NULL) < 0)
		return;
	print_rows(model, path, &recording->steps);
	gg_model_free(model);
}

/* Prints a step as one line; on a terminal, a longer one is broken between words. */
static void print_step(const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 }, out = { 0 };

	gg_buf_printf(&line, "geiger: %s", text);
	gg_screen_text_append_paragraph(&out, gg_buf_text(&line),
	                                gg_screen_text_name_width(STDERR_FILENO),
	                                !gg_screen_text_is_utf8());
	fputs(gg_buf_text(&out), stderr);
}

/* Prints the steps after the closing line; programs that the profile lacks come first. */
static void print_steps(const char *advice, void *context)
{
	const struct gg_next_steps *steps = &((const struct recording *)context)->steps;
	size_t count = 0;

	if (advice[0] != '\0') {
		print_step(advice);
		count++;
	}
	for (size_t i = 0; i < steps->count && count < GG_NEXT_STEPS_MAX; i++, count++)
		print_step(gg_buf_text(&steps->lines[i]));
}

/* Gives the sender its profile. */
static void tell_sender(pid_t pid, const char *path, void *context)
{
	const struct recording *recording = context;

	(void)pid;
	gg_record_sender_follow(&recording->sender, path);
}

static int run_record(struct gg_invocation *invocation)
{
	struct record_options *given = invocation->options;
	struct gg_cli_sampling *sampling = &given->sampling;
	struct recording recording = { 0 };
	struct gg_session_options options = {
		.command = invocation->operands,
		.output = given->output,
		.compat = sampling->compat,
		.no_children = given->no_children,
		.follows_dotnet = !given->no_dotnet && !sampling->exact,
		.max_seconds = given->max_seconds,
		.no_symbols = given->no_symbols,
		.quiet = given->quiet,
		.completed = given->quiet ? NULL : print_largest,
		.closed = given->quiet ? NULL : print_steps,
		.started = tell_sender,
		.context = &recording,
	};
	struct gg_progress_line line;
	int exit_status, status;

	options.command[invocation->operand_count] = NULL; /* ends the list */
	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "record",
		                    "Name it after the options: geiger record -- COMMAND.",
		                    "no command given");
	status = gg_cli_check_sampling(sampling, "record", true, invocation->error);
	if (status == 0)
		gg_cli_warn_of_variables();
	if (status == 0 && given->send.to != NULL)
		status = gg_record_sender_start(&recording.sender, &given->send, given->quiet,
		                                invocation->error);
	if (status < 0)
		return status;
	gg_cli_sampling_set_session(sampling, &options);
	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	options.progress = &line.progress;
	status = gg_session_run(&options, &exit_status, invocation->error);
	gg_record_sender_end(&recording.sender);
	gg_next_steps_done(&recording.steps);
	if (status < 0)
		/*
		 * The session chose 125, 126 or 127, as env(1) does; it is the exit status of this
		 * failure.
		 */
		invocation->failure_status = exit_status;
	return status < 0 ? status : exit_status;
}

static const struct gg_status_meaning exit_statuses[] = {
	{ "0 to 255", "the command's, and 128 + N if signal N ended it" },
	{ "125", "geiger failed before the command ran" },
	{ "126", "the command cannot be executed" },
	{ "127", "the command was not found" },
	{ NULL, NULL },
};

const struct gg_command gg_command_record = {
	.name = "record",
	.summary = "run a command and write a profile of its memory",
	.usage = "[OPTION]... [--] COMMAND [ARGUMENT]...",
	.details = "The profile holds the whole session: the command's process and all that\n"
		   "descend from it. The command's streams, terminal, signals and exit status\n"
		   "are untouched. When the command has ended and processes of its session\n"
		   "live on, so does the recording: Ctrl-C ends it. The sampling interval is in\n"
		   "bytes; in allocations with --scheme per-allocation, which is for counts:\n"
		   "bytes have a lower bound alone there. Managed memory of .NET is sampled by\n"
		   "its runtime, every 100 KiB.\n",
	.options = record_option_table,
	.options_size = sizeof(struct record_options),
	.option_defaults = &defaults,
	.option_mode = GG_OPTIONS_BEFORE_OPERANDS,
	.max_operands = -1,
	.failure_status = 125,
	.run = run_record,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE | GG_READS_DIRECTORIES | GG_READS_AGENT,
	.exit_statuses = exit_statuses,
};
