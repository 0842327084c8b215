/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach - `geiger attach`: brings the agent into a process that runs already.
 *
 * The command looks at the process first and touches nothing (attach/survey.h).  With --dry-run it
 * prints what it found and ends.  With --output a recorder follows the process, as `geiger record`
 * follows a command; otherwise the agent is left alone with its region.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attachment.h"
#include "attach/jvm_socket.h"
#include "attach/survey.h"
#include "base/json.h"
#include "cli/attach_dotnet.h"
#include "cli/attach_inside.h"
#include "cli/attach_jvm.h"
#include "cli/attach_leave.h"
#include "cli/attach_pid.h"
#include "cli/attach_result.h"
#include "cli/attach_run.h"
#include "cli/attach_several.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/sampling.h"
#include "cli/survey_text.h"
#include "record/session/launch.h"
#include "record/session/session.h"

static const struct gg_attach_options attach_defaults = {
	.sampling = GG_CLI_SAMPLING_DEFAULTS,
	.only = GG_ATTACH_ANY,
};

static const struct gg_option attach_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct gg_attach_options, output), "FILE",
	  "record a profile until Ctrl-C, then detach" },
	GG_OPTIONS_SHARED(gg_cli_sampling_options, offsetof(struct gg_attach_options, sampling)),
	{ "max-time", 0, GG_OPTION_TIME, offsetof(struct gg_attach_options, max_seconds), "TIME",
	  "with -o: end the recording after it: 90, 10m, 2h" },
	{ "no-symbols", 0, GG_OPTION_FLAG, offsetof(struct gg_attach_options, no_symbols), NULL,
	  "with -o: leave names to 'geiger symbolize'" },
	{ "dir", 0, GG_OPTION_TEXT, offsetof(struct gg_attach_options, directory), "DIR",
	  "without -o: of the region; default: GEIGER_DIR" },
	{ "all", 'a', GG_OPTION_TEXT, offsetof(struct gg_attach_options, all), "NAME",
	  "every process of this name" },
	{ "cgroup", 0, GG_OPTION_TEXT, offsetof(struct gg_attach_options, group), "PATH",
	  "every process of this control group, and below it" },
	{ "only", 0, GG_OPTION_CHOICE, offsetof(struct gg_attach_options, only),
	  "native|jvm|dotnet|python", "which memory to profile; default: all of it" },
	{ "from-inside", 0, GG_OPTION_FLAG, offsetof(struct gg_attach_options, from_inside), NULL,
	  "with -o: the process loads the agent by itself" },
	{ "dry-run", 'n', GG_OPTION_FLAG, offsetof(struct gg_attach_options, dry_run), NULL,
	  "only look: print how it would attach, or why not" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct gg_attach_options, json), NULL,
	  "print the result as JSON" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct gg_attach_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

/* --- the result --- */

static int print_survey(const struct gg_survey *survey, const struct gg_attach_options *given,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_json json = { .out = &out };

	if (given->json) {
		gg_attach_result_begin(&json);
		gg_survey_text_append_json(survey, &json);
		return gg_attach_result_print(&json, error);
	}
	gg_survey_text_append(survey, &out);
	fputs(gg_buf_text(&out), stdout);
	return 0;
}

static int print_result(struct gg_attach_run *run, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_json json = { .out = &out };

	gg_attach_result_await_java(run->survey, &run->attachment);
	if (run->given->json) {
		gg_attach_result_begin(&json);
		gg_attach_result_append_json(run->survey, &run->attachment, &json);
		return gg_attach_result_print(&json, error);
	}
	gg_attach_result_append(run->survey, &run->attachment, run->given->output == NULL, &out);
	if (!run->given->quiet)
		fputs(gg_buf_text(&out), stderr);
	return 0;
}

/* --- a recording --- */

/* Attaches, and prints how it went.  The session calls it when its recorder is ready. */
static int enter_for_session(const struct gg_launch_environment *settings, void *context,
                             struct gg_error *error)
{
	int status = gg_attach_run_enter(context, settings, error);

	return status < 0 ? status : print_result(context, error);
}

/* Attaches, records until a signal or the time limit, and detaches. */
static int record(struct gg_attach_run *run, struct gg_error *error)
{
	const struct gg_attach_options *given = run->given;
	char *command[] = { (char *)(uintptr_t)run->survey->facts.name, NULL };
	struct gg_progress_line line;
	struct gg_session_options options = {
		.command = command,
		.pid = run->survey->facts.pid,
		.enter = enter_for_session,
		.output = given->output,
		.max_seconds = given->max_seconds,
		.no_symbols = given->no_symbols,
		.quiet = given->quiet || given->json,
		.follows_dotnet = given->only == GG_ATTACH_ANY,
		.context = run,
		.progress = &line.progress,
	};
	int exit_status, status;

	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	gg_cli_sampling_set_session(&given->sampling, &options);
	status = gg_session_run(&options, &exit_status, error);
	if (status < 0)
		return status;
	gg_attach_leave(run->survey->facts.pid, run->directory, given->quiet);
	return exit_status;
}

/* --- one process --- */

/* A VM that cannot be traced may still load the adapter by itself. */
static void advise_socket(const struct gg_survey *survey, struct gg_error *error)
{
	struct gg_error ignored;
	size_t used = strlen(error->advice);

	if (gg_jvm_socket_check(&survey->facts, &ignored) == 0)
		snprintf(error->advice + used, sizeof(error->advice) - used,
		         "%sIt is a Java VM: --only jvm needs no right to trace, and shows its "
		         "objects.",
		         used > 0 ? " " : "");
}

static int attach_surveyed(struct gg_attach_run *run, struct gg_error *error)
{
	int status = run->given->dry_run ? print_survey(run->survey, run->given, error) : 0;

	if (status == 0) {
		status = gg_survey_refuse(run->survey, error);
		if (status < 0)
			advise_socket(run->survey, error);
	}
	if (status < 0 || run->given->dry_run)
		return status;
	if (run->given->output != NULL)
		return record(run, error);
	status = gg_attach_run_alone(run, error);
	return status < 0 ? status : print_result(run, error);
}

static int attach_one(pid_t pid, const char *agent, const struct gg_attach_options *given,
                      struct gg_error *error)
{
	struct gg_survey survey;
	struct gg_attach_run run = { .survey = &survey, .given = given, .agent = agent };
	int status = gg_survey_read(&survey, pid, error);

	if (status < 0)
		return status;
	status = attach_surveyed(&run, error);
	gg_survey_done(&survey);
	/* An error of the agent, which has the process's reasons, is no wrong request. */
	return status == -EINVAL && run.attachment.result.version != 0 ? -EIO : status;
}

/* --- the request --- */

static int check_several(const struct gg_invocation *invocation, struct gg_error *error)
{
	const struct gg_attach_options *given = invocation->options;

	if ((given->all != NULL) + (given->group != NULL) + (invocation->operand_count > 0) > 1)
		return gg_error_set(error, -EINVAL, "attach", NULL,
		                    "give a pid, --all NAME or --cgroup PATH");
	if (given->output != NULL || given->from_inside)
		return gg_error_set(error, -EINVAL, "attach: --output",
		                    "Attach without -o; geiger salvage reads all regions then.",
		                    "a recording follows one process");
	return 0;
}

static int check_request(struct gg_attach_options *given, struct gg_error *error)
{
	if (given->only == GG_ATTACH_PYTHON)
		return gg_error_set(error, -EINVAL, "attach: --only",
		                    "Leave it out; 'geiger report --only-python' shows its "
		                    "functions alone.",
		                    "an attach cannot sample the heaps of Python alone");
	if (given->only == GG_ATTACH_DOTNET && given->output == NULL && !given->dry_run)
		return gg_error_set(error, -EINVAL, "attach: --only dotnet", "Add -o FILE.",
		                    ".NET's memory can only be recorded");
	if (given->sampling.compat)
		return gg_error_set(error, -EINVAL, "attach: --compat", NULL,
		                    "only a process that geiger starts can have it");
	if (given->from_inside && (given->output == NULL || given->dry_run || given->json))
		return gg_error_set(error, -EINVAL, "attach: --from-inside",
		                    "Add -o FILE, without --dry-run and --json.",
		                    "it is for a recording");
	if (given->output == NULL && given->max_seconds > 0)
		return gg_error_set(error, -EINVAL, "attach: --max-time", "Add -o FILE.",
		                    "only a recording has an end");
	if (given->output != NULL && given->directory != NULL)
		return gg_error_set(error, -EINVAL, "attach: --dir", NULL,
		                    "a recording has a directory of its own");
	if (given->only == GG_ATTACH_JVM && gg_attach_jvm_check(given, error) < 0)
		return error->status;
	return gg_cli_check_sampling(&given->sampling, "attach", given->output != NULL, error);
}

static int run_attach(struct gg_invocation *invocation)
{
	struct gg_attach_options *given = invocation->options;
	bool is_group = given->all != NULL || given->group != NULL;
	struct gg_error *error = invocation->error;
	char agent[GG_LAUNCH_PATH_MAX] = "";
	int status = is_group ? check_several(invocation, error) : 0;
	int pid = is_group || status < 0 ? 0 : gg_attach_pid_read(invocation, "attach");

	if (pid < 0)
		return pid;
	if (status == 0)
		status = check_request(given, error);
	if (status == 0 && given->only == GG_ATTACH_DOTNET && !is_group)
		return gg_attach_dotnet(pid, given, error);
	if (status == 0 && !given->dry_run)
		status = gg_launch_find_agent(agent, error);
	if (status < 0)
		return status;
	if (is_group)
		return gg_attach_several(agent, given, error);
	if (given->only == GG_ATTACH_JVM)
		return gg_attach_jvm(pid, agent, given, error);
	return given->from_inside ? gg_attach_inside(pid, agent, given, error)
	                          : attach_one(pid, agent, given, error);
}

const struct gg_command gg_command_attach = {
	.name = "attach",
	.summary = "bring the agent into a process that runs already",
	.usage = "[OPTION]... PID | --all NAME | --cgroup PATH",
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
		"With --all or --cgroup it attaches to one process after the other, and prints a\n"
		"line for each. A process that an agent profiles already stays as it is; if any\n"
		"other cannot be attached to, the exit status is 1.\n"
		"\n"
		"With --only jvm a Java VM loads the adapter for its objects by its own socket.\n"
		"That needs no right to trace; a VM from JDK 21 on warns of it on its stderr.\n"
		"\n"
		"With -o the managed memory of a .NET process is recorded as well. --only dotnet\n"
		"records it alone, through the runtime's socket: nothing enters the process.\n"
		"\n"
		"Blocks that are older than the attach are not in the profile. With -n it looks\n"
		"only, and touches nothing. It works around no rule of the kernel.\n",
	.options = attach_option_table,
	.options_size = sizeof(struct gg_attach_options),
	.option_defaults = &attach_defaults,
	.max_operands = 1,
	.run = run_attach,
	.variables = GG_READS_DIRECTORIES | GG_READS_AGENT,
};
