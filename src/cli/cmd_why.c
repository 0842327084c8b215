/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_why - `geiger why`: divides the RSS of processes into rows that add up to it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "cli/query_options.h"
#include "query/why_profile.h"
#include "record/diagnose/preloadable.h"
#include "record/look/look.h"
#include "record/process/proc_file.h"
#include "report/report_why.h"

struct why_options {
	struct gg_report_options common;
	int moment; /* enum gg_why_moment */
	bool all;
};

static int explain_absence(const struct gg_model *model, const struct gg_invocation *invocation)
{
	const struct why_options *options = invocation->options;

	if (!gg_model_has_times(model))
		return gg_error_set(invocation->error, -ENOTSUP, "why",
		                    "Ask the profiles that it was made of.",
		                    "this profile has no look at memory, because it was merged or "
		                    "imported");
	if (options->common.process != 0)
		return gg_error_set(invocation->error, -ENOTSUP, "why",
		                    "'geiger report --by process' lists the processes.",
		                    "the profile has no look at the memory of that process");
	return gg_error_set(invocation->error, -ENOTSUP, "why",
	                    "Record it again: old profiles and short runs have none.",
	                    "the profile has no look at the memory of its processes");
}

static int print_tables(const struct gg_why_list *list, const struct gg_model *model,
                        const struct gg_invocation *invocation)
{
	const struct why_options *options = invocation->options;
	struct gg_report report = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	if (list->table_count == 0)
		return explain_absence(model, invocation);
	gg_cli_fit_report(&options->common, &invocation->style, &report);
	report.limit = options->all ? 0 : 1;
	if (options->common.json)
		gg_report_why_json(&report, list, &out);
	else
		gg_report_why_text(&report, list, &out);
	return gg_cli_print(&out, options->common.no_pager || options->common.json,
	                    invocation->error);
}

/* Says how the process can get an agent, or why it cannot. */
static const char *put_reason(struct gg_buf *text, pid_t pid)
{
	char path[32], why[GG_PRELOADABLE_WHY_MAX];
	const char *advice;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	gg_buf_append_text(text, "no agent is inside the process, so its heap is one row; ");
	if (gg_preloadable_of(path, why) == GG_PRELOADABLE_ALL) {
		gg_buf_printf(text, "geiger attach %d brings it in", (int)pid);
		return gg_buf_text(text);
	}
	advice = gg_preloadable_advice(path);
	gg_buf_append_text(text, why);
	if (advice != NULL)
		gg_buf_printf(text, ": %s", advice);
	return gg_buf_text(text);
}

/* A profile of a process without the agent: it has a look at the mappings alone. */
static int look_at(struct gg_profile **ret_profile, pid_t pid, struct gg_error *error)
{
	const struct gg_profile_session session = { .start_wall_ns = gg_clock_wall_ns() };
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf reason = { 0 };
	struct gg_profile_process process = { .pid = (uint32_t)pid, .end_ns = GG_TIME_NONE };
	struct gg_look look;
	struct gg_profile_look_parts parts = { 0 };
	uint32_t id;
	int status = gg_look_take(&look, pid, &(struct gg_look_options){ 0 }, error);

	if (status == -ESRCH || status == -ENOENT)
		return gg_error_set(error, status, "why", "Give the id of a program that runs.",
		                    "process %d has no memory: it has ended, or it is the kernel's",
		                    (int)pid);
	if (status < 0)
		return status;
	if (gg_proc_file_read_command(&command, (uint32_t)pid))
		process.command = gg_buf_text(&command);
	parts.mappings = look.mappings.list.items;
	parts.mapping_count = look.mappings.list.count;
	parts.totals = look.blocks.totals.items;
	parts.total_count = look.blocks.totals.count;
	status = gg_profile_create(ret_profile, NULL, error);
	if (status == 0) {
		status = gg_profile_set_session(*ret_profile, &session, error);
		if (status == 0)
			status = gg_profile_add_process(*ret_profile, &process, &id, error);
		if (status == 0) {
			look.record.process = id;
			look.record.reason = put_reason(&reason, pid);
			status = gg_profile_put_look(*ret_profile, &look.record, &parts, error);
		}
		if (status < 0)
			gg_profile_close(*ret_profile);
	}
	gg_look_done(&look);
	return status;
}

/* Opens a profile, a region, the region of a process, or a look at a process without one. */
static int open_operand(struct gg_profile **ret_profile, const char *operand,
                        const struct gg_progress *progress, struct gg_error *error)
{
	int status = gg_cli_open_profile(ret_profile, operand, progress, error);

	if (status == -ENOENT && gg_cli_is_pid(operand))
		status = look_at(ret_profile, (pid_t)strtol(operand, NULL, 10), error);
	return status;
}

static int load(struct gg_model **ret_model, const struct gg_invocation *invocation)
{
	struct gg_progress_line line;
	struct gg_profile *profile;
	int status;

	gg_progress_line_init(&line);
	status = open_operand(&profile, invocation->operands[0], &line.progress, invocation->error);
	if (status == 0) {
		status = gg_cli_load_opened(ret_model, profile, &(struct gg_frame_selection){ 0 },
		                            &line.progress, invocation->error);
		gg_profile_close(profile);
	}
	gg_progress_line_end(&line);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	struct why_options *options = invocation->options;
	struct gg_why_options why = { 0 };
	struct gg_why_list list;
	struct gg_query query;
	struct gg_model *model;
	char unused[128]; /* take_window() needs it, but a look has no window */
	int status = gg_cli_take_window(invocation, &options->common, "why", unused);

	if (status == 0)
		status = gg_cli_make_query(&options->common, "why", &query, invocation->error);
	if (status == 0)
		status = load(&model, invocation);
	if (status < 0)
		return status;
	why.pid = query.pid;
	why.moment = (enum gg_why_moment)options->moment;
	why.confidence = options->common.confidence;
	status = gg_why_of(&list, model, &why, invocation->error);
	if (status == 0) {
		status = print_tables(&list, model, invocation);
		gg_why_list_done(&list);
	}
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct why_options, field)

static const struct gg_option options[] = {
	{ "moment", 0, GG_OPTION_CHOICE, AT(moment), "last|peak",
	  "the last look, or the one with the largest RSS" },
	{ "all", 'a', GG_OPTION_FLAG, AT(all), NULL,
	  "a table for each process, the largest first" },
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_why = {
	.name = "why",
	.summary = "why RSS is larger than the heap, row by row",
	.usage = "PROFILE|PID [OPTION]...",
	.details =
		"Divides the RSS of a process into rows that add up to it: live memory, free\n"
		"memory that live blocks keep, free pages, stacks, files, and so on.  A row has\n"
		"its confidence interval unless it is exact.  Of several processes, the one with\n"
		"the largest RSS has a table.\n"
		"\n"
		"  geiger why redis.geiger\n"
		"  geiger why redis.geiger --moment peak\n",
	.options = options,
	.options_size = sizeof(struct why_options),
	.option_defaults = &(const struct why_options){ .common = { .confidence = 0.95 } },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
};
