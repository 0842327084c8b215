/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach - `geiger attach`: brings the agent into a process that runs already.
 *
 * The command looks at the process first and touches nothing (attach/survey.h).  With --dry-run it
 * prints what it found and ends.  With --output a recorder follows the process, as `geiger record`
 * follows a command; otherwise the agent is left alone with its region.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attachment.h"
#include "attach/detachment.h"
#include "attach/survey.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/attach_pid.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/sampling.h"
#include "cli/survey_text.h"
#include "record/session/launch.h"
#include "record/session/session.h"

struct attach_options {
	const char *output, *directory;
	double max_seconds;
	struct gg_cli_sampling sampling;
	bool no_symbols, dry_run, json, quiet;
};

static const struct attach_options attach_defaults = { .sampling = GG_CLI_SAMPLING_DEFAULTS };

static const struct gg_option attach_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct attach_options, output), "FILE",
	  "record a profile until Ctrl-C, then detach" },
	GG_OPTIONS_SHARED(gg_cli_sampling_options, offsetof(struct attach_options, sampling)),
	{ "max-time", 0, GG_OPTION_TIME, offsetof(struct attach_options, max_seconds), "TIME",
	  "with -o: end the recording after it: 90, 10m, 2h" },
	{ "no-symbols", 0, GG_OPTION_FLAG, offsetof(struct attach_options, no_symbols), NULL,
	  "with -o: leave names to 'geiger symbolize'" },
	{ "dir", 0, GG_OPTION_TEXT, offsetof(struct attach_options, directory), "DIRECTORY",
	  "without -o: of the region" },
	{ "dry-run", 'n', GG_OPTION_FLAG, offsetof(struct attach_options, dry_run), NULL,
	  "only look: print how it would attach, or why not" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct attach_options, json), NULL,
	  "print the result as JSON" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct attach_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

/* An attach under way. */
struct attach_run {
	const struct gg_survey *survey;
	const struct attach_options *given;
	char agent[GG_LAUNCH_PATH_MAX];
	struct gg_attachment attachment;
};

static int print_survey(const struct gg_survey *survey, const struct attach_options *given,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	if (given->json)
		gg_survey_text_append_json(survey, &out);
	else
		gg_survey_text_append(survey, &out);
	if (out.failed)
		return gg_error_memory(error, "attach");
	fwrite(out.data, 1, out.length, stdout);
	return 0;
}

/* --- the result --- */

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {
		[GG_ATTACH_SOURCE_NONE] = NULL,           [GG_ATTACH_SOURCE_GLIBC] = "glibc",
		[GG_ATTACH_SOURCE_JEMALLOC] = "jemalloc", [GG_ATTACH_SOURCE_TCMALLOC] = "tcmalloc",
		[GG_ATTACH_SOURCE_MIMALLOC] = "mimalloc",
	};

	return source < GG_COUNT(names) ? names[source] : NULL;
}

/* Tells how the process was entered, and what the agent does not see. */
static void print_text(const struct attach_run *run)
{
	const struct gg_attachment *attachment = &run->attachment;
	const struct gg_attach_result *result = &attachment->result;
	const char *source = source_name(result->in_use_source);
	char size[GG_SIZE_TEXT_MAX];
	int pid = (int)run->survey->facts.pid;

	fprintf(stderr,
	        "geiger: attached to process %d (%s): %" PRIu32 " slot%s lead to the agent\n", pid,
	        GG_PRINTABLE(run->survey->facts.name), result->slot_count,
	        result->slot_count == 1 ? "" : "s");
	fprintf(stderr, "geiger: waited %.1f ms for a thread %s, and borrowed it for %.1f ms\n",
	        (double)attachment->waited_ns * 1e-6,
	        attachment->was_idle ? "in a call that can be repeated"
	                             : "that entered the allocator",
	        (double)attachment->borrowed_ns * 1e-6);
	if (result->unwritable_count + result->foreign_count > 0)
		fprintf(stderr,
		        "geiger: %" PRIu32 " slots could not be written, and %" PRIu32
		        " lead to other functions: what is allocated through them is not seen\n",
		        result->unwritable_count, result->foreign_count);
	if (result->in_use_bytes >= 0 && source != NULL)
		fprintf(stderr, "geiger: %s is older and not seen, by the count of %s\n",
		        gg_size_format((double)result->in_use_bytes, size), source);
	if (run->given->output == NULL && result->region[0] != '\0')
		fprintf(stderr,
		        "geiger: its region is %s: 'geiger report %d' reads it, 'geiger detach %d' "
		        "ends it\n",
		        GG_PRINTABLE(result->region), pid, pid);
}

static int print_json(const struct attach_run *run, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const struct gg_attachment *attachment = &run->attachment;
	const struct gg_attach_result *result = &attachment->result;
	struct gg_json json = { .out = &out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_integer(&json, "pid", (uint64_t)run->survey->facts.pid);
	gg_json_text(&json, "region", result->region[0] != '\0' ? result->region : NULL);
	gg_json_text(&json, "way", attachment->was_idle ? "idle" : "entry");
	gg_json_bool(&json, "was_resident", attachment->was_resident);
	gg_json_integer(&json, "modules", result->module_count);
	gg_json_integer(&json, "slots", result->slot_count);
	gg_json_integer(&json, "unwritable_slots", result->unwritable_count);
	gg_json_integer(&json, "foreign_slots", result->foreign_count);
	if (result->in_use_bytes >= 0)
		gg_json_integer(&json, "older_bytes", (uint64_t)result->in_use_bytes);
	gg_json_text(&json, "older_by", source_name(result->in_use_source));
	gg_json_integer(&json, "waited_ns", attachment->waited_ns);
	gg_json_integer(&json, "borrowed_ns", attachment->borrowed_ns);
	gg_json_integer(&json, "others_stood_ns", attachment->longest_stand_ns);
	gg_json_integer(&json, "refused", attachment->refused_count);
	gg_json_bool(&json, "settled", attachment->is_settled);
	gg_json_close(&json);
	gg_buf_append_text(&out, "\n");
	if (out.failed)
		return gg_error_memory(error, "attach");
	fwrite(out.data, 1, out.length, stdout);
	return fflush(stdout) == 0 ? 0 : gg_error_set_errno(error, errno, "attach", NULL);
}

static int print_result(const struct attach_run *run, struct gg_error *error)
{
	if (run->given->json)
		return print_json(run, error);
	if (!run->given->quiet)
		print_text(run);
	return 0;
}

/* --- the attach --- */

/* Copies the agent's settings into a request. */
static int fill_request(struct gg_attach_request *request,
                        const struct gg_launch_environment *settings, struct gg_error *error)
{
	const char *text = NULL;
	size_t used = 0;

	while ((text = gg_launch_environment_next(settings, text)) != NULL) {
		size_t length = strlen(text);

		if (strncmp(text, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0)
			continue;
		if (strncmp(text, "GEIGER_DIR=", strlen("GEIGER_DIR=")) == 0) {
			text += strlen("GEIGER_DIR=");
			if (strlen(text) >= sizeof(request->directory))
				return gg_error_set(error, -EINVAL, text, NULL,
				                    "the directory's name is too long");
			memcpy(request->directory, text, strlen(text) + 1);
			continue;
		}
		if (strchr(text, '\n') != NULL || used + length + 2 > sizeof(request->options))
			return gg_error_set(error, -EINVAL, "attach", NULL,
			                    "a setting is too long, or has two lines");
		memcpy(request->options + used, text, length);
		used += length;
		request->options[used++] = '\n';
	}
	return 0;
}

/* Attaches, and prints how it went.  The session calls it when its recorder is ready. */
static int enter(const struct gg_launch_environment *settings, void *context,
                 struct gg_error *error)
{
	struct attach_run *run = context;
	struct gg_attachment_options options = { .agent = run->agent };
	int status = fill_request(&options.request, settings, error);

	if (status == 0)
		status = gg_attachment_run(&run->attachment, run->survey, &options, error);
	return status < 0 ? status : print_result(run, error);
}

/* Attaches, and leaves the agent alone with its region. */
static int attach(struct attach_run *run, struct gg_error *error)
{
	struct gg_launch_settings settings = {
		.agent = run->agent,
		.directory = run->given->directory,
	};
	struct gg_launch_environment environment;
	int status;

	gg_cli_sampling_set_launch(&run->given->sampling, &settings);
	status = gg_launch_environment(&environment, &settings, error);
	if (status < 0)
		return status;
	status = enter(&environment, run, error);
	gg_launch_environment_done(&environment);
	return status;
}

/* Attaches, records until a signal or the time limit, and detaches. */
static int record(struct attach_run *run, struct gg_error *error)
{
	const struct attach_options *given = run->given;
	char *command[] = { (char *)(uintptr_t)run->survey->facts.name, NULL };
	struct gg_progress_line line;
	struct gg_session_options options = {
		.command = command,
		.pid = run->survey->facts.pid,
		.enter = enter,
		.output = given->output,
		.max_seconds = given->max_seconds,
		.no_symbols = given->no_symbols,
		.quiet = given->quiet || given->json,
		.context = run,
		.progress = &line.progress,
	};
	struct gg_detachment detachment;
	int exit_status, status;

	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	gg_cli_sampling_set_session(&given->sampling, &options);
	status = gg_session_run(&options, &exit_status, error);
	if (status < 0)
		return status;
	gg_detachment_wait(&detachment, run->survey->facts.pid);
	if (detachment.is_pending && !given->quiet)
		fprintf(stderr,
		        "geiger: process %d is idle: the agent goes when the process next allocates\n",
		        (int)run->survey->facts.pid);
	return exit_status;
}

/* --- the request --- */

static int check_request(const struct gg_survey *survey, const struct attach_options *given,
                         struct gg_error *error)
{
	if (given->sampling.compat)
		return gg_error_set(error, -EINVAL, "attach: --compat", NULL,
		                    "only a process that geiger starts can have it");
	if (given->output == NULL && given->max_seconds > 0)
		return gg_error_set(error, -EINVAL, "attach: --max-time", "Add -o FILE.",
		                    "only a recording has an end");
	if (given->output != NULL && given->directory != NULL)
		return gg_error_set(error, -EINVAL, "attach: --dir", NULL,
		                    "a recording has a directory of its own");
	if (given->output != NULL && survey->facts.has_other_mounts)
		return gg_error_set(error, -ENOTSUP, "attach: --output",
		                    "Attach without -o, then: geiger control PID snapshot FILE.",
		                    "its container cannot reach the recorder's directory");
	return gg_cli_check_sampling(&given->sampling, "attach", error);
}

static int run_attach(struct gg_invocation *invocation)
{
	const struct attach_options *given = invocation->options;
	struct gg_survey survey;
	struct attach_run run = { .survey = &survey, .given = given };
	int pid = gg_attach_pid_read(invocation), status;

	if (pid < 0)
		return pid;
	status = gg_survey_read(&survey, pid, invocation->error);
	if (status < 0)
		return status;
	if (given->dry_run)
		status = print_survey(&survey, given, invocation->error);
	else
		status = check_request(&survey, given, invocation->error);
	if (status == 0)
		status = gg_survey_refuse(&survey, invocation->error);
	if (status == 0 && !given->dry_run)
		status = gg_launch_find_agent(run.agent, invocation->error);
	if (status == 0 && !given->dry_run)
		status = given->output != NULL ? record(&run, invocation->error)
		                               : attach(&run, invocation->error);
	gg_survey_done(&survey);
	return status == -EINVAL && pid > 0 && run.attachment.result.version != 0 ? -EIO : status;
}

const struct gg_command gg_command_attach = {
	.name = "attach",
	.summary = "bring the agent into a process that runs already",
	.usage = "[OPTION]... PID",
	.details =
		"Waits until a thread of the process enters malloc, calloc, realloc or free, with\n"
		"nothing on its stack that forbids it, and loads the agent in that thread. All\n"
		"others run on. In an idle process it takes a thread from a system call that can\n"
		"be repeated. After 10 s without either, nothing has changed.\n"
		"\n"
		"With -o a recorder follows the process until Ctrl-C, and then detaches. Without\n"
		"-o the agent keeps a region, which 'geiger report PID', 'control', 'serve' and\n"
		"'salvage' read, until 'geiger detach PID'.\n"
		"\n"
		"Blocks that are older than the attach are not in the profile. With -n it looks\n"
		"only, and touches nothing. It works around no rule of the kernel.\n",
	.options = attach_option_table,
	.options_size = sizeof(struct attach_options),
	.option_defaults = &attach_defaults,
	.max_operands = 1,
	.run = run_attach,
	.variables = GG_READS_DIRECTORIES | GG_READS_AGENT,
};
