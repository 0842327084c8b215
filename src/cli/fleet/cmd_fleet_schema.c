/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_schema - `geiger fleet schema`: prints the tables of a store, or makes them. */
#include <stddef.h>
#include <stdio.h>

#include "cli/fleet/fleet_verbs.h"
#include "fleet/fleet_schema.h"

struct schema_options {
	struct gg_fleet_place place;
	const char *cluster;
	bool apply;
};

static int apply(const struct schema_options *options, struct gg_error *error)
{
	struct gg_clickhouse store = { 0 };
	size_t count = 0;
	int status = gg_cli_fleet_open(&options->place, &store, error);

	if (status == 0)
		status = gg_fleet_schema_apply(&store, gg_cli_fleet_tenant(&options->place),
		                               options->cluster, &count, error);
	gg_clickhouse_done(&store);
	if (status == 0 && count > 0)
		printf("made %zu tables; the schema has version %u\n", count,
		       gg_fleet_schema_version());
	else if (status == 0)
		printf("nothing to do; the schema has version %u\n", gg_fleet_schema_version());
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct schema_options *options = invocation->options;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int status;

	if (options->apply)
		return apply(options, invocation->error);
	status = gg_fleet_schema_print(gg_cli_fleet_tenant(&options->place), options->cluster,
	                               &text, invocation->error);
	if (status == 0)
		fputs(gg_buf_text(&text), stdout);
	return status;
}

#define AT(field) offsetof(struct schema_options, field)

static const struct gg_option options[] = {
	{ "apply", 0, GG_OPTION_FLAG, AT(apply), NULL, "run the statements that the store lacks" },
	{ "cluster", 0, GG_OPTION_TEXT, AT(cluster), "NAME",
	  "replicated tables on every server of this cluster" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_schema = {
	.name = "fleet schema",
	.summary = "print the tables of a store, or make them",
	.usage = "[OPTION]...",
	.details =
		"Prints the SQL statements that make the tables.  With --apply it runs those that\n"
		"the store has not seen; it never changes or removes a column.\n"
		"\n"
		"  geiger fleet schema --cluster main | less\n"
		"  geiger fleet schema --apply --store http://127.0.0.1:8123\n",
	.options = options,
	.options_size = sizeof(struct schema_options),
	.run = run,
	.variables = GG_READS_FLEET,
};
