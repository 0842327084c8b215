/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_help - `geiger help`: explains a command, prints its manual page, and prints completion
 * scripts.
 *
 * All of these come from the tables of commands and options.  Thus a new option appears everywhere
 * at once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complete.h"
#include "cli/man.h"

enum { HELP_WIDTH = 80 };
enum { OPTION_COLUMN = 24 }; /* columns of the option forms; a longer form gets a line of its own */

static void print_option(const struct gg_option *option)
{
	char form[80];
	int length = 0;

	if (option->letter != 0)
		length += snprintf(form, sizeof(form), "-%c, ", option->letter);
	else
		length += snprintf(form, sizeof(form), "    ");
	length += snprintf(form + length, sizeof(form) - (size_t)length, "--%s", option->name);
	if (option->placeholder != NULL)
		length += snprintf(form + length, sizeof(form) - (size_t)length, " %s",
		                   (const char *)option->placeholder);
	/* A long form takes a line of its own, and its help begins below it in the usual column. */
	if (length > OPTION_COLUMN)
		printf("  %s\n  %*s  %s\n", form, OPTION_COLUMN, "", option->help);
	else
		printf("  %-*s  %s\n", OPTION_COLUMN, form, option->help);
}

static void print_options(const struct gg_option *options)
{
	struct gg_option_walk walk;

	gg_option_walk_begin(&walk, options);
	for (; walk.option != NULL; gg_option_walk_next(&walk))
		print_option(walk.option);
}

/* Prints the names and summaries of a list of commands. */
static void print_commands(const struct gg_command *const *list, const struct gg_style *style)
{
	printf("%sCommands:%s\n", style->heading, style->reset);
	for (; *list != NULL; list++)
		printf("  %s%-12s%s  %s\n", style->strong, (*list)->name, style->reset,
		       (*list)->summary);
}

/* Prints a list of statuses whose meanings are aligned, and wrapped. */
static void print_exit_statuses(const struct gg_status_meaning *statuses,
                                const struct gg_style *style)
{
	enum { STATUS_WIDTH = 8 };

	printf("\n%sExit status:%s\n", style->heading, style->reset);
	for (; statuses->status != NULL; statuses++) {
		const char *rest = statuses->meaning;

		printf("  %-*s", STATUS_WIDTH, statuses->status);
		while (strlen(rest) > HELP_WIDTH - STATUS_WIDTH - 4) {
			const char *end = rest + HELP_WIDTH - STATUS_WIDTH - 4;

			while (*end != ' ')
				end--;
			printf("  %.*s\n%*s", (int)(end - rest), rest, STATUS_WIDTH + 2, "");
			rest = end + 1;
		}
		printf("  %s\n", rest);
	}
}

void gg_help_print_command(const struct gg_command *command, const struct gg_style *style)
{
	printf("%sUsage:%s geiger %s %s\n\n", style->heading, style->reset, command->name,
	       command->usage);
	printf("geiger %s: %s.\n", command->name, command->summary);
	if (command->details != NULL)
		printf("\n%s", command->details);
	if (command->verbs != NULL) {
		putchar('\n');
		print_commands(command->verbs, style);
	}
	if (command->exit_statuses != NULL)
		print_exit_statuses(command->exit_statuses, style);
	printf("\n%sOptions:%s\n", style->heading, style->reset);
	print_options(command->options);
	print_options(gg_common_option_table);
}

void gg_help_print_overview(const struct gg_style *style)
{
	printf("%sUsage:%s geiger " GG_PROGRAM_USAGE "\n\n", style->heading, style->reset);
	printf("geiger: %s.\n\n", gg_program_summary);
	print_commands(gg_commands, style);
	printf("\n%sOptions:%s\n", style->heading, style->reset);
	print_options(gg_common_option_table);
	print_options(gg_global_option_table);
	printf("\n'geiger help COMMAND' tells more about one of them.\n");
}

enum { COMPLETION_BASH, COMPLETION_ZSH }; /* in the order of the option's choices */

struct help_options {
	bool man, list;
	int completion; /* position in its choices; -1: not given */
};

static int run_help(struct gg_invocation *invocation)
{
	const struct help_options *o = invocation->options;
	const struct gg_command *command;
	int used_count;

	/* --list and --completion concern all commands and need no operand. */
	if (o->list) {
		gg_man_print_list(stdout);
		return 0;
	}
	if (o->completion >= 0) {
		(o->completion == COMPLETION_ZSH ? gg_complete_print_zsh
		                                 : gg_complete_print_bash)(stdout);
		return 0;
	}
	if (invocation->operand_count == 0) {
		if (o->man)
			gg_man_print(NULL, stdout);
		else
			gg_help_print_overview(&invocation->style);
		return 0;
	}
	command = gg_command_find(invocation->operands, invocation->operand_count, &used_count,
	                          invocation->error);
	if (command == NULL)
		return -EINVAL;
	/* `geiger help lab error` uses both words; `geiger help report tree` names two commands. */
	if (used_count < invocation->operand_count)
		return gg_error_set(invocation->error, -EINVAL, "help", "Ask for one at a time.",
		                    "unexpected operand '%s'", invocation->operands[used_count]);
	if (o->man)
		gg_man_print(command, stdout);
	else
		gg_help_print_command(command, &invocation->style);
	return 0;
}

static const struct help_options defaults = { .completion = -1 };

static const struct gg_option options[] = {
	{ "man", 0, GG_OPTION_FLAG, offsetof(struct help_options, man), NULL,
	  "print the manual page's source, for scdoc" },
	{ "list", 0, GG_OPTION_FLAG, offsetof(struct help_options, list), NULL,
	  "list the names of the manual pages" },
	{ "completion", 0, GG_OPTION_CHOICE, offsetof(struct help_options, completion), "bash|zsh",
	  "print the completion of command lines for a shell" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_help = {
	.name = "help",
	.summary = "explain a command, or list them all",
	.usage = "[COMMAND [VERB]]",
	.options = options,
	.options_size = sizeof(struct help_options),
	.option_defaults = &defaults,
	.max_operands = 2,
	.run = run_help,
};
