/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_diff - `geiger fleet diff`: which functions of a version hold more, host for host. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/fleet/fleet_ask.h"
#include "cli/pager.h"
#include "fleet/fleet_compare.h"
#include "fleet/fleet_model.h"
#include "report/report_diff.h"

enum { EXIT_FLEET_GREW = 3 };

struct fleet_diff_options {
	struct gg_fleet_ask_options ask; /* first, because the helpers read it */
	bool all, fail_on_growth;
	double false_discovery_rate;
};

/* One of the two versions. */
struct fleet_side {
	struct gg_asked_fleet answer;
	struct gg_query_result *result;
	char name[200];
};

static void fleet_side_done(struct fleet_side *side)
{
	gg_query_result_free(side->result);
	gg_cli_asked_fleet_done(&side->answer);
}

static int check(const struct gg_invocation *invocation)
{
	const struct fleet_diff_options *options = invocation->options;

	if (invocation->operand_count != 3)
		return gg_error_set(invocation->error, -EINVAL, "fleet diff",
		                    "Give them so: geiger fleet diff SERVICE BEFORE AFTER.",
		                    "needs a service and two of its versions");
	if (!(options->false_discovery_rate > 0 && options->false_discovery_rate < 1))
		return gg_error_set(invocation->error, -EINVAL, "fleet diff: --rate",
		                    "Give a number such as 0.05.", "%g is not between 0 and 1",
		                    options->false_discovery_rate);
	return 0;
}

/* Reads a side.  Its functions are named with those of the other, so frames wait until then. */
static int read_side(struct fleet_side *side, const struct fleet_diff_options *options,
                     const char *service, const char *version, struct gg_error *error)
{
	struct gg_fleet_ask_options ask = options->ask;
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };
	struct gg_model_options how = { 0 };
	int status;

	ask.version = version;
	snprintf(side->name, sizeof(side->name), "%.90s %.90s", service, version);
	status = gg_cli_fleet_ask(&side->answer, &ask, service, "fleet diff", error);
	if (status < 0)
		return status;
	/* The question lives in the answer, but it was made from a local copy of the options. */
	side->answer.groups = GG_FLEET_EACH_HOST;
	gg_cli_fleet_append_hosts(&side->answer, &notes);
	gg_buf_printf(&notes,
	              ". Hosts with stacks are the units (%zu), and differences hold the error "
	              "between hosts.\n",
	              side->answer.scope.selected_count);
	gg_frame_selection_options(&options->ask.common.frames, &how);
	return gg_fleet_model_make(&side->answer.model, &side->answer.store, &side->answer.scope,
	                           GG_FLEET_EACH_HOST, &how, gg_buf_text(&notes), error);
}

static int name_both(const struct fleet_diff_options *options, struct fleet_side *before,
                     struct fleet_side *after, struct gg_error *error)
{
	struct gg_model *models[] = { before->answer.model, after->answer.model };
	const struct gg_model_name_options naming = { .full_names = options->ask.common.full_names,
		                                      .across_builds = true };
	int status = gg_model_name_functions(models, 2, &naming, error);

	return status < 0 ? status
	                  : gg_frame_selection_apply(&options->ask.common.frames, models, 2, error);
}

static void append_notes(const struct fleet_side *before, const struct fleet_side *after,
                         const struct gg_diff *diff, struct gg_buf *out)
{
	gg_buf_printf(out,
	              "Hosts are the units: %zu before and %zu after.  'before' is scaled to the\n"
	              "processes after (x %.4g).\n",
	              before->answer.scope.selected_count, after->answer.scope.selected_count,
	              diff->query.scale);
	if (before->answer.scope.selected_count < 2 || after->answer.scope.selected_count < 2)
		gg_buf_append_text(out, "With one host on a side nothing can be significant.\n");
}

static int print_diff(const struct gg_invocation *invocation, struct fleet_side *before,
                      struct fleet_side *after)
{
	const struct fleet_diff_options *options = invocation->options;
	const struct gg_report_options *common = &options->ask.common;
	double processes_before = gg_fleet_side_processes(&before->answer.scope);
	double processes_after = gg_fleet_side_processes(&after->answer.scope);
	const struct gg_diff_query query = {
		.scale = processes_before > 0 && processes_after > 0
		                 ? processes_after / processes_before
		                 : 1,
		.confidence = common->confidence,
		.false_discovery_rate = options->false_discovery_rate,
	};
	const struct gg_fleet_side sides[2] = {
		{ &before->answer.scope, before->answer.model, before->result },
		{ &after->answer.scope, after->answer.model, after->result },
	};
	struct gg_diff_report report = {
		.before = { before->name, before->answer.model, before->result },
		.after = { after->name, after->answer.model, after->result },
		.show_all = options->all,
		.fails_on_growth = options->fail_on_growth,
		.look = { .limit = common->limit },
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_diff *diff;
	bool has_grown;
	int status = gg_diff_run(before->answer.model, before->result, after->answer.model,
	                         after->result, &query, &diff, invocation->error);

	if (status < 0)
		return status;
	status = gg_fleet_compare(diff, &sides[0], &sides[1], invocation->error);
	if (status < 0) {
		gg_diff_free(diff);
		return status;
	}
	if (common->limit == GG_LIMIT_NOT_GIVEN)
		report.look.limit = common->json ? 1000 : 30;
	report.diff = diff;
	gg_cli_fit_report(common, &invocation->style, &report.look);
	if (common->json) {
		gg_report_diff_json(&report, &out);
	} else {
		gg_report_diff_text(&report, &out);
		if (!common->no_head)
			append_notes(before, after, diff, &out);
	}
	has_grown = diff->grown_count > 0;
	gg_diff_free(diff);
	status = gg_cli_print(&out, common->no_pager || common->json, invocation->error);
	return status == 0 && options->fail_on_growth && has_grown ? EXIT_FLEET_GREW : status;
}

static int run(struct gg_invocation *invocation)
{
	const struct fleet_diff_options *options = invocation->options;
	GG_CLEANUP(fleet_side_done) struct fleet_side before = { 0 };
	GG_CLEANUP(fleet_side_done) struct fleet_side after = { 0 };
	int status = check(invocation);

	if (status == 0)
		status = read_side(&before, options, invocation->operands[0],
		                   invocation->operands[1], invocation->error);
	if (status == 0)
		status = read_side(&after, options, invocation->operands[0],
		                   invocation->operands[2], invocation->error);
	if (status == 0)
		status = name_both(options, &before, &after, invocation->error);
	if (status == 0)
		status = gg_diff_query_both(before.answer.model, after.answer.model,
		                            &before.answer.query, &before.result, &after.result,
		                            invocation->error);
	return status < 0 ? status : print_diff(invocation, &before, &after);
}

#define AT(field)      offsetof(struct gg_fleet_ask_options, field)
#define AT_DIFF(field) offsetof(struct fleet_diff_options, field)

static const struct gg_option options[] = {
	GG_OPTIONS_SHARED(gg_cli_fleet_metric_options, 0),
	{ "by", 'b', GG_OPTION_CHOICE, AT(common.by), "function|line|stack|module",
	  "what a row is (function)" },
	{ "total", 0, GG_OPTION_FLAG, AT(common.total), NULL,
	  "compare rows with what they call, not by themselves" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	GG_OPTIONS_SHARED(gg_cli_fleet_time_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	{ "all", 'a', GG_OPTION_FLAG, AT_DIFF(all), NULL,
	  "also rows without a significant difference" },
	{ "rate", 0, GG_OPTION_NUMBER, AT_DIFF(false_discovery_rate), "P",
	  "share of false ones among the rows shown (0.05)" },
	{ "fail-on-growth", 0, GG_OPTION_FLAG, AT_DIFF(fail_on_growth), NULL,
	  "exit with 3 if a row grew significantly" },
	{ "limit", 'n', GG_OPTION_COUNT, AT(common.limit), "N",
	  "rows that are shown; 0: all (30; with --json 1000)" },
	GG_FLEET_FORM_OPTIONS,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success; with --fail-on-growth, no row grew significantly" },
	{ "1", "the store did not answer" },
	{ "2", "the request was wrong" },
	{ "3", "with --fail-on-growth: at least one row grew significantly" },
	{ NULL, NULL },
};

const struct gg_command gg_command_fleet_diff = {
	.name = "fleet diff",
	.summary = "which functions of a version hold more than before",
	.usage = "SERVICE BEFORE AFTER [OPTION]...",
	.details =
		"Compares two versions of a service.  Hosts are the units of the test: a row is\n"
		"significant if the next host with the new version can be expected to differ.\n"
		"\n"
		"  geiger fleet diff checkout 1.1 1.2 --fail-on-growth\n",
	.options = options,
	.options_size = sizeof(struct fleet_diff_options),
	.option_defaults = &(const struct fleet_diff_options){ .ask = { GG_FLEET_ASK_DEFAULTS },
	                                                       .false_discovery_rate = 0.05 },
	.max_operands = 3,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
	.exit_statuses = exit_statuses,
};
