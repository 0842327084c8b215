/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_diff - `geiger diff`: compares two profiles and shows rows that differ by more than chance
 * explains.
 *
 * The steps are: load both profiles, name their functions in the same way, choose one metric for
 * both, query both, and match the rows by name.  Loading and querying take nearly all of the time,
 * so they run in two threads, one for each profile.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/metric.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "cli/query_options.h"
#include "query/normalize.h"
#include "query/parallel.h"
#include "query/query.h"
#include "report/report_diff.h"

enum { EXIT_GREW = 3 };

/* The default limit depends on the form of the output. */

struct diff_options {
	struct gg_report_options common;
	const char *normalize;
	double false_discovery_rate;
	bool all, fail_on_growth;
};

/* One of the two profiles.  Two threads load both profiles at the same time. */
struct loaded_profile {
	const char *path;
	const struct gg_query *query;
	const struct gg_report_options *options;
	bool may_be_peak;   /* the user chose no metric, so side_open() computes ... */
	bool is_given_back; /* ... whether little of the memory is live at the end */
	struct gg_model *model;
	struct gg_query_result *result;
	struct gg_error error;
	int status;
};

static void loaded_profile_done(struct loaded_profile *side)
{
	gg_query_result_free(side->result);
	gg_model_free(side->model);
}

static void side_open(void *context)
{
	struct loaded_profile *side = context;

	side->status = gg_cli_read(&side->model, side->path, &side->options->frames, &side->error);
	if (side->status == 0 && side->may_be_peak)
		side->status = gg_query_is_given_back(side->model, side->query->pid,
		                                      &side->is_given_back, &side->error);
}

static int open_both(struct loaded_profile *before, struct loaded_profile *after,
                     struct gg_error *error)
{
	gg_parallel_pair(side_open, before, after);
	if (before->status < 0 || after->status < 0) {
		const struct loaded_profile *failed = before->status < 0 ? before : after;

		*error = failed->error;
		return failed->status;
	}
	return 0;
}

/*
 * Treats functions with equal names as the same function, also if their builds differ.  Both sides
 * hide the same functions, because otherwise their memory would seem to have moved.
 */
static int name_functions(const struct diff_options *options, const struct loaded_profile *before,
                          const struct loaded_profile *after, struct gg_error *error)
{
	struct gg_model *models[] = { before->model, after->model };
	const struct gg_model_name_options naming = { .full_names = options->common.full_names,
		                                      .across_builds = true };

	int status = gg_model_name_functions(models, 2, &naming, error);

	return status < 0 ? status
	                  : gg_frame_selection_apply(&options->common.frames, models, 2, error);
}

/*
 * Compares the rows and prints the result.  Returns EXIT_GREW if --fail-on-growth was given and a
 * row grew.
 */
static int print_diff(const struct gg_invocation *invocation, const struct gg_query *query,
                      const struct loaded_profile *before, const struct loaded_profile *after)
{
	const struct diff_options *options = invocation->options;
	struct gg_diff_query diff_query = { .confidence = options->common.confidence,
		                            .false_discovery_rate = options->false_discovery_rate,
		                            .only_significant = !options->all };
	struct gg_diff_report report = {
		.before = { invocation->operands[0], before->model, before->result },
		.after = { invocation->operands[1], after->model, after->result },
		.normalized_by = options->normalize,
		.show_all = options->all,
		.fails_on_growth = options->fail_on_growth,
		.look = { .limit = options->common.limit },
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_diff *diff;
	bool has_grown;
	int status;

	if (options->common.limit == GG_LIMIT_NOT_GIVEN)
		report.look.limit = options->common.json ? 1000 : 30;
	/*
	 * --normalize needs both models: it compares how long the programs ran or how much they
	 * allocated.
	 */
	status = gg_normalize_find(before->model, after->model, query, options->normalize,
	                           "diff: --normalize", &diff_query.scale, invocation->error);
	if (status == 0)
		status = gg_diff_run(before->model, before->result, after->model, after->result,
		                     &diff_query, &diff, invocation->error);
	if (status < 0)
		return status;
	report.diff = diff;
	gg_cli_fit_report(&options->common, &invocation->style, &report.look);
	if (options->common.json)
		gg_report_diff_json(&report, &out);
	else
		gg_report_diff_text(&report, &out);
	has_grown = diff->grown_count > 0;
	gg_diff_free(diff);
	status = gg_cli_print(&out, options->common.no_pager || options->common.json,
	                      invocation->error);
	return status == 0 && options->fail_on_growth && has_grown ? EXIT_GREW : status;
}

/* Profiles have no moments in common but those that the metric names. */
static int check_moment(const struct gg_report_options *options, struct gg_error *error)
{
	if (options->at == NULL)
		return 0;
	if (strcmp(options->at, "peak") != 0)
		return gg_error_set(error, -EINVAL, "diff: --at", NULL,
		                    "two profiles have no moment in common but 'peak'");
	if (options->metric != GG_METRIC_PINNED)
		return gg_error_set(error, -EINVAL, "diff: --at",
		                    "--metric peak compares what was live at the peaks.",
		                    "'--at peak' belongs to --metric pinned");
	return 0;
}

static int check(const struct gg_invocation *invocation)
{
	const struct diff_options *options = invocation->options;

	if (invocation->operand_count < 2)
		return gg_error_set(invocation->error, -EINVAL, "diff",
		                    "Give the earlier one first: geiger diff BEFORE AFTER.",
		                    "needs two profiles");
	if (!(options->false_discovery_rate > 0 && options->false_discovery_rate < 1))
		return gg_error_set(invocation->error, -EINVAL, "diff: --rate",
		                    "Give a number such as 0.05.", "%g is not between 0 and 1",
		                    options->false_discovery_rate);
	return check_moment(&options->common, invocation->error);
}

static int run(struct gg_invocation *invocation)
{
	const struct diff_options *options = invocation->options;
	struct gg_query query;
	GG_CLEANUP(loaded_profile_done)
	struct loaded_profile before = { .query = &query, .options = &options->common };
	GG_CLEANUP(loaded_profile_done)
	struct loaded_profile after = { .query = &query, .options = &options->common };
	int status = check(invocation);

	if (status == 0)
		status = gg_frame_selection_check(&options->common.frames, invocation->error);
	if (status == 0)
		status = gg_cli_make_query(&options->common, "diff", &query, invocation->error);
	if (status == 0) {
		before.path = invocation->operands[0];
		after.path = invocation->operands[1];
		before.may_be_peak = after.may_be_peak = gg_cli_metric_is_open(&options->common) &&
		                                         !options->fail_on_growth;
		status = open_both(&before, &after, invocation->error);
	}
	if (status == 0)
		status = name_functions(options, &before, &after, invocation->error);
	if (status == 0) {
		/*
		 * Both sides need the same metric.  The peak replaces live memory only if both
		 * programs freed nearly all of theirs.  For --fail-on-growth the metric never
		 * changes by itself: scripts need a stable answer.
		 */
		if (before.is_given_back && after.is_given_back)
			query.metric = GG_METRIC_PEAK;
		status = gg_diff_query_both(before.model, after.model, &query, &before.result,
		                            &after.result, invocation->error);
	}
	return status < 0 ? status : print_diff(invocation, &query, &before, &after);
}

#define AT(field) offsetof(struct diff_options, field)

static const struct gg_option options[] = {
	GG_OPTIONS_SHARED(gg_cli_metric_options, AT(common)),
	{ "at", 0, GG_OPTION_TEXT, AT(common.at), "peak",
	  "pinned memory: compare the looks at the largest RSS" },
	{ "by", 'b', GG_OPTION_CHOICE, AT(common.by),
	  "function|line|stack|module|size|kind|heap|type", "what a row is (function)" },
	{ "total", 0, GG_OPTION_FLAG, AT(common.total), NULL,
	  "compare rows with what they call, not by themselves" },
	{ "normalize", 0, GG_OPTION_TEXT, AT(normalize), "time|allocated|FACTOR",
	  "multiply 'before' by a ratio of the runs" },
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	{ "all", 'a', GG_OPTION_FLAG, AT(all), NULL, "also rows without a significant difference" },
	{ "rate", 0, GG_OPTION_NUMBER, AT(false_discovery_rate), "P",
	  "share of false ones among the rows shown (0.05)" },
	{ "fail-on-growth", 0, GG_OPTION_FLAG, AT(fail_on_growth), NULL,
	  "exit with 3 if a row grew significantly" },
	{ "limit", 'n', GG_OPTION_COUNT, AT(common.limit), "N",
	  "rows that are shown; 0: all (30; with --json 1000)" },
	GG_OPTIONS_SHARED(gg_cli_frame_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_name_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "success; with --fail-on-growth, no row grew significantly" },
	{ "1", "a profile could not be read" },
	{ "2", "the request was wrong" },
	{ "3",
	  "with --fail-on-growth: at least one row grew significantly. If nothing changed, that happens in at most 5 % of comparisons; --rate 0.001 makes it 0.1 %" },
	{ NULL, NULL },
};

const struct gg_command gg_command_diff = {
	.name = "diff",
	.summary = "what grew or shrank between two profiles, beyond chance",
	.usage = "BEFORE AFTER [OPTION]...",
	.details =
		"Compares two profiles row by row: before, after, the difference with its\n"
		"confidence interval, and p, the chance of so large a difference if nothing had\n"
		"changed.  Rows are matched by name.  Only rows that differ significantly are\n"
		"shown; on average at most 5 % of them are false alarms, however many rows there\n"
		"are.\n"
		"\n"
		"  geiger diff old.geiger new.geiger --by stack\n"
		"  geiger diff old.geiger new.geiger --metric allocated --normalize time\n",
	.options = options,
	.options_size = sizeof(struct diff_options),
	.option_defaults = &(const struct diff_options){ .common = { .metric = -1,
	                                                             .confidence = 0.95,
	                                                             .limit = GG_LIMIT_NOT_GIVEN },
	                                                 .false_discovery_rate = 0.05 },
	.max_operands = 2,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
