/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_receive - `geiger fleet receive`: takes slots, and inserts them into a store. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "cli/fleet/fleet_verbs.h"
#include "fleet/fleet_wire.h"
#include "fleet/receive.h"

struct receive_options {
	const char *store, *listen, *directory, *tokens, *scrape;
	uint64_t queue_bytes, tenant_rate, hosts_per_service;
	double oldest_seconds, timeout_seconds, slot_seconds;
	bool quiet;
};

static void announce(const char *url, void *context)
{
	(void)context;
	printf("%s\n", url);
	/* A script may read the URL through a pipe. */
	fflush(stdout);
}

static void tell(const char *text, void *context)
{
	const struct receive_options *options = context;

	if (!options->quiet)
		fprintf(stderr, "geiger: receive: %s\n", GG_PRINTABLE(text));
}

/* systemd's StateDirectory, or the user's directory of states. */
static int find_directory(const struct receive_options *options, struct gg_buf *out,
                          struct gg_error *error)
{
	const char *service = getenv("STATE_DIRECTORY"), *home = getenv("HOME");
	const char *states = getenv("XDG_STATE_HOME");

	if (options->directory != NULL)
		gg_buf_append_text(out, options->directory);
	else if (service != NULL && service[0] != '\0')
		gg_buf_append_text(out, service);
	else if (states != NULL && states[0] == '/')
		gg_buf_printf(out, "%s/geiger/receive", states);
	else if (home != NULL && home[0] == '/')
		gg_buf_printf(out, "%s/.local/state/geiger/receive", home);
	else
		return gg_error_set(error, -EINVAL, "fleet receive", "Give --directory DIR.",
		                    "there is no place for segments");
	return out->failed ? gg_error_memory(error, "fleet receive") : 0;
}

enum { REPLICAS_MOST = 8 };

/* Opens the replicas of a list "URL,URL". */
static int open_stores(const char *list, struct gg_clickhouse *stores, size_t *ret_count,
                       struct gg_error *error)
{
	char *copy = strdup(list != NULL ? list : ""), *rest = copy, *name;
	int status = copy != NULL ? 0 : gg_error_memory(error, "fleet receive");

	*ret_count = 0;
	while (status == 0 && (name = strsep(&rest, ",")) != NULL) {
		const struct gg_fleet_place place = { .store = name[0] != '\0' ? name : NULL };

		if (*ret_count == REPLICAS_MOST)
			status = gg_error_set(error, -EINVAL, "fleet receive: --store", NULL,
			                      "a shard has at most %d replicas", REPLICAS_MOST);
		if (status == 0)
			status = gg_cli_fleet_open(&place, &stores[*ret_count], error);
		*ret_count += status == 0;
	}
	free(copy);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct receive_options *options = invocation->options;
	GG_CLEANUP(gg_buf_done) struct gg_buf directory = { 0 };
	struct gg_clickhouse stores[REPLICAS_MOST] = { 0 };
	struct gg_receive_options receive = {
		.store = stores,
		.listen = options->listen,
		.tokens = options->tokens,
		.queue_bytes = options->queue_bytes,
		.tenant_rate = options->tenant_rate,
		.oldest_seconds = options->oldest_seconds,
		.hosts_per_service = (uint32_t)options->hosts_per_service,
		.scrape = options->scrape,
		.slot_seconds = (uint32_t)options->slot_seconds,
		.announce = announce,
		.tell = tell,
		.context = invocation->options,
	};
	int status;

	if (options->hosts_per_service > 1000000)
		return gg_error_set(invocation->error, -EINVAL, "fleet receive: --hosts",
		                    "Give a number such as 128.", "at most a million hosts");
	if (options->slot_seconds < GG_FLEET_SLOT_SECONDS_LEAST ||
	    options->slot_seconds > GG_FLEET_SLOT_SECONDS_MOST)
		return gg_error_set(invocation->error, -EINVAL, "fleet receive: --slot",
		                    "Give a time such as 10m.", "a slot has 1 second to 1 day");
	status = find_directory(options, &directory, invocation->error);
	if (status == 0)
		status = open_stores(options->store, stores, &receive.store_count,
		                     invocation->error);
	receive.directory = gg_buf_text(&directory);
	for (size_t i = 0; i < receive.store_count; i++)
		stores[i].timeout_seconds = options->timeout_seconds;
	if (status == 0)
		status = gg_receive_run(&receive, invocation->error);
	for (size_t i = 0; i < receive.store_count; i++)
		gg_clickhouse_done(&stores[i]);
	return status;
}

#define AT(field) offsetof(struct receive_options, field)

static const struct gg_option options[] = {
	{ "store", 0, GG_OPTION_TEXT, AT(store), "URL|DIR",
	  "ClickHouse, or the directory of 'fleet up'; URL,URL" },
	{ "listen", 'l', GG_OPTION_TEXT, AT(listen), "ADDRESS:PORT",
	  "address and port (127.0.0.1 and any free port)" },
	{ "directory", 0, GG_OPTION_TEXT, AT(directory), "DIR",
	  "for segments that wait; see geiger-fleet-receive(1)" },
	{ "tokens", 0, GG_OPTION_TEXT, AT(tokens), "FILE", "lines 'TOKEN TENANT', or 'TOKEN *'" },
	{ "queue", 0, GG_OPTION_SIZE, AT(queue_bytes), "SIZE",
	  "of segments that wait, before hosts must (1GiB)" },
	{ "tenant-rate", 0, GG_OPTION_SIZE, AT(tenant_rate), "SIZE",
	  "bytes a second of a tenant, unpacked (4MiB)" },
	{ "oldest", 0, GG_OPTION_TIME, AT(oldest_seconds), "TIME",
	  "refuse slots that are older (2d)" },
	{ "scrape", 0, GG_OPTION_TEXT, AT(scrape), "FILE",
	  "of targets, whose heaps are fetched once a slot" },
	{ "slot", 0, GG_OPTION_TIME, AT(slot_seconds), "TIME", "of what other agents send (10m)" },
	{ "hosts", 0, GG_OPTION_COUNT, AT(hosts_per_service), "N",
	  "hosts of a service that send stacks; 0: all (0)" },
	{ "timeout", 0, GG_OPTION_TIME, AT(timeout_seconds), "TIME", "of an insert (60s)" },
	{ "quiet", 'q', GG_OPTION_FLAG, AT(quiet), NULL, "report no outages of the store" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "SIGINT or SIGTERM ended it" },
	{ "1", "it could not begin: the port is taken, or the directory is in use" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_fleet_receive = {
	.name = "fleet receive",
	.summary = "take slots of many hosts, and insert them into a store",
	.usage = "[--store URL|DIR] [OPTION]...",
	.details =
		"Hosts send slots to it: 'geiger send --to fleet://HOST:PORT'.  It writes each to\n"
		"its directory, answers, and inserts it into ClickHouse.  A kill at any moment\n"
		"loses nothing, and counts nothing twice.  While the store is away, slots wait\n"
		"in the directory.\n\n"
		"It also takes heap profiles that agents of Pyroscope and OpenTelemetry push.\n\n"
		"Without --tokens it listens on this machine alone.  It speaks no TLS: put a\n"
		"proxy before it (docs/FLEET.md).  /healthz and /metrics need no token.\n\n"
		"  geiger fleet receive --store http://127.0.0.1:8123 --listen 127.0.0.1:7117\n"
		"  geiger fleet receive --store /var/lib/fleet --listen 10.0.0.1:7117 \\\n"
		"    --tokens /etc/geiger/tokens\n",
	.options = options,
	.options_size = sizeof(struct receive_options),
	.option_defaults = &(const struct receive_options){ .queue_bytes = UINT64_C(1) << 30,
	                                                    .tenant_rate = UINT64_C(4) << 20,
	                                                    .oldest_seconds = 2 * 86400.0,
	                                                    .slot_seconds = 600,
	                                                    .timeout_seconds = 60 },
	.run = run,
	.variables = GG_READS_DIRECTORIES,
	.exit_statuses = exit_statuses,
};
