/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - what a command is: one entry of a const table, defined in a file of its own.
 *
 * To add one: write cmd_NAME.c with `const struct gg_command gg_command_NAME`, and list it in
 * commands.c.  Its help and the suggestions for a mistyped name follow from the entry.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"
#include "report/style.h"

struct gg_command;

/* What a command's run function is given. */
struct gg_invocation {
	int operand_count;
	char **operands;
	void *options;         /* the command's struct, filled by its option table */
	struct gg_style style; /* for standard output */
	struct gg_error *error;
	int failure_status; /* that it exits with if it fails; the command's to begin with */
};

struct gg_command {
	const char *name;                /* of a verb, with its command: "lab error" */
	const char *summary;             /* a phrase for one line */
	const char *usage;               /* what follows the name */
	const char *details;             /* paragraphs for the help, ending in a newline; or NULL */
	const struct gg_option *options; /* or NULL */
	size_t options_size;             /* of the struct that the table fills */
	const void *option_defaults;     /* what it starts as; NULL: all-zero */
	enum gg_option_mode option_mode;
	int max_operands; /* more are refused before run is called; -1: any number */

	/* Exit status of every failure, also of a wrong request, where others stand for those of a
	 * program that it runs; 0: 1 and 2, as main.c has it. */
	int failure_status;

	/* A command that is a family has verbs, a list that ends in NULL, and no run function. */
	const struct gg_command *const *verbs;

	/*
	 * Does the work.  Returns the exit status, 0 or one that the command's help explains, or a
	 * negative errno value with invocation->error filled: -EINVAL for a wrong request (exit
	 * status 2), any other for a failure (1).
	 */
	int (*run)(struct gg_invocation *invocation);
};

/* All commands, in the order of the overview; NULL ends the list. */
extern const struct gg_command *const gg_commands[];

extern const struct gg_command gg_command_check;
extern const struct gg_command gg_command_clean;
extern const struct gg_command gg_command_control;
extern const struct gg_command gg_command_debug;
extern const struct gg_command gg_command_diff;
extern const struct gg_command gg_command_env;
extern const struct gg_command gg_command_export;
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
extern const struct gg_command gg_command_serve;
extern const struct gg_command gg_command_sql;
extern const struct gg_command gg_command_symbolize;
extern const struct gg_command gg_command_timeline;
extern const struct gg_command gg_command_tree;

/* Options that every command takes. */
struct gg_common_options {
	bool help;
	int color; /* enum gg_color */
};
extern const struct gg_option gg_common_option_table[];

/* Options that stand before the command; gg_common_option_table is for there too. */
struct gg_global_options {
	struct gg_common_options common;
	bool version;
};
extern const struct gg_option gg_global_option_table[];

#define GG_PROGRAM_USAGE "COMMAND [OPTION]... [ARGUMENT]..."
extern const char gg_program_summary[], gg_program_details[];

/*
 * The command that words[0..count) begin with: one word, or two for a verb of a family (just the
 * family if its name stands alone).  *ret_used_count says how many words that were.  NULL with
 * `error` naming the nearest one.  count >= 1.
 */
const struct gg_command *gg_command_find(char *const *words, int count, int *ret_used_count,
                                         struct gg_error *error);

/* Help for one command, or the overview of all; to standard output. */
void gg_help_print_command(const struct gg_command *command, const struct gg_style *style);
void gg_help_print_overview(const struct gg_style *style);
