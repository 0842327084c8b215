/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_detach - `geiger detach`: takes the agent out of a process to which it was attached.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "attach/detachment.h"
#include "attach/forked_agents.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/attach_pid.h"
#include "cli/command.h"
#include "record/regions/region_list.h"

struct detach_options {
	bool all, json, quiet;
};

static const struct gg_option detach_option_table[] = {
	{ "all", 'a', GG_OPTION_FLAG, offsetof(struct detach_options, all), NULL,
	  "every process to which an agent is attached" },
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct detach_options, json), NULL,
	  "print the result as JSON" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct detach_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

/* --- the result --- */

/* The results of one or several processes, as they are printed. */
struct detach_report {
	const struct detach_options *given;
	struct gg_json json;
	struct gg_buf out;
	GG_ARRAY(pid_t) pids;
};

static void add_result(struct detach_report *report, pid_t pid,
                       const struct gg_detachment *detachment)
{
	if (report->given->json) {
		gg_json_open(&report->json, NULL, '{');
		gg_json_integer(&report->json, "pid", (uint64_t)pid);
		gg_json_bool(&report->json, "detached", !detachment->is_pending);
		gg_json_bool(&report->json, "pending", detachment->is_pending);
		gg_json_text(&report->json, "way", detachment->was_entered ? "entered" : "request");
		gg_json_integer(&report->json, "waited_ns", detachment->waited_ns);
		gg_json_integer(&report->json, "borrowed_ns", detachment->borrowed_ns);
		gg_json_close(&report->json);
	} else if (!report->given->quiet && !detachment->is_pending) {
		fprintf(stderr, "geiger: detached from process %d after %.1f ms%s\n", (int)pid,
		        (double)detachment->waited_ns * 1e-6,
		        detachment->was_entered ? ", through a thread of it" : "");
	}
}

/* Detaches one process and adds the result. */
static int detach_one(struct detach_report *report, pid_t pid, struct gg_error *error)
{
	struct gg_detachment detachment;
	char name[32];
	int status = gg_detachment_run(&detachment, pid, error);

	if (status < 0)
		return status;
	add_result(report, pid, &detachment);
	if (!detachment.is_pending)
		return 0;
	snprintf(name, sizeof(name), "%d", (int)pid);
	return gg_error_set(error, -EAGAIN, name, "The agent goes when the process next allocates.",
	                    "not detached yet: %s", detachment.why_pending);
}

/* --- all --- */

static int note_pid(const struct gg_listed_region *file, void *context)
{
	struct detach_report *report = context;

	if (file->kind != GG_LISTED_REGION_WHOLE || !file->is_alive)
		return 0;
	for (size_t i = 0; i < report->pids.count; i++)
		if (report->pids.items[i] == (pid_t)file->pid)
			return 0;
	return gg_array_push(&report->pids, (pid_t)file->pid) ? 0 : -ENOMEM;
}

/* Adds forked processes that have recorded nothing yet, whose regions are those of others. */
static int note_forked(struct detach_report *report, struct gg_error *error)
{
	struct gg_forked_agents found = { 0 };
	int status = gg_forked_agents_find(&found, NULL, error);

	for (size_t i = 0; status == 0 && i < found.pids.count; i++)
		if (!gg_array_push(&report->pids, found.pids.items[i]))
			status = gg_error_memory(error, "detach");
	gg_forked_agents_done(&found);
	return status;
}

/* Processes that were started with the agent are left as they are. */
static int detach_all(struct detach_report *report, struct gg_error *error)
{
	int status = gg_region_list_each(NULL, 0, note_pid, report, error), first = 0;
	struct gg_error one = { 0 };

	if (status == 0)
		status = note_forked(report, error);
	for (size_t i = 0; status == 0 && i < report->pids.count; i++) {
		int result = detach_one(report, report->pids.items[i], &one);

		if (result == 0 || result == -EPERM || result == -ENOENT || result == -ESRCH)
			continue;
		if (first == 0 && error != NULL)
			*error = one;
		first = first == 0 ? result : first;
	}
	return status < 0 ? status : first;
}

static int run_detach(struct gg_invocation *invocation)
{
	const struct detach_options *given = invocation->options;
	struct detach_report report = { .given = given };
	int pid = given->all ? 0 : gg_attach_pid_read(invocation, "detach"), status;

	if (pid < 0)
		return pid;
	if (given->all && invocation->operand_count > 0)
		return gg_error_set(invocation->error, -EINVAL, "detach: --all", NULL,
		                    "give a pid or --all");
	report.json.out = &report.out;
	gg_json_open(&report.json, NULL, '{');
	gg_json_integer(&report.json, "version", 1);
	gg_json_open(&report.json, "processes", '[');
	status = given->all ? detach_all(&report, invocation->error)
	                    : detach_one(&report, pid, invocation->error);
	gg_json_close(&report.json);
	gg_json_close(&report.json);
	gg_buf_append_text(&report.out, "\n");
	if (given->json)
		fputs(gg_buf_text(&report.out), stdout);
	gg_array_done(&report.pids);
	gg_buf_done(&report.out);
	return status;
}

const struct gg_command gg_command_detach = {
	.name = "detach",
	.summary = "take the agent out of a process to which it was attached",
	.usage = "[OPTION]... PID",
	.details =
		"Requests it in the region, and the agent takes its hooks away when a thread next\n"
		"comes by. If all threads sleep, or after 2 s, geiger enters the process as for\n"
		"an attach.\n"
		"Where it cannot, the request stays, and the exit status is 1. The agent's code\n"
		"stays loaded; a later attach begins a new region.\n",
	.options = detach_option_table,
	.options_size = sizeof(struct detach_options),
	.max_operands = 1,
	.run = run_detach,
	.variables = GG_READS_DIRECTORIES,
};
