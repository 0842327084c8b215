/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_services - `geiger fleet services`: the services of a store and their versions. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "cli/fleet/fleet_ask.h"
#include "cli/fleet/fleet_verbs.h"
#include "cli/pager.h"
#include "fleet/fleet_services.h"
#include "report/figure.h"
#include "report/screen_text.h"
#include "report/text_table.h"

struct services_options {
	struct gg_fleet_place place;
	const char *since, *until;
	bool json, bytes;
	double confidence;
};

static void add_live(struct gg_text_table *table, const struct gg_figure_style *style,
                     const struct gg_fleet_service_row *row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_figure figure = gg_figure_between(row->live_bytes, row->live_low_bytes,
	                                            row->live_high_bytes, GG_BYTES);

	figure.is_unknown = !row->has_live_error;
	if (row->host_count > 0)
		gg_figure_append(style, &figure, &text);
	else
		gg_buf_append_text(&text, "-");
	gg_text_table_cell(table, "%s", gg_buf_text(&text));
}

/* A sum in which some processes are missing is only a lower bound. */
static void add_rss(struct gg_text_table *table, const struct gg_figure_style *style,
                    const struct gg_fleet_service_row *row)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (row->rss_bytes > 0) {
		if (!row->is_rss_complete)
			gg_buf_append_text(&text, style->ascii ? ">= " : "\u2265 ");
		gg_figure_append_number(style, row->rss_bytes, GG_BYTES, &text);
	} else {
		gg_buf_append_text(&text, "-");
	}
	gg_text_table_cell(table, "%s", gg_buf_text(&text));
}

static int print_text(const struct gg_invocation *invocation,
                      const struct gg_fleet_services *services)
{
	const struct services_options *options = invocation->options;
	const struct gg_figure_style style = { .raw = options->bytes,
		                               .ascii = !gg_screen_text_is_utf8() };
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };

	gg_text_table_column(&table, GG_ALIGN_LEFT, "service");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "version");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "hosts");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "drawn");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "live");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "rss");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "last seen");
	for (size_t i = 0; i < services->rows.count; i++) {
		const struct gg_fleet_service_row *row = &services->rows.items[i];
		GG_CLEANUP(gg_buf_done) struct gg_buf seen = { 0 };

		gg_fleet_append_time(row->last_slot_s, &seen);
		gg_text_table_cell(&table, "%s", row->service);
		gg_text_table_cell(&table, "%s", row->version);
		gg_text_table_cell(&table, "%zu", row->host_count);
		gg_text_table_cell(&table, "%zu", row->selected_count);
		add_live(&table, &style, row);
		add_rss(&table, &style, row);
		gg_text_table_cell(&table, "%s", gg_buf_text(&seen));
	}
	if (services->rows.count == 0) {
		puts("no host has sent anything in that time");
	} else if (gg_text_table_print(&table, &invocation->style, stdout) < 0) {
		return gg_error_memory(invocation->error, "fleet services");
	}
	if (gg_cli_fleet_append_delay(services->delay_s, &note))
		printf("note: %s\n", gg_buf_text(&note));
	return 0;
}

static void append_json(const struct gg_fleet_services *services, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf note = { 0 };
	struct gg_json json = { .out = out };

	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_open(&json, "notes", '[');
	if (gg_cli_fleet_append_delay(services->delay_s, &note))
		gg_json_text(&json, NULL, gg_buf_text(&note));
	gg_json_close(&json);
	gg_json_open(&json, "services", '[');
	for (size_t i = 0; i < services->rows.count; i++) {
		const struct gg_fleet_service_row *row = &services->rows.items[i];

		gg_json_open(&json, NULL, '{');
		gg_json_text(&json, "service", row->service);
		gg_json_text(&json, "version", row->version);
		gg_json_integer(&json, "hosts", row->host_count);
		gg_json_integer(&json, "selected_hosts", row->selected_count);
		gg_json_number(&json, "processes", row->process_count);
		gg_json_number(&json, "live_bytes", row->live_bytes);
		gg_json_number(&json, "live_low_bytes",
		               row->has_live_error ? row->live_low_bytes : NAN);
		gg_json_number(&json, "live_high_bytes",
		               row->has_live_error ? row->live_high_bytes : NAN);
		gg_json_number(&json, "rss_bytes", row->rss_bytes);
		gg_json_bool(&json, "rss_is_complete", row->is_rss_complete);
		gg_json_number(&json, "allocated_bytes", row->allocated_bytes);
		gg_json_integer(&json, "last_seen_seconds", row->last_slot_s);
		gg_json_close(&json);
	}
	gg_json_close(&json);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

static int ask(const struct gg_invocation *invocation, struct gg_fleet_services *services)
{
	const struct services_options *options = invocation->options;
	struct gg_clickhouse store = { 0 };
	uint32_t since_s = 0, until_s = UINT32_MAX;
	int status = 0;

	if (!(options->confidence > 0 && options->confidence < 1))
		return gg_error_set(invocation->error, -EINVAL, "fleet services: --confidence",
		                    NULL, "%g is not between 0 and 1", options->confidence);
	if (options->since != NULL)
		status = gg_cli_fleet_time(options->since, "fleet services", "since", &since_s,
		                           invocation->error);
	if (status == 0 && options->until != NULL)
		status = gg_cli_fleet_time(options->until, "fleet services", "until", &until_s,
		                           invocation->error);
	if (status == 0)
		status = gg_cli_fleet_open(&options->place, &store, invocation->error);
	if (status == 0)
		status = gg_fleet_services_of(services, &store,
		                              gg_cli_fleet_tenant(&options->place), since_s,
		                              until_s, options->confidence, invocation->error);
	gg_clickhouse_done(&store);
	return status;
}

static int answer(struct gg_invocation *invocation, struct gg_buf *out)
{
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	int status = ask(invocation, &services);

	if (status == 0)
		append_json(&services, out);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct services_options *options = invocation->options;
	GG_CLEANUP(gg_fleet_services_done) struct gg_fleet_services services = { 0 };
	int status;

	if (options->json)
		return gg_cli_fleet_print(invocation, answer, true);
	status = ask(invocation, &services);
	return status < 0 ? status : print_text(invocation, &services);
}

#define AT(field) offsetof(struct services_options, field)

static const struct gg_option options[] = {
	{ "since", 0, GG_OPTION_TEXT, AT(since), "TIME", "hosts that sent something since then" },
	{ "until", 0, GG_OPTION_TEXT, AT(until), "TIME", "up to this time" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	{ "bytes", 0, GG_OPTION_FLAG, AT(bytes), NULL, "print whole numbers without units" },
	{ "json", 0, GG_OPTION_FLAG, AT(json), NULL, "print JSON" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_services = {
	.name = "fleet services",
	.summary = "the services of a store, their versions and hosts",
	.usage = "[OPTION]...",
	.details =
		"A line for each version of each service: its hosts, those of them whose stacks\n"
		"are in the store, and the live and resident memory of all of them.  The interval\n"
		"holds the error of sampling.  An RSS with a sign before it lacks some processes,\n"
		"so it is a lower bound.\n"
		"\n"
		"  geiger fleet services --since 1d\n",
	.options = options,
	.options_size = sizeof(struct services_options),
	.option_defaults = &(const struct services_options){ .confidence = 0.95 },
	.run = run,
	.answer = answer,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
};
