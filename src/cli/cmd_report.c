/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report - `geiger report`: prints the holders or the allocators of memory as a table.
 *
 * The metric depends on the profile: live memory at the end, or the peak if the program freed
 * nearly all of its memory before it ended (metric.h).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/metric.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "cli/query_options.h"
#include "query/query.h"
#include "report/report.h"

/* True if no option asks for a part of the profile: the totals answer the first question. */
static bool is_first_look(const struct gg_report_options *options)
{
	return options->metric < 0 && options->unit == GG_BYTES && options->by == GG_BY_FUNCTION &&
	       options->by_label == NULL && !options->total && options->at == NULL &&
	       options->between == NULL && options->focus == NULL && options->ignore == NULL &&
	       options->process == 0 && !options->all_columns;
}

/* The default limit depends on the form of the output. */

static int print_report(const struct gg_model *model, const struct gg_query *query,
                        const struct gg_invocation *invocation)
{
	const struct gg_report_options *options = invocation->options;
	struct gg_head head;
	struct gg_report report = { .model = model, .summary = &head.summary };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_pinned_comparison *comparisons = NULL;
	struct gg_pinned_neighbors *neighbors = NULL;
	struct gg_query_result *result;
	int status;

	/*
	 * The head's numbers need passes of their own; a second thread makes them while this one
	 * makes the rows.
	 */
	gg_cli_begin_head(&head, model, query);
	status = gg_query_rows(model, query, &result, invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	if (status < 0)
		return status;
	report.result = result;
	report.limit = options->limit;
	if (options->limit == GG_LIMIT_NOT_GIVEN)
		report.limit = options->json ? 1000 : 30;
	gg_cli_fit_report(options, &invocation->style, &report);
	if (report.head == GG_HEAD_TITLE && is_first_look(options))
		report.head = GG_HEAD_FULL;
	if (!options->json)
		gg_report_move_start_code(model, result);
	if (query->metric == GG_METRIC_PINNED)
		status = gg_pinned_compare(model, result, &comparisons, invocation->error);
	if (status == 0 && query->metric == GG_METRIC_PINNED)
		status = gg_pinned_find_neighbors(model, result,
		                                  report.limit > 0 ? report.limit : SIZE_MAX,
		                                  &neighbors, invocation->error);
	report.comparisons = comparisons;
	report.neighbors = neighbors;
	if (status == 0 && options->json)
		gg_report_json(&report, &out);
	else if (status == 0)
		gg_report_text(&report, &out);
	free(comparisons);
	free(neighbors);
	gg_query_result_free(result);
	if (status < 0)
		return status;
	return gg_cli_print(&out, options->no_pager || options->json, invocation->error);
}

/* Appends the keys of all labels, each once, with commas between them. */
static void append_keys(const struct gg_model *model, struct gg_buf *out)
{
	for (size_t i = 0; i < model->label_count; i++) {
		size_t first = 0;

		while (strcmp(model->labels[first].key, model->labels[i].key) != 0)
			first++;
		if (first == i)
			gg_buf_printf(out, "%s%s", out->length > 0 ? ", " : "",
			              model->labels[i].key);
	}
}

/* -EINVAL if no process has the label of --by-label: the rows would be one, without a name. */
static int check_label(const struct gg_model *model, const char *key, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf keys = { 0 };

	if (key == NULL)
		return 0;
	for (size_t i = 0; i < model->label_count; i++)
		if (strcmp(model->labels[i].key, key) == 0)
			return 0;
	append_keys(model, &keys);
	gg_error_set(error, -EINVAL, "report: --by-label", NULL, "no process has a label '%s'",
	             key);
	snprintf(error->advice, sizeof(error->advice), "%s%.180s.",
	         keys.length > 0 ? "Labels of this profile: " : "This profile has no labels",
	         gg_buf_text(&keys));
	return -EINVAL;
}

static int run(struct gg_invocation *invocation)
{
	char window[128];
	struct gg_query query;
	struct gg_model *model;
	int status = gg_cli_take_window(invocation, invocation->options, "report", window);

	if (status == 0)
		status = gg_cli_make_query(invocation->options, "report", &query,
		                           invocation->error);
	if (status == 0)
		status = gg_cli_load_named(&model, invocation->operands[0], invocation->options,
		                           invocation->error);
	if (status < 0)
		return status;
	status = check_label(model, query.label, invocation->error);
	if (status == 0)
		status = gg_cli_choose_metric(model, invocation->options, &query,
		                              invocation->error);
	if (status == 0)
		status = print_report(model, &query, invocation);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct gg_report_options, field)

static const struct gg_option options[] = {
	GG_OPTIONS_SHARED(gg_cli_metric_options, 0),
	{ "by", 'b', GG_OPTION_CHOICE, AT(by),
	  "function|line|stack|module|size|kind|heap|type|thread|process",
	  "what a row is (function)" },
	{ "by-label", 0, GG_OPTION_TEXT, AT(by_label), "KEY",
	  "a row is a value of this label, such as host" },
	{ "self", 0, GG_OPTION_FLAG, AT(self), NULL,
	  "sort by what rows ask for themselves (default)" },
	{ "total", 0, GG_OPTION_FLAG, AT(total), NULL, "sort by that and what they call" },
	GG_OPTIONS_SHARED(gg_cli_moment_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, 0),
	GG_OPTIONS_SHARED(gg_cli_process_options, 0),
	{ "temporary", 0, GG_OPTION_TEXT, AT(temporary), "TIME",
	  "the longest life of temporary memory (1ms)" },
	{ "all-columns", 0, GG_OPTION_FLAG, AT(all_columns), NULL,
	  "with --by heap or type, both estimates of bytes" },
	{ "limit", 'n', GG_OPTION_COUNT, AT(limit), "N",
	  "rows that are shown; 0: all (30; with --json 1000)" },
	GG_OPTIONS_SHARED(gg_cli_frame_options, 0),
	GG_OPTIONS_SHARED(gg_cli_name_options, 0),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, 0),
	GG_OPTIONS_SHARED(gg_cli_output_options, 0),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_report = {
	.name = "report",
	.summary = "who holds, or allocated, the memory of a profile",
	.usage = "PROFILE [OPTION]...",
	.details =
		"Rows are sorted by their estimate.  Each number has its confidence interval:\n"
		"'312.4 MiB +- 6 %', or both ends behind it, '16.0 MiB (10.9-22.6)', where they\n"
		"are far apart.  Percentages are shares of the total in the title.  The totals\n"
		"of the whole profile come first if no option selects a part of it.\n\n"
		"  geiger report redis.geiger\n"
		"  geiger report redis.geiger --metric peak --by stack --limit 5\n"
		"  geiger report redis.geiger -m allocated --between 10s 20s --focus '^parse_'\n",
	.options = options,
	.options_size = sizeof(struct gg_report_options),
	.option_defaults = &(const struct gg_report_options){ .metric = -1,
	                                                      .confidence = 0.95,
	                                                      .limit = GG_LIMIT_NOT_GIVEN },
	.max_operands = 2, /* the second time of --between is one */
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
};
