/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_tree - `geiger tree`: shows the call paths that allocated the memory.
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

struct tree_options {
	struct gg_report_options common; /* first, because the helpers read it */
	bool inverted;
	double fold_percent;
};

static int print_tree(const struct gg_model *model, const struct gg_query *query,
                      const struct gg_invocation *invocation)
{
	const struct tree_options *options = invocation->options;
	const struct gg_tree_options how = { .inverted = options->inverted,
		                             .fold = options->fold_percent / 100,
		                             .with_self = !options->common.json };
	struct gg_head head;
	struct gg_report report = { .model = model, .summary = &head.summary };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_tree *tree = NULL;
	int status;

	/*
	 * The head's numbers need passes of their own; a second thread makes them while this one
	 * makes the tree.
	 */
	gg_cli_begin_head(&head, model, query);
	status = gg_tree_build(&tree, model, query, &how, invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	if (status == 0) {
		gg_cli_fit_report(&options->common, &invocation->style, &report);
		report.all_frames = options->common.frames.all_frames;
		if (options->common.json)
			gg_report_tree_json(&report, tree, &how, &out);
		else
			gg_report_tree_text(&report, tree, &how, &out);
		status = gg_cli_print(&out, options->common.no_pager || options->common.json,
		                      invocation->error);
	}
	gg_tree_free(tree);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	struct tree_options *options = invocation->options;
	char window[128];
	struct gg_query query;
	struct gg_model *model;
	int status;

	/* The negated test also refuses NaN, for which every comparison is false. */
	if (!(options->fold_percent >= 0 && options->fold_percent <= 100))
		return gg_error_set(invocation->error, -EINVAL, "tree: --fold",
		                    "Give a percentage such as 1.", "%g is not between 0 and 100",
		                    options->fold_percent);
	status = gg_cli_take_window(invocation, &options->common, "tree", window);
	if (status == 0)
		status = gg_cli_make_query(&options->common, "tree", &query, invocation->error);
	if (status == 0)
		status = gg_cli_load_named(&model, invocation->operands[0], &options->common,
		                           invocation->error);
	if (status < 0)
		return status;
	status = gg_cli_choose_metric(model, &options->common, &query, invocation->error);
	if (status == 0)
		status = print_tree(model, &query, invocation);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct tree_options, field)

static const struct gg_option options[] = {
	{ "inverted", 'i', GG_OPTION_FLAG, AT(inverted), NULL,
	  "bottom-up: start at the allocating function" },
	{ "fold", 'f', GG_OPTION_NUMBER, AT(fold_percent), "PERCENT",
	  "fold branches below this share of the whole (1)" },
	GG_OPTIONS_SHARED(gg_cli_metric_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_moment_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	{ "temporary", 0, GG_OPTION_TEXT, AT(common.temporary), "TIME",
	  "the longest life of temporary memory (1ms)" },
	GG_OPTIONS_SHARED(gg_cli_frame_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_name_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_tree = {
	.name = "tree",
	.summary = "show the call paths that allocated memory",
	.usage = "PROFILE [OPTION]...",
	.details = "Call tree of allocations.  Callees stand below their caller, the heaviest\n"
		   "first; an only callee is not indented.  Branches below 1 % of the whole are\n"
		   "folded into one line, except on the heaviest path.\n\n"
		   "  geiger tree redis.geiger\n"
		   "  geiger tree redis.geiger --inverted --metric allocated --focus '^parse_'\n",
	.options = options,
	.options_size = sizeof(struct tree_options),
	.option_defaults = &(
		const struct tree_options){ .common = { .metric = -1, .confidence = 0.95 },
	                                    .fold_percent = 1 },
	.max_operands = 2, /* the second one is T1 of --between */
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
};
