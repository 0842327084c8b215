/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_up - `geiger fleet up` and `geiger fleet down`: a store for one machine. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/printable.h"
#include "base/size.h"
#include "cli/fleet/fleet_verbs.h"
#include "fleet/fleet_schema.h"
#include "fleet/store_server.h"

struct up_options {
	uint64_t port, memory_bytes;
	const char *tenant;
	double wait_seconds;
};

enum { LEAST_MEMORY_MIB = 256 };

static int check_directory(const struct gg_invocation *invocation, const char *verb)
{
	if (invocation->operand_count == 1)
		return 0;
	return gg_error_set(invocation->error, -EINVAL, verb,
	                    "Name one, such as /var/lib/geiger-fleet.",
	                    "needs the directory of the store");
}

static int check_up(const struct gg_invocation *invocation)
{
	const struct up_options *options = invocation->options;

	if (options->port > UINT16_MAX)
		return gg_error_set(invocation->error, -EINVAL, "fleet up: --port", NULL,
		                    "%llu is not a port", (unsigned long long)options->port);
	if (options->memory_bytes < (uint64_t)LEAST_MEMORY_MIB << 20)
		return gg_error_set(invocation->error, -EINVAL, "fleet up: --memory", NULL,
		                    "a store needs at least %d MiB", LEAST_MEMORY_MIB);
	return check_directory(invocation, "fleet up");
}

/* Makes the tables, so that the store can be used at once. */
static int make_tables(const char *directory, const char *tenant, struct gg_error *error)
{
	struct gg_clickhouse store = { 0 };
	size_t count;
	int status = gg_store_open(&store, directory, error);

	if (status == 0)
		status = gg_fleet_schema_apply(&store, tenant, NULL, &count, error);
	gg_clickhouse_done(&store);
	return status;
}

static int run_up(struct gg_invocation *invocation)
{
	const struct up_options *options = invocation->options;
	const struct gg_store_plan plan = { .port = (uint16_t)options->port,
		                            .memory_bytes = options->memory_bytes,
		                            .wait_seconds = options->wait_seconds };
	struct gg_store_server server;
	int status = check_up(invocation);
	const char *directory;

	if (status < 0)
		return status;
	directory = invocation->operands[0];
	status = gg_store_server_start(directory, &plan, &server, invocation->error);
	if (status == 0)
		status = make_tables(directory, options->tenant, invocation->error);
	if (status == 0)
		printf("%s at http://127.0.0.1:%u (process %ld)\n"
		       "ask it by --store %s, or by GEIGER_FLEET_STORE=%s\n",
		       server.was_running ? "the store runs already" : "the store is ready",
		       server.port, (long)server.pid, GG_PRINTABLE(directory),
		       GG_PRINTABLE(directory));
	return status;
}

static int run_down(struct gg_invocation *invocation)
{
	bool was_running = false;
	int status = check_directory(invocation, "fleet down");

	if (status == 0)
		status = gg_store_server_stop(invocation->operands[0], &was_running,
		                              invocation->error);
	if (status == 0)
		printf(was_running ? "the store has stopped; its data stays in %s\n"
		                   : "the store in %s was not running\n",
		       GG_PRINTABLE(invocation->operands[0]));
	return status;
}

#define AT(field) offsetof(struct up_options, field)

static const struct gg_option up_options[] = {
	{ "port", 0, GG_OPTION_COUNT, AT(port), "N", "port on 127.0.0.1 (a free one)" },
	{ "memory", 0, GG_OPTION_SIZE, AT(memory_bytes), "SIZE",
	  "the most that all queries together may use (1GiB)" },
	{ "tenant", 0, GG_OPTION_TEXT, AT(tenant), "NAME",
	  "make the tables in this database (default)" },
	{ "wait", 0, GG_OPTION_TIME, AT(wait_seconds), "TIME",
	  "how long to wait for its first answer (60s)" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_up = {
	.name = "fleet up",
	.summary = "start a store for one machine",
	.usage = "DIR [OPTION]...",
	.details =
		"Starts the system's clickhouse-server on 127.0.0.1, with configuration, data and\n"
		"logs below DIR, and makes the tables.  It needs no root.  A store that runs\n"
		"already is left as it is.\n"
		"\n"
		"  geiger fleet up ~/fleet\n"
		"  geiger fleet services --store ~/fleet\n",
	.options = up_options,
	.options_size = sizeof(struct up_options),
	.option_defaults = &(const struct up_options){ .memory_bytes = UINT64_C(1) << 30,
	                                               .tenant = "default",
	                                               .wait_seconds = 60 },
	.max_operands = 1,
	.run = run_up,
};

const struct gg_command gg_command_fleet_down = {
	.name = "fleet down",
	.summary = "stop the store that `fleet up` started",
	.usage = "DIR",
	.details = "Stops the server of DIR and waits for its end.  The data stays.\n",
	.max_operands = 1,
	.run = run_down,
};
