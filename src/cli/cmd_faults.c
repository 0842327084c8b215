/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_faults - `geiger faults`: the memory errors that guarded blocks have shown.
 */
#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/pager.h"
#include "cli/query_options.h"
#include "report/report_faults.h"

struct faults_options {
	struct gg_report_options common;
	int format;
	bool fail;
};

enum { FORMAT_TEXT, FORMAT_JSON, STATUS_FAULTS = 3, STATUS_UNGUARDED = 4 };

static int print_faults(const struct gg_model *model, uint32_t pid,
                        const struct gg_invocation *invocation)
{
	const struct faults_options *options = invocation->options;
	bool is_json = options->common.json || options->format == FORMAT_JSON;
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_report report = { .model = model };

	gg_cli_fit_report(&options->common, &invocation->style, &report);
	if (is_json)
		gg_report_faults_json(&report, pid, &out);
	else
		gg_report_faults_text(&report, pid, &out);
	return gg_cli_print(&out, options->common.no_pager || is_json, invocation->error);
}

static int run(struct gg_invocation *invocation)
{
	struct faults_options *options = invocation->options;
	struct gg_model *model;
	struct gg_query query;
	char unused[128]; /* gg_cli_take_window() needs it */
	int verdict, status = gg_cli_take_window(invocation, &options->common, "faults", unused);

	if (status == 0)
		status = gg_cli_make_query(&options->common, "faults", &query, invocation->error);
	if (status == 0)
		status = gg_cli_load_named(&model, invocation->operands[0], &options->common,
		                           invocation->error);
	if (status < 0)
		return status;
	verdict = gg_report_count_faults(model, query.pid) > 0     ? STATUS_FAULTS
	          : gg_report_count_guarded(model, query.pid) == 0 ? STATUS_UNGUARDED
	                                                           : 0;
	status = print_faults(model, query.pid, invocation);
	gg_model_free(model);
	return status == 0 && options->fail ? verdict : status;
}

#define AT(field) offsetof(struct faults_options, field)

static const struct gg_option options[] = {
	{ "format", 0, GG_OPTION_CHOICE, AT(format), "text|json", "how to print them" },
	{ "fail", 0, GG_OPTION_FLAG, AT(fail), NULL,
	  "exit with 3 if any, with 4 if nothing was guarded" },
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_name_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success; with --fail, there are no memory errors" },
	{ "1", "the profile could not be read" },
	{ "2", "the request was wrong" },
	{ "3", "with --fail: there are memory errors" },
	{ "4", "with --fail: no block was guarded" },
	{ NULL, NULL },
};

const struct gg_command gg_command_faults = {
	.name = "faults",
	.summary = "memory errors that guarded blocks have shown",
	.usage = "PROFILE|PID [OPTION]...",
	.details = "Lists uses after free, accesses before and behind blocks, double and invalid\n"
		   "frees, each with the stacks of the access, the free and the allocation.  They\n"
		   "are found in programs that run with 'geiger record --malloc --guard'.\n"
		   "\n"
		   "  geiger record --malloc --guard ./server\n"
		   "  geiger faults server.geiger\n",
	.options = options,
	.options_size = sizeof(struct faults_options),
	.option_defaults = &(const struct faults_options){ .common = { .confidence = 0.95 } },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
