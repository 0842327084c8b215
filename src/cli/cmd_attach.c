/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach - `geiger attach`: brings the agent into a process that runs already.
 *
 * The command looks at the process first and touches nothing (attach/survey.h).  With --dry-run it
 * prints what it found and ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "attach/survey.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/command.h"
#include "record/session/launch.h"

struct attach_options {
	bool dry_run, json;
};

static const struct gg_option attach_option_table[] = {
	{ "dry-run", 'n', GG_OPTION_FLAG, offsetof(struct attach_options, dry_run), NULL,
	  "only look: print how it would attach, or why not" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct attach_options, json), NULL,
	  "print what was found as JSON" },
	GG_OPTIONS_END,
};

/* --- what was found --- */

static const char *state_text(const struct gg_process_facts *facts)
{
	switch (facts->state) {
	case 'T':
		return "stopped";
	case 't':
		return "stopped by a tracer";
	case 'Z':
	case 'X':
		return "ended";
	case 'D':
		return "waiting for a device";
	default:
		return facts->is_frozen ? "frozen" : "running";
	}
}

static void append_namespaces(const struct gg_process_facts *facts, struct gg_buf *out)
{
	const char *separator = "";

	if (!facts->has_other_mounts && !facts->has_other_pids && !facts->has_other_users)
		return;
	gg_buf_append_text(out, "namespaces   others than here: ");
	if (facts->has_other_mounts) {
		gg_buf_append_text(out, "mounts");
		separator = ", ";
	}
	if (facts->has_other_pids) {
		gg_buf_printf(out, "%spids (it is %d there)", separator, (int)facts->inner_pid);
		separator = ", ";
	}
	if (facts->has_other_users)
		gg_buf_printf(out, "%susers", separator);
	gg_buf_append_text(out, "\n");
}

static void append_modules(const struct gg_survey *survey, struct gg_buf *out)
{
	static const char *const agents[] = {
		[GG_SURVEY_AGENT_ABSENT] = NULL,
		[GG_SURVEY_AGENT_RESIDENT] = "loaded by an earlier attach",
		[GG_SURVEY_AGENT_RECORDING] = "recording",
	};

	if (!survey->has_modules)
		return;
	if (survey->glibc_minor >= 0)
		gg_buf_printf(out, "libc         glibc 2.%d\n", survey->glibc_minor);
	if (survey->allocator != NULL)
		gg_buf_printf(
			out, "allocator    %s, in %s\n", survey->allocator,
			GG_PRINTABLE(survey->modules.list.items[survey->allocator_module].path));
	if (agents[survey->agent] != NULL)
		gg_buf_printf(out, "agent        %s\n", agents[survey->agent]);
}

static void append_text(const struct gg_survey *survey, struct gg_buf *out)
{
	const struct gg_process_facts *facts = &survey->facts;

	gg_buf_printf(out, "process      %d (%s), %s, %" PRIu32 " thread%s\n", (int)facts->pid,
	              GG_PRINTABLE(facts->name), state_text(facts), facts->thread_count,
	              facts->thread_count == 1 ? "" : "s");
	if (facts->program[0] != '\0')
		gg_buf_printf(out, "program      %s\n", GG_PRINTABLE(facts->program));
	append_modules(survey, out);
	append_namespaces(facts, out);
	if (facts->seccomp_mode > 0 && facts->has_inherited_filters)
		gg_buf_append_text(out, "seccomp      filters that were there when it began\n");
	for (uint32_t i = 0; i < survey->obstacle_count; i++)
		gg_buf_printf(out, "obstacle     %s%s%s\n",
		              GG_PRINTABLE(survey->obstacles[i].reason),
		              survey->obstacles[i].advice[0] != '\0' ? ". " : "",
		              survey->obstacles[i].advice);
	if (survey->obstacle_count == 0)
		gg_buf_append_text(
			out, "way          a thread of the program loads the agent when it next "
			     "enters malloc,\n             calloc, realloc or free; the others run "
			     "on\n");
}

static void append_json(const struct gg_survey *survey, struct gg_buf *out)
{
	static const char *const agents[] = {
		[GG_SURVEY_AGENT_ABSENT] = "absent",
		[GG_SURVEY_AGENT_RESIDENT] = "resident",
		[GG_SURVEY_AGENT_RECORDING] = "recording",
	};
	const struct gg_process_facts *facts = &survey->facts;
	struct gg_json json = { .out = out };
	bool has_allocator = survey->has_modules && survey->allocator != NULL;

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_integer(&json, "pid", (uint64_t)facts->pid);
	gg_json_text(&json, "name", facts->name);
	gg_json_text(&json, "program", facts->program[0] != '\0' ? facts->program : NULL);
	gg_json_text(&json, "state", state_text(facts));
	gg_json_integer(&json, "threads", facts->thread_count);
	if (survey->glibc_minor >= 0)
		gg_json_integer(&json, "glibc_minor", (uint64_t)survey->glibc_minor);
	gg_json_text(&json, "allocator", has_allocator ? survey->allocator : NULL);
	gg_json_text(&json, "allocator_file",
	             has_allocator ? survey->modules.list.items[survey->allocator_module].path
	                           : NULL);
	gg_json_text(&json, "agent", survey->has_modules ? agents[survey->agent] : NULL);
	gg_json_bool(&json, "other_mounts", facts->has_other_mounts);
	gg_json_bool(&json, "other_pids", facts->has_other_pids);
	gg_json_bool(&json, "other_users", facts->has_other_users);
	gg_json_bool(&json, "attachable", survey->obstacle_count == 0);
	gg_json_open(&json, "obstacles", '[');
	for (uint32_t i = 0; i < survey->obstacle_count; i++) {
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "code", survey->obstacles[i].code);
		gg_json_text(&json, "reason", survey->obstacles[i].reason);
		gg_json_text(&json, "advice",
		             survey->obstacles[i].advice[0] != '\0' ? survey->obstacles[i].advice
		                                                    : NULL);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

static int print_survey(const struct gg_survey *survey, const struct attach_options *given,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	if (given->json)
		append_json(survey, &out);
	else
		append_text(survey, &out);
	if (out.failed)
		return gg_error_memory(error, "attach");
	fwrite(out.data, 1, out.length, stdout);
	return 0;
}

/* --- the request --- */

/* Reads the operand.  Returns the pid, or -EINVAL. */
static int read_pid(const struct gg_invocation *invocation)
{
	const char *text;
	char *end;
	long pid;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "attach", "geiger attach PID",
		                    "tell which process");
	text = invocation->operands[0];
	errno = 0;
	pid = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || pid < 1 || pid > INT32_MAX)
		return gg_error_set(invocation->error, -EINVAL, "attach", "geiger attach PID",
		                    "'%s' is not a pid", text);
	return (int)pid;
}

static int run_attach(struct gg_invocation *invocation)
{
	const struct attach_options *given = invocation->options;
	struct gg_survey survey;
	int pid = read_pid(invocation), status;

	if (pid < 0)
		return pid;
	status = gg_survey_read(&survey, pid, invocation->error);
	if (status < 0)
		return status;
	if (given->dry_run)
		status = print_survey(&survey, given, invocation->error);
	if (status == 0)
		status = gg_survey_refuse(&survey, invocation->error);
	if (status == 0 && !given->dry_run)
		status = gg_error_set(invocation->error, -ENOTSUP, invocation->operands[0],
		                      "Give --dry-run.", "this version only looks");
	gg_survey_done(&survey);
	return status;
}

const struct gg_command gg_command_attach = {
	.name = "attach",
	.summary = "look if the agent can enter a process that runs already",
	.usage = "-n [OPTION]... PID",
	.details =
		"Looks at the process and touches nothing: its program, libc and allocator, its\n"
		"state and namespaces, who traces it, and what the kernel's settings allow.\n"
		"Prints how geiger would attach, or each obstacle with its remedy. It works\n"
		"around no rule of the kernel.\n",
	.options = attach_option_table,
	.options_size = sizeof(struct attach_options),
	.max_operands = 1,
	.run = run_attach,
};
