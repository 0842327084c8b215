/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_leaks - `geiger leaks`: the memory that was live at the end or at a moment, and whether it
 * grows.
 */
#include <errno.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/metric.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "cli/query_options.h"
#include "query/query.h"
#include "report/report.h"
#include "report/report_leaks.h"

enum { EXIT_ABOVE = 3 };

/*
 * Stands for an absent --fail-above or --limit, because every number that a user would give is a
 * limit.
 */
#define NO_LIMIT UINT64_MAX

struct leaks_options {
	struct gg_report_options common;
	const char *suppressions;
	uint64_t fail_above;
	bool uncollected;
};

/* People get the 20 largest stacks and scripts get 1000, unless --limit gives another number. */
static size_t limit_of(const struct leaks_options *options)
{
	if (options->common.limit != NO_LIMIT)
		return options->common.limit;
	return options->common.json ? 1000 : 20;
}

/* The moment of --at as gg_leaks_run() wants it: 0 is the end. */
static int64_t moment_of(const struct leaks_options *options, const struct gg_query *query)
{
	if (options->common.at == NULL)
		return 0;
	return query->to_ns > 0 ? query->to_ns : 1;
}

/*
 * True if the program freed nearly all that was live at the peak.  Leaks show the memory that each
 * process left.  The last process may have left little while earlier ones left much, so the advice
 * to look at the peak needs both conditions.
 */
static bool was_given_back(const struct gg_report_summary *summary)
{
	return gg_tally_estimate(&summary->left, GG_BYTES).value <
	       GG_QUERY_LIVE_SHARE * gg_tally_estimate(&summary->peak, GG_BYTES).value;
}

static int print_leaks(const struct gg_model *model, const struct gg_query *query,
                       const struct gg_suppressions *suppressions,
                       const struct gg_invocation *invocation)
{
	const struct leaks_options *options = invocation->options;
	const struct gg_leaks_query leaks_query = { .pid = query->pid,
		                                    .confidence = options->common.confidence,
		                                    .suppressions = suppressions,
		                                    .limit = limit_of(options),
		                                    .at_ns = moment_of(options, query),
		                                    .counts_uncollected = options->uncollected };
	struct gg_leak_gate gate = { .is_asked = options->fail_above != NO_LIMIT,
		                     .limit_bytes = options->fail_above };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_report report = { .model = model, .limit = leaks_query.limit };
	struct gg_leaks *leaks = NULL;
	bool is_given_back = false;
	struct gg_head head;
	int status;

	gg_cli_begin_head(&head, model, query);
	status = gg_leaks_run(model, &leaks_query, &leaks, invocation->error);
	if (status == 0 && options->common.at == NULL && !options->common.json)
		status = gg_query_is_given_back(model, query->pid, &is_given_back,
		                                invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	if (status < 0) {
		gg_leaks_free(leaks);
		return status;
	}
	/* Only the lower bound counts: chance alone must not fail a build. */
	gate.has_failed = gate.is_asked && leaks->old_bytes.low > (double)gate.limit_bytes;
	report.summary = &head.summary;
	is_given_back = is_given_back && was_given_back(&head.summary);
	gg_cli_fit_report(&options->common, &invocation->style, &report);
	if (options->common.json)
		gg_report_leaks_json(&report, leaks, &gate, &out);
	else
		gg_report_leaks_text(&report, leaks, &gate,
		                     is_given_back ? head.summary.peak_ns : 0, &out);
	gg_leaks_free(leaks);
	status = gg_cli_print(&out, options->common.no_pager || options->common.json,
	                      invocation->error);
	return status == 0 && gate.has_failed ? EXIT_ABOVE : status;
}

static int run(struct gg_invocation *invocation)
{
	struct leaks_options *options = invocation->options;
	GG_CLEANUP(gg_suppressions_done) struct gg_suppressions suppressions = { 0 };
	struct gg_query query;
	struct gg_model *model;
	char unused[128]; /* take_window() needs it, but leaks have no window */
	int status = gg_cli_take_window(invocation, &options->common, "leaks", unused);

	if (status == 0)
		status = gg_cli_make_query(&options->common, "leaks", &query, invocation->error);
	if (status == 0 && options->suppressions != NULL)
		status = gg_suppressions_read(&suppressions, options->suppressions,
		                              invocation->error);
	if (status == 0)
		status = gg_cli_load_named(&model, invocation->operands[0], &options->common,
		                           invocation->error);
	if (status < 0)
		return status;
	status = print_leaks(model, &query, &suppressions, invocation);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct leaks_options, field)

static const struct gg_option options[] = {
	{ "suppressions", 's', GG_OPTION_TEXT, AT(suppressions), "FILE",
	  "leave out stacks that match, as leak:PATTERN lines" },
	{ "fail-above", 0, GG_OPTION_SIZE, AT(fail_above), "SIZE",
	  "exit with 3 if old memory is certainly above it" },
	{ "at", 0, GG_OPTION_TEXT, AT(common.at), "TIME",
	  "treat a moment as the end, such as 12.5s" },
	{ "uncollected", 0, GG_OPTION_FLAG, AT(uncollected), NULL,
	  "count Java objects that no full collection has seen" },
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	{ "limit", 'n', GG_OPTION_COUNT, AT(common.limit), "N",
	  "number of stacks; 0: all (20; with --json 1000)" },
	GG_OPTIONS_SHARED(gg_cli_frame_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_name_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success; with --fail-above, old memory is not certainly above the limit" },
	{ "1", "the profile or the suppressions could not be read" },
	{ "2", "the request was wrong, or a line of the suppressions has a wrong form" },
	{ "3", "with --fail-above: old memory is certainly above the limit" },
	{ NULL, NULL },
};

const struct gg_command gg_command_leaks = {
	.name = "leaks",
	.summary = "what was live at the end, and whether it grows",
	.usage = "PROFILE [OPTION]...",
	.details = "Lists the memory that was live at the end, by stack, and how it developed:\n"
		   "\n"
		   "  growing      grew steadily, also in the last third of the run\n"
		   "  never freed  part of it is old, and no sample of the stack was ever freed\n"
		   "  unclear      part of it is old, some was freed; too few samples to decide\n"
		   "  level        grew by less than a third during the last third of the run\n"
		   "  young        all of it is younger than a tenth of the run\n"
		   "\n"
		   "On average at most 5 % of the stacks listed as growing are false alarms.\n"
		   "For a program that frees everything before it ends, give --at a time before\n"
		   "that.  Java objects count if they survived the last full collection.\n"
		   "\n"
		   "  geiger leaks server.geiger --suppressions known.supp --fail-above 1MiB\n"
		   "  geiger leaks batch.geiger --at 12.5s\n",
	.options = options,
	.options_size = sizeof(struct leaks_options),
	.option_defaults = &(
		const struct leaks_options){ .common = { .confidence = 0.95, .limit = NO_LIMIT },
	                                     .fail_above = NO_LIMIT },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
