/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_report - `geiger fleet report` and `tree`: the holders of a service's memory. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/fleet/fleet_ask.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "fleet/fleet_extend.h"

struct fleet_tree_options {
	struct gg_fleet_ask_options ask; /* first, because the helpers read it */
	bool inverted;
	double fold_percent;
};

/* Without --limit as many rows as the local report has. */
static size_t limit_of(const struct gg_report_options *options)
{
	if (options->limit != GG_LIMIT_NOT_GIVEN)
		return options->limit;
	return options->json ? 1000 : 30;
}

/* The model has the one kind of memory that the question is about, and no totals of others. */
static void fit_report(const struct gg_report_options *options, const struct gg_style *style,
                       struct gg_report *report)
{
	gg_cli_fit_report(options, style, report);
	if (report->head == GG_HEAD_FULL)
		report->head = GG_HEAD_TITLE;
}

static int append_report(const struct gg_invocation *invocation, struct gg_asked_fleet *answer,
                         struct gg_buf *out)
{
	const struct gg_fleet_ask_options *options = invocation->options;
	struct gg_head head;
	struct gg_report report = { .model = answer->model,
		                    .summary = &head.summary,
		                    .fleet = &answer->fleet,
		                    .limit = limit_of(&options->common) };
	struct gg_query_result *result;
	int status;

	gg_cli_begin_head(&head, answer->model, &answer->query);
	status = gg_query_rows(answer->model, &answer->query, &result, invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	if (status < 0)
		return status;
	status = gg_cli_fleet_extend(answer, options, result, options->common.confidence,
	                             invocation->error);
	if (status < 0) {
		gg_query_result_free(result);
		return status;
	}
	report.result = result;
	fit_report(&options->common, &invocation->style, &report);
	if (options->common.json) {
		gg_report_json(&report, out);
	} else {
		gg_report_move_start_code(answer->model, result);
		gg_report_text(&report, out);
	}
	gg_query_result_free(result);
	return 0;
}

static int answer_report(struct gg_invocation *invocation, struct gg_buf *out)
{
	struct gg_fleet_ask_options *options = invocation->options;
	GG_CLEANUP(gg_cli_asked_fleet_done) struct gg_asked_fleet answer = { 0 };
	int status = gg_cli_fleet_check_service(invocation, "fleet report");

	options->by_host = options->common.by_label != NULL &&
	                   strcmp(options->common.by_label, "host") == 0;
	options->joins_draws = !options->by_host;
	if (status == 0)
		status = gg_cli_fleet_ask(&answer, options, invocation->operands[0], "fleet report",
		                          invocation->error);
	/* A host's own row is not the sum of a draw, and needs no extension. */
	answer.fleet.is_between_hosts = status == 0 && !options->by_host &&
	                                gg_fleet_is_drawn(&answer.scope);
	if (status == 0)
		status = gg_cli_fleet_model(&answer, options, invocation->error);
	return status == 0 ? append_report(invocation, &answer, out) : status;
}

static int run_report(struct gg_invocation *invocation)
{
	const struct gg_fleet_ask_options *options = invocation->options;

	return gg_cli_fleet_print(invocation, answer_report,
	                          options->common.no_pager || options->common.json);
}

static int append_tree(const struct gg_invocation *invocation, struct gg_asked_fleet *answer,
                       struct gg_buf *out)
{
	const struct fleet_tree_options *options = invocation->options;
	const struct gg_report_options *common = &options->ask.common;
	const struct gg_tree_options how = { .inverted = options->inverted,
		                             .fold = options->fold_percent / 100,
		                             .with_self = !common->json };
	struct gg_head head;
	struct gg_report report = { .model = answer->model,
		                    .summary = &head.summary,
		                    .fleet = &answer->fleet };
	struct gg_tree *tree = NULL;
	int status;

	gg_cli_begin_head(&head, answer->model, &answer->query);
	status = gg_tree_build(&tree, answer->model, &answer->query, &how, invocation->error);
	if (status == 0 && answer->fleet.is_between_hosts)
		status = gg_fleet_extend_tree(&answer->scope, answer->groups, answer->model, tree,
		                              &how, common->confidence, invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	if (status < 0)
		return status;
	fit_report(common, &invocation->style, &report);
	report.all_frames = common->frames.all_frames;
	if (common->json)
		gg_report_tree_json(&report, tree, &how, out);
	else
		gg_report_tree_text(&report, tree, &how, out);
	gg_tree_free(tree);
	return 0;
}

static int answer_tree(struct gg_invocation *invocation, struct gg_buf *out)
{
	const struct fleet_tree_options *options = invocation->options;
	GG_CLEANUP(gg_cli_asked_fleet_done) struct gg_asked_fleet answer = { 0 };
	int status = gg_cli_fleet_check_service(invocation, "fleet tree");

	/* The negated test also refuses NaN, for which every comparison is false. */
	if (status == 0 && !(options->fold_percent >= 0 && options->fold_percent <= 100))
		status = gg_error_set(invocation->error, -EINVAL, "fleet tree: --fold",
		                      "Give a percentage such as 1.", "%g is not between 0 and 100",
		                      options->fold_percent);
	if (status == 0)
		status = gg_cli_fleet_ask(&answer, &options->ask, invocation->operands[0],
		                          "fleet tree", invocation->error);
	answer.fleet.is_between_hosts = status == 0 && gg_fleet_is_drawn(&answer.scope);
	if (status == 0)
		status = gg_cli_fleet_model(&answer, &options->ask, invocation->error);
	return status == 0 ? append_tree(invocation, &answer, out) : status;
}

static int run_tree(struct gg_invocation *invocation)
{
	const struct fleet_tree_options *options = invocation->options;

	return gg_cli_fleet_print(invocation, answer_tree,
	                          options->ask.common.no_pager || options->ask.common.json);
}

#define AT(field) offsetof(struct gg_fleet_ask_options, field)

static const struct gg_option report_options[] = {
	GG_OPTIONS_SHARED(gg_cli_fleet_metric_options, 0),
	{ "by", 'b', GG_OPTION_CHOICE, AT(common.by), "function|line|stack|module",
	  "what a row is (function)" },
	{ "by-label", 0, GG_OPTION_TEXT, AT(common.by_label), "KEY",
	  "a row is a value of this label, such as host" },
	{ "total", 0, GG_OPTION_FLAG, AT(common.total), NULL, "sort by that and what they call" },
	{ "version", 'v', GG_OPTION_TEXT, AT(version), "NAME", "only this version" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	GG_OPTIONS_SHARED(gg_cli_fleet_time_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	{ "limit", 'n', GG_OPTION_COUNT, AT(common.limit), "N",
	  "rows that are shown; 0: all (30; with --json 1000)" },
	GG_FLEET_FORM_OPTIONS,
};

const struct gg_command gg_command_fleet_report = {
	.name = "fleet report",
	.summary = "who holds, or allocated, the memory of a service",
	.usage = "SERVICE [OPTION]...",
	.details =
		"Adds up what the hosts of a service hold, with the confidence interval of the\n"
		"sum.  Live memory is that of the last snapshots, or of the moment of --at; with\n"
		"--since or --until it is an average over time.  The title says which.\n"
		"\n"
		"  geiger fleet report checkout --by-label version\n"
		"  geiger fleet report checkout --since 2h --metric allocated --label zone=eu\n",
	.options = report_options,
	.options_size = sizeof(struct gg_fleet_ask_options),
	.option_defaults = &(const struct gg_fleet_ask_options){ GG_FLEET_ASK_DEFAULTS },
	.max_operands = 1,
	.run = run_report,
	.answer = answer_report,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
};

#define AT_TREE(field) offsetof(struct fleet_tree_options, field)

static const struct gg_option tree_options[] = {
	{ "inverted", 'i', GG_OPTION_FLAG, AT_TREE(inverted), NULL,
	  "bottom-up: start at the allocating function" },
	{ "fold", 'f', GG_OPTION_NUMBER, AT_TREE(fold_percent), "PERCENT",
	  "fold branches below this share of the whole (1)" },
	GG_OPTIONS_SHARED(gg_cli_fleet_metric_options, 0),
	{ "version", 'v', GG_OPTION_TEXT, AT(version), "NAME", "only this version" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	GG_OPTIONS_SHARED(gg_cli_fleet_time_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	GG_FLEET_FORM_OPTIONS,
};

const struct gg_command gg_command_fleet_tree = {
	.name = "fleet tree",
	.summary = "the call paths that allocated a service's memory",
	.usage = "SERVICE [OPTION]...",
	.details = "The tree of `geiger tree`, over all hosts of a service.\n"
		   "\n"
		   "  geiger fleet tree checkout --version 1.2 --focus '^parse_'\n",
	.options = tree_options,
	.options_size = sizeof(struct fleet_tree_options),
	.option_defaults = &(const struct fleet_tree_options){ .ask = { GG_FLEET_ASK_DEFAULTS },
	                                                       .fold_percent = 1 },
	.max_operands = 1,
	.run = run_tree,
	.answer = answer_tree,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
};
