/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ls - `geiger ls` and `geiger clean`: list and remove the regions on this machine.
 *
 * A region outlives its process, so that somebody can read it after a crash.  The regions of
 * programs that ran without a recorder stay until `geiger clean` removes them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/command.h"
#include "record/regions/region_list.h"
#include "record/regions/region_state.h"
#include "region/reader/view.h"
#include "report/screen_text.h"
#include "report/text_table.h"

enum { TIME_TEXT_MAX = 16, LEAST_COMMAND_WIDTH = 16 };

struct ls_options {
	bool paths;
};

/* A table of regions, and how it shows them. */
struct listing {
	struct gg_text_table table;
	bool has_paths;
};

/* Formats an age in one unit: "42s", "17m", "3h", "5d". */
static const char *format_age(double seconds, char text[TIME_TEXT_MAX])
{
	if (seconds < 100)
		snprintf(text, TIME_TEXT_MAX, "%.0fs", seconds);
	else if (seconds < 6000)
		snprintf(text, TIME_TEXT_MAX, "%.0fm", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(text, TIME_TEXT_MAX, "%.0fh", seconds / 3600);
	else
		snprintf(text, TIME_TEXT_MAX, "%.0fd",
		         seconds / 86400 < 1e6 ? seconds / 86400 : 1e6);
	return text;
}

/* Adds a region to the table.  The path is the last column, so that it can be copied whole. */
static int add_row(const struct gg_listed_region *file, void *context)
{
	struct listing *listing = context;
	struct gg_text_table *table = &listing->table;
	char size[GG_SIZE_TEXT_MAX], age[TIME_TEXT_MAX];
	uint64_t now_ns = gg_clock_wall_ns();
	/* Only a complete region has times; the cells of another file stay empty. */
	bool is_whole = file->kind == GG_LISTED_REGION_WHOLE;

	gg_text_table_cell(table, "%" PRIu32, file->pid);
	/* With paths, a recorded region has a mark behind its path. */
	gg_text_table_cell(table, "%s",
	                   gg_region_state(file, listing->has_paths ? GG_REGION_STATE_PROCESS
	                                                            : GG_REGION_STATE_SAMPLING));
	gg_text_table_cell(table, "%s",
	                   is_whole && file->start_wall_ns < now_ns
	                           ? format_age((double)(now_ns - file->start_wall_ns) * 1e-9, age)
	                           : "");
	gg_text_table_cell(table, "%s",
	                   is_whole && !file->is_alive ? format_age(file->idle_seconds, age) : "");
	gg_text_table_cell(table, "%s", gg_size_format((double)file->disk_bytes, size));
	gg_text_table_cell(table, "%" PRIu64, file->sample_count);
	gg_text_table_cell(table, "%" PRIu64, file->live_count);
	gg_text_table_cell(table, "%s", file->command);
	if (listing->has_paths)
		gg_text_table_cell(table, "%s%s", file->path,
		                   file->is_recorded ? " (being recorded)" : "");
	return 0;
}

static int fill(struct listing *listing, const struct gg_invocation *invocation)
{
	struct gg_text_table *table = &listing->table;

	gg_text_table_column(table, GG_ALIGN_RIGHT, "pid");
	gg_text_table_column(table, GG_ALIGN_LEFT, "state");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "began");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "ended");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "takes");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "samples");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "live");
	gg_text_table_column(table, GG_ALIGN_LEFT, "command");
	if (listing->has_paths)
		gg_text_table_column(table, GG_ALIGN_LEFT, "region");
	return gg_region_list_each(invocation->operands, invocation->operand_count, add_row,
	                           listing, invocation->error);
}

/* The room for commands beside the other columns; commands are the last column. */
static size_t room_for_commands(const struct gg_text_table *table, size_t width)
{
	size_t used = 0;

	for (size_t i = 0; i + 1 < table->column_count; i++)
		used += table->width[i] + 2;
	return width > used + LEAST_COMMAND_WIDTH ? width - used : LEAST_COMMAND_WIDTH;
}

/*
 * On a terminal, commands are cut at its width, and paths are shown on request.  Files and pipes
 * get everything, because a program may read it.
 */
static int run_ls(struct gg_invocation *invocation)
{
	const struct ls_options *options = invocation->options;
	size_t width = gg_screen_text_name_width(STDOUT_FILENO);
	struct listing listing = { .has_paths = options->paths || width == SIZE_MAX };
	int status = fill(&listing, invocation);

	if (!listing.has_paths)
		listing.table.last_width_max = room_for_commands(&listing.table, width);
	if (status == 0 && listing.table.cell_count == 0)
		puts("no regions");
	else if (status == 0 && gg_text_table_print(&listing.table, &invocation->style, stdout) < 0)
		status = gg_error_memory(invocation->error, "ls");
	gg_text_table_done(&listing.table);
	return status;
}

static const struct gg_option ls_option_table[] = {
	{ "long", 'l', GG_OPTION_FLAG, offsetof(struct ls_options, paths), NULL,
	  "whole commands, and the paths of regions" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_ls = {
	.name = "ls",
	.summary = "list the regions that agents keep on this machine",
	.usage = "[OPTION]... [DIRECTORY]...",
	.details =
		"Looks in the given directories; without any in GEIGER_DIR, /dev/shm, $TMPDIR\n"
		"and /tmp, and in the directories of sessions there. The state of a process to\n"
		"which 'geiger attach' came is attached, or inherited if it was forked later;\n"
		"detached: it runs on without the agent. 'ended' is the time since\n"
		"the last event of a process that is gone. A region is a file: 'geiger salvage'\n"
		"makes a profile of it, and every report reads it. A terminal shows what fits,\n"
		"and the state recorded or off of a process that a recorder records or whose\n"
		"sampling is off; a pipe gets whole commands and paths.\n",
	.options = ls_option_table,
	.options_size = sizeof(struct ls_options),
	.max_operands = -1,
	.run = run_ls,
	.variables = GG_READS_WIDTH | GG_READS_DIRECTORIES,
};

struct clean_options {
	double older_seconds; /* 0: not given */
	uint64_t keep_count;  /* UINT64_MAX: not given */
	bool all, dry_run, quiet;
};

static const struct clean_options clean_defaults = { .keep_count = UINT64_MAX };

static const struct gg_option clean_option_table[] = {
	{ "older-than", 0, GG_OPTION_TIME, offsetof(struct clean_options, older_seconds), "TIME",
	  "only what ended longer ago: 90, 10m, 2h, 7d (1d)" },
	{ "keep", 'k', GG_OPTION_COUNT, offsetof(struct clean_options, keep_count), "N",
	  "all but the newest N of each directory" },
	{ "all", 'a', GG_OPTION_FLAG, offsetof(struct clean_options, all), NULL,
	  "however short ago it ended" },
	{ "dry-run", 'n', GG_OPTION_FLAG, offsetof(struct clean_options, dry_run), NULL,
	  "list what would be removed, and remove nothing" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct clean_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static int print_path(const char *path, void *context)
{
	(void)context;
	puts(GG_PRINTABLE(path));
	return 0;
}

static void tell_removed(const struct gg_clean *clean)
{
	uint64_t regions = clean->removed_count - clean->removed_profile_count,
		 profiles = clean->removed_profile_count, streams = clean->removed_stream_count;
	char size[GG_SIZE_TEXT_MAX];

	fprintf(stderr, "geiger: %s %" PRIu64 " region%s",
	        clean->dry_run ? "would remove" : "removed", regions, regions == 1 ? "" : "s");
	if (streams > 0)
		fprintf(stderr, "%s %" PRIu64 " .NET event file%s", profiles > 0 ? "," : " and",
		        streams, streams == 1 ? "" : "s");
	if (profiles > 0)
		fprintf(stderr, " and %" PRIu64 " profile%s", profiles, profiles == 1 ? "" : "s");
	fprintf(stderr, ", %s\n", gg_size_format((double)clean->removed_bytes, size));
	if (clean->young_count > 0)
		fprintf(stderr,
		        "geiger: %" PRIu64 " region%s ended only recently; --all includes %s\n",
		        clean->young_count, clean->young_count == 1 ? "" : "s",
		        clean->young_count == 1 ? "it" : "them");
}

static int run_clean(struct gg_invocation *invocation)
{
	const struct clean_options *given = invocation->options;
	struct gg_clean clean = {
		.older_seconds = given->older_seconds,
		.by_count = given->keep_count != UINT64_MAX,
		.keep_count = given->keep_count,
		.dry_run = given->dry_run,
		.removed = given->quiet ? NULL : print_path,
	};
	int status;

	/*
	 * --all removes regions of any age.  Without a criterion the command spares the regions of
	 * the last day, so that somebody can still examine them.
	 */
	if (given->all)
		clean.older_seconds = 0;
	else if (given->older_seconds == 0 && !clean.by_count)
		clean.older_seconds = 24 * 3600;
	status = gg_region_list_clean(invocation->operands, invocation->operand_count, &clean,
	                              invocation->error);
	if (status == 0 && !given->quiet)
		tell_removed(&clean);
	return status;
}

const struct gg_command gg_command_clean = {
	.name = "clean",
	.summary = "remove the regions of processes that are gone",
	.usage = "[OPTION]... [DIRECTORY]...",
	.details = "Of what 'geiger ls' lists it removes the dead: not what belongs to a living\n"
		   "process or to a session that is being recorded, and nothing that is not a\n"
		   "region. Prints the name of each.  What ended within a day stays, so that\n"
		   "somebody can still look why.\n"
		   "\n"
		   "With --keep the newest N of each directory stay, whatever their age, unless\n"
		   "--older-than says so, too. Then it also removes profiles, NAME.geiger, of the\n"
		   "directories that are given, down to the newest N of them.\n",
	.options = clean_option_table,
	.options_size = sizeof(struct clean_options),
	.option_defaults = &clean_defaults,
	.max_operands = -1,
	.run = run_clean,
	.variables = GG_READS_DIRECTORIES,
};
