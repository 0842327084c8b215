/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - describes a command: one entry of a const table, defined in a file of its own.
 *
 * To add a command, write cmd_NAME.c with `const struct gg_command gg_command_NAME`, and list it in
 * commands.c.  Its help and the suggestions for a mistyped name follow from the entry.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/options.h"
#include "report/style.h"

struct gg_command;

/* The arguments of a command's run function. */
struct gg_invocation {
	int operand_count;
	char **operands;
	void *options; /* the command's struct, which the parser fills by its option table */
	struct gg_style style; /* for standard output */
	struct gg_error *error;
	int failure_status; /* exit status of a failure; run() may replace the command's own */
};

/* An exit status, or several such as "128 + N", and when a command has it. */
struct gg_status_meaning {
	const char *status, *meaning;
};

/*
 * Environment variables that a command reads, besides those of every command.  man.c lists them,
 * and derives those of the pager from the option --no-pager.
 */
enum gg_variables {
	GG_READS_WIDTH = 1 << 0,       /* of lines */
	GG_READS_PROFILE = 1 << 1,     /* a profile or a region, whose symbols it may look up */
	GG_READS_DIRECTORIES = 1 << 2, /* in which regions are */
	GG_READS_AGENT = 1 << 3,       /* the agent, and settings for it */
	GG_SENDS = 1 << 4,             /* settings of OpenTelemetry for senders */
	GG_READS_FLEET = 1 << 5,       /* the store of a fleet */
};

struct gg_command {
	const char *name;    /* the name of a verb has its command in front: "lab error" */
	const char *summary; /* a phrase for one line */
	const char *usage;   /* the operands and options behind the name */
	const char *details; /* paragraphs for the help, ending in a newline; or NULL */
	const struct gg_option *options; /* or NULL */
	size_t options_size;             /* size of the struct that the table fills */
	const void *option_defaults;     /* the struct before parsing; NULL: all-zero */
	enum gg_option_mode option_mode;
	int max_operands; /* main refuses more before it calls run; -1: any number */

	/*
	 * The exit status of every failure, wrong requests included, for commands whose other
	 * statuses are those of a program that they run.  0: the statuses 1 and 2 of main.c.
	 */
	int failure_status;

	unsigned int variables; /* enum gg_variables */
	/* All exit statuses, a list that ends in NULL; NULL: 0, 1 and 2 of main.c. */
	const struct gg_status_meaning *exit_statuses;

	/* The verbs of a family, a list that ends in NULL.  A family has no run function. */
	const struct gg_command *const *verbs;

	/*
	 * Does the work.  Returns the exit status, which is 0 or a status that the command's help
	 * explains.  On failure it returns a negative errno value and fills invocation->error:
	 * -EINVAL for a wrong request (exit status 2), any other status for a failure (1).
	 */
	int (*run)(struct gg_invocation *invocation);

	/*
	 * Appends what run() prints with --json, for `geiger serve`.  The result is that of run().
	 * NULL: nothing but run() needs the text.
	 */
	int (*answer)(struct gg_invocation *invocation, struct gg_buf *out);
};

/* All commands, in the order of the overview; NULL ends the list. */
extern const struct gg_command *const gg_commands[];

extern const struct gg_command gg_command_attach;
extern const struct gg_command gg_command_check;
extern const struct gg_command gg_command_clean;
extern const struct gg_command gg_command_control;
extern const struct gg_command gg_command_debug;
extern const struct gg_command gg_command_detach;
extern const struct gg_command gg_command_diff;
extern const struct gg_command gg_command_env;
extern const struct gg_command gg_command_export;
extern const struct gg_command gg_command_fleet;
extern const struct gg_command gg_command_help;
extern const struct gg_command gg_command_html;
extern const struct gg_command gg_command_import;
extern const struct gg_command gg_command_lab;
extern const struct gg_command gg_command_leaks;
extern const struct gg_command gg_command_ls;
extern const struct gg_command gg_command_merge;
extern const struct gg_command gg_command_record;
extern const struct gg_command gg_command_report;
extern const struct gg_command gg_command_salvage;
extern const struct gg_command gg_command_send;
extern const struct gg_command gg_command_serve;
extern const struct gg_command gg_command_sql;
extern const struct gg_command gg_command_pack;
extern const struct gg_command gg_command_symbolize;
extern const struct gg_command gg_command_timeline;
extern const struct gg_command gg_command_top;
extern const struct gg_command gg_command_tree;
extern const struct gg_command gg_command_faults;
extern const struct gg_command gg_command_why;

/* Options that every command takes. */
struct gg_common_options {
	bool help;
	int color; /* enum gg_color */
};
extern const struct gg_option gg_common_option_table[];

/*
 * Options that stand before the command.  The options of gg_common_option_table are valid there,
 * too, as they are after it.
 */
struct gg_global_options {
	struct gg_common_options common;
	bool version;
};
extern const struct gg_option gg_global_option_table[];

#define GG_PROGRAM_USAGE "COMMAND [OPTION]... [ARGUMENT]..."
extern const char gg_program_summary[], gg_program_details[];

/*
 * Finds the command at the start of words[0..count), where count >= 1: one word, or two for a verb
 * of a family.  A family's name alone finds the family.  *ret_used_count is the number of these
 * words.  Returns NULL and names the nearest command in `error` if there is no such command.
 */
const struct gg_command *gg_command_find(char *const *words, int count, int *ret_used_count,
                                         struct gg_error *error);

/*
 * Parses the command's own options into `options`, which begins as its defaults, and those of every
 * command into `common`.  Returns the number of operands, which are then in front, or -EINVAL with
 * the command and the option as the error's place.
 */
GG_MUST_CHECK int gg_command_parse(const struct gg_command *command, int argc, char **argv,
                                   void *options, struct gg_common_options *common,
                                   struct gg_error *error);

/* Print the help for one command, or the overview of all commands, to standard output. */
void gg_help_print_command(const struct gg_command *command, const struct gg_style *style);
void gg_help_print_overview(const struct gg_style *style);
