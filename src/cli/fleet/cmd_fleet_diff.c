/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_diff - `geiger fleet diff`: which functions of a version hold more, host for host. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/fleet/fleet_pair.h"
#include "cli/pager.h"
#include "report/report_diff.h"

enum { EXIT_FLEET_GREW = 3 };

struct fleet_diff_options {
	struct gg_fleet_ask_options ask; /* first, because the helpers read it */
	const char *before_at, *before_since, *before_until;
	bool all, fail_on_growth;
	double false_discovery_rate;
};

/* True if the side before has a time of its own. */
static bool has_other_time(const struct fleet_diff_options *options)
{
	return options->before_at != NULL || options->before_since != NULL ||
	       options->before_until != NULL;
}

static int check(const struct gg_invocation *invocation)
{
	const struct fleet_diff_options *options = invocation->options;

	if (invocation->operand_count != 3 &&
	    !(invocation->operand_count == 1 && has_other_time(options)))
		return gg_error_set(invocation->error, -EINVAL, "fleet diff",
		                    "Give them so: geiger fleet diff SERVICE BEFORE AFTER.",
		                    "needs a service and two of its versions, or --before-since or "
		                    "--before-at");
	if (!(options->false_discovery_rate > 0 && options->false_discovery_rate < 1))
		return gg_error_set(invocation->error, -EINVAL, "fleet diff: --rate",
		                    "Give a number such as 0.05.", "%g is not between 0 and 1",
		                    options->false_discovery_rate);
	return 0;
}

static void append_notes(const struct gg_fleet_pair_side *before,
                         const struct gg_fleet_pair_side *after, const struct gg_diff *diff,
                         struct gg_buf *out)
{
	if (diff->query.scale != 1)
		gg_buf_printf(out, "'before' is scaled to the processes after (x %.4g).\n",
		              diff->query.scale);
	if (before->answer.scope.selected_count < 2 || after->answer.scope.selected_count < 2)
		gg_buf_append_text(out, "With one host on a side nothing can be significant.\n");
}

static void append_diff(const struct gg_invocation *invocation, const struct gg_fleet_pair *pair,
                        struct gg_buf *out)
{
	const struct fleet_diff_options *options = invocation->options;
	const struct gg_report_options *common = &options->ask.common;
	struct gg_diff_report report = {
		.before = { pair->before.name, pair->before.answer.model, pair->before.result },
		.after = { pair->after.name, pair->after.answer.model, pair->after.result },
		.diff = pair->diff,
		.show_all = options->all,
		.fails_on_growth = options->fail_on_growth,
		.look = { .limit = common->limit },
	};

	if (common->limit == GG_LIMIT_NOT_GIVEN)
		report.look.limit = common->json ? 1000 : 30;
	gg_cli_fit_report(common, &invocation->style, &report.look);
	if (common->json) {
		gg_report_diff_json(&report, out);
	} else {
		gg_report_diff_text(&report, out);
		if (!common->no_head)
			append_notes(&pair->before, &pair->after, pair->diff, out);
	}
}

static int answer(struct gg_invocation *invocation, struct gg_buf *out)
{
	const struct fleet_diff_options *options = invocation->options;
	GG_CLEANUP(gg_cli_fleet_pair_done) struct gg_fleet_pair pair = { 0 };
	struct gg_fleet_ask_options before = options->ask, after = options->ask;
	int status = check(invocation);

	if (status == 0 && invocation->operand_count == 3) {
		before.version = invocation->operands[1];
		after.version = invocation->operands[2];
	}
	if (has_other_time(options)) {
		before.time_prefix = "before-";
		before.at = options->before_at;
		before.since = options->before_since;
		before.until = options->before_until;
	}
	if (status == 0)
		status = gg_cli_fleet_pair(&pair, &before, &after, invocation->operands[0],
		                           options->false_discovery_rate, invocation->error);
	if (status < 0)
		return status;
	append_diff(invocation, &pair, out);
	return options->fail_on_growth && pair.diff->grown_count > 0 ? EXIT_FLEET_GREW : 0;
}

static int run(struct gg_invocation *invocation)
{
	const struct fleet_diff_options *options = invocation->options;

	return gg_cli_fleet_print(invocation, answer,
	                          options->ask.common.no_pager || options->ask.common.json);
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
	{ "before-at", 0, GG_OPTION_TEXT, AT_DIFF(before_at), "TIME",
	  "another moment for the side before" },
	{ "before-since", 0, GG_OPTION_TEXT, AT_DIFF(before_since), "TIME",
	  "another window for the side before: its begin" },
	{ "before-until", 0, GG_OPTION_TEXT, AT_DIFF(before_until), "TIME", "and its end" },
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
	.usage = "SERVICE [BEFORE AFTER] [OPTION]...",
	.details =
		"Compares two versions of a service, or two times.  Hosts are the units of the\n"
		"test: a row is significant if the next host with the new version can be expected\n"
		"to differ.  With --before-at, --before-since or --before-until the side before\n"
		"has a time of its own, and --at, --since and --until are that of the side after.\n"
		"\n"
		"  geiger fleet diff checkout 1.1 1.2 --fail-on-growth\n"
		"  geiger fleet diff checkout --before-at 1d\n",
	.options = options,
	.options_size = sizeof(struct fleet_diff_options),
	.option_defaults = &(const struct fleet_diff_options){ .ask = { GG_FLEET_ASK_DEFAULTS },
	                                                       .false_discovery_rate = 0.05 },
	.max_operands = 3,
	.run = run,
	.answer = answer,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
	.exit_statuses = exit_statuses,
};
