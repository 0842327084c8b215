/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_serve - `geiger serve`: shows the page of a profile, a folder or a process over HTTP.
 *
 * The server listens on loopback unless --listen names another address, and every request needs the
 * token in the printed URL (serve.h).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fleet/fleet_page.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "serve/serve.h"

struct serve_options {
	const char *listen, *pid;
	struct gg_fleet_place fleet;
	double confidence;
	bool with_source, pull;
	const char *source_path; /* FROM=TO */
};

static void announce(const char *url, bool is_public, void *context)
{
	(void)context;
	printf("%s\n", url);
	/*
	 * A script may read the URL through a pipe, so it must arrive before the server waits for
	 * requests.
	 */
	fflush(stdout);
	if (is_public)
		fputs("geiger: other machines can reach it; nothing is encrypted, the token "
		      "neither\n",
		      stderr);
	fputs("geiger: open this address; Ctrl-C ends it\n", stderr);
}

/*
 * Refuses options that a fleet does not have, and a malformed address.  The store itself may be
 * away.
 */
static int check_fleet(const struct serve_options *options, bool has_path, struct gg_error *error)
{
	struct gg_clickhouse store = { 0 };
	int status;

	if (options->fleet.store == NULL)
		return options->fleet.tenant == NULL
		               ? 0
		               : gg_error_set(error, -EINVAL, "serve: --tenant",
		                              "Give --fleet as well.",
		                              "a tenant is one of a fleet's store");
	if (has_path || options->pid != NULL)
		return gg_error_set(error, -EINVAL, "serve",
		                    "Give a profile, a folder, --pid, or --fleet.",
		                    "a fleet and a profile or process were given");
	if (options->pull)
		return gg_error_set(error, -EINVAL, "serve: --pull",
		                    "'geiger fleet rules' makes metrics of a fleet.",
		                    "scrapers read profiles and processes, not a fleet");
	if (options->with_source || options->source_path != NULL)
		return gg_error_set(error, -EINVAL, "serve: --source", NULL,
		                    "a fleet has no source lines");
	status = gg_cli_fleet_open(&options->fleet, &store, error);
	gg_clickhouse_done(&store);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct serve_options *options = invocation->options;
	bool is_pid = invocation->operand_count == 1 && gg_cli_is_pid(invocation->operands[0]);
	bool has_path = invocation->operand_count == 1;
	struct gg_progress_line line;
	int status;
	struct gg_fleet_page page = { options->fleet, options->confidence };
	const struct gg_serve_fleet fleet = { gg_cli_fleet_page_answer, &page };
	struct gg_serve_options serve = {
		.path = is_pid     ? NULL
		        : has_path ? invocation->operands[0]
		        : options->pid == NULL && options->fleet.store == NULL ? "."
		                                                               : NULL,
		.process = is_pid ? invocation->operands[0] : options->pid,
		.fleet = options->fleet.store != NULL ? &fleet : NULL,
		.listen = options->listen,
		.confidence = options->confidence,
		.with_source = options->with_source || options->source_path != NULL,
		.source_path = options->source_path,
		.pull = options->pull,
		.announce = announce,
		.progress = &line.progress,
	};

	if (has_path && options->pid != NULL)
		return gg_error_set(invocation->error, -EINVAL, "serve",
		                    "Give a profile, a folder, or --pid.",
		                    "a file and a process were given");
	status = check_fleet(options, has_path, invocation->error);
	if (status < 0)
		return status;
	if (!(options->confidence > 0 && options->confidence < 1))
		return gg_error_set(invocation->error, -EINVAL, "serve: --confidence",
		                    "Give a number such as 0.95.", "%g is not between 0 and 1",
		                    options->confidence);
	if (options->source_path != NULL && strchr(options->source_path, '=') == NULL)
		return gg_error_set(invocation->error, -EINVAL, "serve: --source-path",
		                    "Give two folders, such as /build=/home/me/src.",
		                    "there is no '=' in it");
	gg_progress_line_init(&line);
	status = gg_serve_run(&serve, invocation->error);
	gg_progress_line_end(&line);
	return status;
}

#define AT(field) offsetof(struct serve_options, field)

static const struct gg_option options[] = {
	{ "pid", 'p', GG_OPTION_TEXT, AT(pid), "PID", "a process that runs, or its region" },
	{ "fleet", 0, GG_OPTION_TEXT, AT(fleet.store), "URL|DIR",
	  "a fleet's store: its address, or DIR of fleet up" },
	{ "tenant", 0, GG_OPTION_TEXT, AT(fleet.tenant), "NAME",
	  "with --fleet: a database of the store (default)" },
	{ "listen", 'l', GG_OPTION_TEXT, AT(listen), "ADDRESS:PORT",
	  "address and port (127.0.0.1 and any free port)" },
	{ "source", 0, GG_OPTION_FLAG, AT(with_source), NULL,
	  "put source lines of the largest functions in pages" },
	{ "source-path", 0, GG_OPTION_TEXT, AT(source_path), "FROM=TO",
	  "with --source: look for files of folder FROM in TO" },
	{ "pull", 0, GG_OPTION_FLAG, AT(pull), NULL, "scrapers on this machine need no token" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "SIGINT or SIGTERM ended it" },
	{ "1",
	  "it could not begin: the port is taken, there is no such process, or the file is not a profile" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_serve = {
	.name = "serve",
	.summary = "the page of a profile, a folder, a process or a fleet",
	.usage = "[PROFILE|FOLDER|PID|--fleet URL] [OPTION]...",
	.details = "Prints an address that has a secret token in it, and answers until Ctrl-C.  A\n"
		   "process, and a profile that is being recorded, are shown as they are now,\n"
		   "every second.  Without an argument it is the folder that you are in.\n\n"
		   "  geiger serve redis.geiger\n"
		   "  geiger serve profiles/ --listen 127.0.0.1:8080\n"
		   "  geiger serve 4711\n"
		   "  geiger serve --fleet http://127.0.0.1:8123\n"
		   "  geiger serve --pid 4711 --pull --listen 127.0.0.1:6060\n"
		   "  go tool pprof http://127.0.0.1:6060/debug/pprof/heap\n",
	.options = options,
	.options_size = sizeof(struct serve_options),
	.option_defaults = &(const struct serve_options){ .confidence = 0.95 },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_PROFILE | GG_READS_DIRECTORIES,
	.exit_statuses = exit_statuses,
};
