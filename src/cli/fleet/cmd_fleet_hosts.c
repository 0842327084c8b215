/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_hosts - `geiger fleet hosts`: which hosts of a service are unlike the others. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/fleet/fleet_ask.h"
#include "cli/pager.h"
#include "fleet/fleet_compare.h"
#include "report/figure.h"
#include "report/text_table.h"
#include "stats/estimate/interval.h"

struct fleet_hosts_options {
	struct gg_fleet_ask_options ask; /* first, because the helpers read it */
	double false_discovery_rate;
};

struct host_row {
	struct gg_fleet_outlier outlier;
	const struct gg_query_row *row;
};

/* The most deviating hosts first. */
static int compare_rows(const void *a, const void *b)
{
	const struct host_row *left = a, *right = b;
	double x = isnan(left->outlier.q_value) ? 2 : left->outlier.q_value;
	double y = isnan(right->outlier.q_value) ? 2 : right->outlier.q_value;

	if (x != y)
		return x < y ? -1 : 1;
	return (left->outlier.value < right->outlier.value) -
	       (left->outlier.value > right->outlier.value);
}

static int find_hosts(const struct gg_query_result *result, struct host_row **ret_rows,
                      struct gg_error *error)
{
	struct host_row *rows = calloc(result->row_count + 1, sizeof(*rows));
	struct gg_fleet_outlier *outliers = calloc(result->row_count + 1, sizeof(*outliers));

	if (rows == NULL || outliers == NULL) {
		free(rows);
		free(outliers);
		return gg_error_memory(error, "fleet hosts");
	}
	for (size_t i = 0; i < result->row_count; i++) {
		struct gg_estimate estimate = gg_tally_estimate(result->rows[i].self,
		                                                result->query.unit);

		outliers[i].value = estimate.value;
		outliers[i].variance = estimate.variance;
	}
	if (gg_fleet_find_outliers(outliers, result->row_count) < 0) {
		free(rows);
		free(outliers);
		return gg_error_memory(error, "fleet hosts");
	}
	for (size_t i = 0; i < result->row_count; i++)
		rows[i] = (struct host_row){ outliers[i], &result->rows[i] };
	free(outliers);
	qsort(rows, result->row_count, sizeof(*rows), compare_rows);
	*ret_rows = rows;
	return 0;
}

static void print_foot(const struct gg_asked_fleet *answer, const struct gg_report *look,
                       const struct fleet_hosts_options *options, size_t count, size_t found)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };

	if (count < GG_FLEET_OUTLIER_HOSTS_LEAST)
		printf("%zu hosts are too few to tell which of them is unlike the others; %d are "
		       "enough.\n",
		       count, GG_FLEET_OUTLIER_HOSTS_LEAST);
	else
		printf("%zu of %zu hosts deviate; expected share of false ones: at most %g %%.\n",
		       found, count, 100 * options->false_discovery_rate);
	if (answer->scope.selected_count < answer->scope.host_count)
		printf("Stacks of %zu of %zu hosts are in the store; the others cannot be "
		       "compared.\n",
		       answer->scope.selected_count, answer->scope.host_count);
	gg_report_append_notes(look, &notes);
	fputs(gg_buf_text(&notes), stdout);
}

static int print_text(const struct gg_invocation *invocation, const struct gg_asked_fleet *answer,
                      const struct gg_query_result *result, const struct host_row *rows)
{
	const struct fleet_hosts_options *options = invocation->options;
	const struct gg_report_options *common = &options->ask.common;
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct gg_report look = { .model = answer->model };
	size_t limit = common->limit == GG_LIMIT_NOT_GIVEN ? 30 : common->limit, found = 0;

	gg_cli_fit_report(common, &invocation->style, &look);
	if (!common->no_head)
		printf("%s %s, by host\n", gg_metric_name(result->query.metric),
		       answer->fleet.when);
	gg_text_table_column(&table, GG_ALIGN_LEFT, "host");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, gg_metric_name(result->query.metric));
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "of median");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "q");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "");
	for (size_t i = 0; i < result->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		const struct gg_fleet_outlier *outlier = &rows[i].outlier;
		bool deviates = outlier->q_value <= options->false_discovery_rate;
		struct gg_figure figure = gg_figure_of(rows[i].row->self, result->query.unit,
		                                       common->confidence, false);

		found += deviates;
		if (limit != 0 && i >= limit)
			continue;
		gg_query_row_label(answer->model, result, rows[i].row, &label);
		gg_figure_append(&look.figures, &figure, &text);
		gg_text_table_cell(&table, "%s", gg_buf_text(&label));
		gg_text_table_cell(&table, "%s", gg_buf_text(&text));
		gg_text_table_cell(&table, "%.2f", outlier->ratio);
		if (isnan(outlier->q_value))
			gg_text_table_cell(&table, "-");
		else
			gg_text_table_cell(&table, "%.2g", outlier->q_value);
		gg_text_table_cell(&table, deviates ? "deviates" : "");
	}
	if (gg_text_table_print(&table, &invocation->style, stdout) < 0)
		return gg_error_memory(invocation->error, "fleet hosts");
	if (!common->no_head)
		print_foot(answer, &look, options, result->row_count, found);
	return 0;
}

static void append_json(const struct gg_invocation *invocation, const struct gg_asked_fleet *answer,
                        const struct gg_query_result *result, const struct host_row *rows,
                        struct gg_buf *out)
{
	const struct fleet_hosts_options *options = invocation->options;
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_number(&json, "confidence", options->ask.common.confidence);
	gg_json_text(&json, "service", answer->fleet.service);
	gg_json_text(&json, "when", answer->fleet.when);
	gg_json_open(&json, "fleet", '{');
	/* A row is one host, so the error between hosts is in none of them. */
	gg_json_text(&json, "error", "sampling");
	gg_json_close(&json);
	gg_json_integer(&json, "hosts", answer->scope.host_count);
	gg_json_integer(&json, "selected_hosts", answer->scope.selected_count);
	gg_json_number(&json, "false_discovery_rate", options->false_discovery_rate);
	gg_report_json_notes(&json, answer->model);
	gg_json_open(&json, "rows", '[');
	for (size_t i = 0; i < result->row_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };
		struct gg_figure figure = gg_figure_of(rows[i].row->self, result->query.unit,
		                                       options->ask.common.confidence, false);

		gg_query_row_label(answer->model, result, rows[i].row, &label);
		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "host", gg_buf_text(&label));
		gg_report_json_figure(&json, "self", &figure);
		gg_json_number(&json, "of_median", rows[i].outlier.ratio);
		gg_json_number(&json, "q_value", rows[i].outlier.q_value);
		gg_json_bool(&json, "deviates",
		             rows[i].outlier.q_value <= options->false_discovery_rate);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

/* The answer, and the estimate of each host. */
struct known_hosts {
	struct gg_asked_fleet answer;
	struct gg_query_result *result;
	struct host_row *rows;
};

static void known_hosts_done(struct known_hosts *known)
{
	free(known->rows);
	gg_query_result_free(known->result);
	gg_cli_asked_fleet_done(&known->answer);
}

static int ask(const struct gg_invocation *invocation, struct known_hosts *known)
{
	struct fleet_hosts_options *options = invocation->options;
	int status = gg_cli_fleet_check_service(invocation, "fleet hosts");

	if (status == 0 &&
	    !(options->false_discovery_rate > 0 && options->false_discovery_rate < 1))
		status = gg_error_set(invocation->error, -EINVAL, "fleet hosts: --rate",
		                      "Give a number such as 0.05.", "%g is not between 0 and 1",
		                      options->false_discovery_rate);
	options->ask.common.by_label = "host";
	options->ask.by_host = true;
	if (status == 0)
		status = gg_cli_fleet_ask(&known->answer, &options->ask, invocation->operands[0],
		                          "fleet hosts", invocation->error);
	if (status == 0)
		status = gg_cli_fleet_model(&known->answer, &options->ask, invocation->error);
	if (status == 0)
		status = gg_query_rows(known->answer.model, &known->answer.query, &known->result,
		                       invocation->error);
	if (status == 0)
		status = find_hosts(known->result, &known->rows, invocation->error);
	return status;
}

static int answer(struct gg_invocation *invocation, struct gg_buf *out)
{
	GG_CLEANUP(known_hosts_done) struct known_hosts known = { 0 };
	int status = ask(invocation, &known);

	if (status == 0)
		append_json(invocation, &known.answer, known.result, known.rows, out);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct fleet_hosts_options *options = invocation->options;
	GG_CLEANUP(known_hosts_done) struct known_hosts known = { 0 };
	int status;

	if (options->ask.common.json)
		return gg_cli_fleet_print(invocation, answer, true);
	status = ask(invocation, &known);
	return status < 0 ? status
	                  : print_text(invocation, &known.answer, known.result, known.rows);
}

#define AT(field) offsetof(struct gg_fleet_ask_options, field)

static const struct gg_option options[] = {
	GG_OPTIONS_SHARED(gg_cli_fleet_metric_options, 0),
	{ "version", 'v', GG_OPTION_TEXT, AT(version), "NAME", "only this version" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	GG_OPTIONS_SHARED(gg_cli_fleet_time_options, 0),
	GG_OPTIONS_SHARED(gg_cli_stack_options, AT(common)),
	{ "rate", 0, GG_OPTION_NUMBER, offsetof(struct fleet_hosts_options, false_discovery_rate),
	  "P", "share of false ones among deviating hosts (0.05)" },
	{ "limit", 'n', GG_OPTION_COUNT, AT(common.limit), "N",
	  "hosts that are shown; 0: all (30)" },
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_hosts = {
	.name = "fleet hosts",
	.summary = "which hosts of a service are unlike the others",
	.usage = "SERVICE [OPTION]...",
	.details = "Compares each host with the median of all.  q is the least rate of false\n"
		   "discoveries at which the host deviates; with --focus the comparison is about\n"
		   "what a function holds.\n"
		   "\n"
		   "  geiger fleet hosts checkout --focus '^cache_insert'\n",
	.options = options,
	.options_size = sizeof(struct fleet_hosts_options),
	.option_defaults = &(const struct fleet_hosts_options){ .ask = { GG_FLEET_ASK_DEFAULTS },
	                                                        .false_discovery_rate = 0.05 },
	.max_operands = 1,
	.run = run,
	.answer = answer,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
};
