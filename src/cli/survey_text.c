/* SPDX-License-Identifier: Apache-2.0 */
/* survey_text - formats a survey (cli/survey_text.h). */
#include "cli/survey_text.h"

#include <inttypes.h>

#include "base/printable.h"

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

void gg_survey_text_append(const struct gg_survey *survey, struct gg_buf *out)
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
	else if (facts->seccomp_mode == 2)
		gg_buf_append_text(out,
		                   "seccomp      filters of its own; geiger reads them first\n");
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

void gg_survey_text_append_json(const struct gg_survey *survey, struct gg_json *json)
{
	static const char *const agents[] = {
		[GG_SURVEY_AGENT_ABSENT] = "absent",
		[GG_SURVEY_AGENT_RESIDENT] = "resident",
		[GG_SURVEY_AGENT_RECORDING] = "recording",
	};
	const struct gg_process_facts *facts = &survey->facts;
	bool has_allocator = survey->has_modules && survey->allocator != NULL;

	gg_json_integer(json, "pid", (uint64_t)facts->pid);
	gg_json_text(json, "name", facts->name);
	gg_json_text(json, "program", facts->program[0] != '\0' ? facts->program : NULL);
	gg_json_text(json, "state", state_text(facts));
	gg_json_integer(json, "threads", facts->thread_count);
	if (survey->glibc_minor >= 0)
		gg_json_integer(json, "glibc_minor", (uint64_t)survey->glibc_minor);
	gg_json_text(json, "allocator", has_allocator ? survey->allocator : NULL);
	gg_json_text(json, "allocator_file",
	             has_allocator ? survey->modules.list.items[survey->allocator_module].path
	                           : NULL);
	gg_json_text(json, "agent", survey->has_modules ? agents[survey->agent] : NULL);
	gg_json_bool(json, "other_mounts", facts->has_other_mounts);
	gg_json_bool(json, "other_pids", facts->has_other_pids);
	gg_json_bool(json, "other_users", facts->has_other_users);
	gg_json_bool(json, "attachable", survey->obstacle_count == 0);
	gg_json_open(json, "obstacles", '[');
	for (uint32_t i = 0; i < survey->obstacle_count; i++) {
		gg_json_open(json, NULL, '{');
		gg_json_text(json, "code", survey->obstacles[i].code);
		gg_json_text(json, "reason", survey->obstacles[i].reason);
		gg_json_text(json, "advice",
		             survey->obstacles[i].advice[0] != '\0' ? survey->obstacles[i].advice
		                                                    : NULL);
		gg_json_close(json);
	}
	gg_json_close(json);
}
