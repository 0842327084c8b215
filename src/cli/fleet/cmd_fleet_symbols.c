/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_symbols - `geiger fleet symbols`: names for the frames of stripped programs. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/fleet/fleet_verbs.h"
#include "fleet/fleet_symbols.h"

struct symbols_options {
	struct gg_fleet_place place;
	const char *debug_dir, *root;
	bool offline, dry_run;
	uint64_t fetch_count, fetch_bytes;
	double fetch_seconds;
};

static void print_module(const struct gg_fleet_symbolized_module *module)
{
	char build_id[17];

	snprintf(build_id, sizeof(build_id), "%.16s", module->build_id);
	printf("%s (%s): %zu of %zu frames", GG_PRINTABLE(module->path), GG_PRINTABLE(build_id),
	       module->named_count, module->frame_count);
	if (module->named_count < module->frame_count)
		printf(", %s", module->text[0] != '\0' ? GG_PRINTABLE(module->text)
		                                       : gg_symbol_status_text(module->status));
	printf("\n");
}

static void print_fetches(const struct gg_fleet_symbolized *result)
{
	if (result->has_failed_fetch)
		printf("debuginfod did not answer; geiger did not ask it about %zu more files\n",
		       result->unfetched_count);
	else if (result->unfetched_count > 0)
		printf("geiger sent debuginfod %u requests; %zu more would be beyond --fetch-most, "
		       "--fetch-size or --fetch-time\n",
		       result->fetch_count, result->unfetched_count);
}

static int run(struct gg_invocation *invocation)
{
	const struct symbols_options *options = invocation->options;
	GG_CLEANUP(gg_fleet_symbolized_done) struct gg_fleet_symbolized result = { 0 };
	const char *const debug_dirs[] = { options->debug_dir, NULL };
	const struct gg_fleet_symbols_plan plan = {
		.tenant = gg_cli_fleet_tenant(&options->place),
		.files = (const char *const *)invocation->operands,
		.file_count = (size_t)invocation->operand_count,
		.debug_dirs = options->debug_dir != NULL ? debug_dirs : NULL,
		.root = options->root,
		.offline = options->offline,
		.is_dry_run = options->dry_run,
		.fetch_count = (unsigned)(options->fetch_count < UINT_MAX ? options->fetch_count
		                                                          : UINT_MAX),
		.fetch_seconds = options->fetch_seconds,
		.fetch_bytes = options->fetch_bytes,
	};
	struct gg_clickhouse store = { 0 };
	int status = gg_cli_fleet_open(&options->place, &store, invocation->error);

	if (status == 0)
		status = gg_fleet_symbolize(&store, &plan, &result, invocation->error);
	gg_clickhouse_done(&store);
	if (status < 0)
		return status;
	for (size_t i = 0; i < result.modules.count; i++)
		print_module(&result.modules.items[i]);
	print_fetches(&result);
	printf("%s %zu of %zu frames without a name\n", options->dry_run ? "would name" : "named",
	       result.named_count, result.frame_count);
	return 0;
}

#define AT(field) offsetof(struct symbols_options, field)

static const struct gg_option options[] = {
	{ "debug-dir", 0, GG_OPTION_TEXT, AT(debug_dir), "DIR",
	  "a folder like /usr/lib/debug, asked first" },
	{ "root", 0, GG_OPTION_TEXT, AT(root), "DIR",
	  "paths that hosts sent lead to files below it alone" },
	{ "offline", 0, GG_OPTION_FLAG, AT(offline), NULL, "ask no debuginfod server" },
	{ "fetch-most", 0, GG_OPTION_COUNT, AT(fetch_count), "N",
	  "requests to debuginfod servers, at most; 200" },
	{ "fetch-size", 0, GG_OPTION_SIZE, AT(fetch_bytes), "SIZE",
	  "largest file to take, and an eighth of all; 1GiB" },
	{ "fetch-time", 0, GG_OPTION_TIME, AT(fetch_seconds), "TIME",
	  "for all of these requests together; 10m" },
	{ "dry-run", 'n', GG_OPTION_FLAG, AT(dry_run), NULL,
	  "change nothing; say what would be named" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_symbols = {
	.name = "fleet symbols",
	.summary = "name the functions of stripped programs",
	.usage = "[FILE]... [OPTION]...",
	.details =
		"Hosts that run stripped programs send build-ids and addresses.  This command\n"
		"finds the names of these frames in the programs, libraries and debug files that\n"
		"it is given, in those of this machine, and by debuginfod if DEBUGINFOD_URLS is\n"
		"set.  It can be repeated.\n"
		"\n"
		"  geiger fleet symbols build/server build/libparse.so\n"
		"  geiger fleet symbols --debug-dir /srv/debug\n",
	.options = options,
	.options_size = sizeof(struct symbols_options),
	.option_defaults = &(const struct symbols_options){ .fetch_count = 200,
	                                                    .fetch_bytes = 1 << 30,
	                                                    .fetch_seconds = 600 },
	.max_operands = -1,
	.run = run,
	.variables = GG_READS_PROFILE | GG_READS_FLEET,
};
