/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main - finds the command, parses its options, runs it, and turns an error into one line.
 *
 * The exit status is:
 *
 *   0   success
 *   1   a failure
 *   2   a wrong request: an unknown command or option, a bad value, or a missing operand
 *
 * A command with its own failure_status exits with that one, as its help says.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/fast_exit.h"
#include "cli/command.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { OPTIONS_MAX_SIZE = 1024 }; /* the largest options struct of a command */

static int print_error(const struct gg_error *error, enum gg_color color, int failure_status)
{
	struct gg_style style = gg_style_for(color, STDERR_FILENO);
	char line[GG_ERROR_LINE_MAX];

	gg_error_format(error, line, sizeof(line));
	fflush(stdout);
	fprintf(stderr, "%sgeiger:%s %s\n", style.error, style.reset, line);
	if (failure_status != 0)
		return failure_status;
	return error->status == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* Refuses a family without a verb, and operands beyond those of the command. */
static int check_operands(const struct gg_command *command, const struct gg_invocation *invocation)
{
	char advice[256];

	if (command->verbs != NULL) {
		snprintf(advice, sizeof(advice), "'geiger help %s' lists them.", command->name);
		return gg_error_set(invocation->error, -EINVAL, command->name, advice,
		                    "needs a command");
	}
	if (command->max_operands < 0 || invocation->operand_count <= command->max_operands)
		return 0;
	snprintf(advice, sizeof(advice), "Usage: geiger %s %s", command->name, command->usage);
	return gg_error_set(invocation->error, -EINVAL, command->name, advice,
	                    "unexpected operand '%s'", invocation->operands[command->max_operands]);
}

/* Parses the command's own options and runs it.  The result is that of gg_command.run. */
static int run_command(const struct gg_command *command, int argc, char **argv,
                       struct gg_common_options *common, int *ret_failure_status,
                       struct gg_error *error)
{
	_Alignas(max_align_t) char options[OPTIONS_MAX_SIZE] = { 0 };
	struct gg_invocation invocation = { .operands = argv, .error = error };
	int status;

	*ret_failure_status = command->failure_status;
	gg_assert(command->options_size <= sizeof(options));
	invocation.operand_count = gg_command_parse(command, argc, argv, options, common, error);
	if (invocation.operand_count < 0)
		return invocation.operand_count;
	invocation.options = options;
	invocation.style = gg_style_for((enum gg_color)common->color, STDOUT_FILENO);
	if (common->help) {
		gg_help_print_command(command, &invocation.style);
		return 0;
	}
	status = check_operands(command, &invocation);
	if (status < 0)
		return status;
	invocation.failure_status = command->failure_status;
	status = command->run(&invocation);
	*ret_failure_status = invocation.failure_status;
	return status;
}

/* Runs the command line.  The result is that of gg_command.run. */
static int run(int argc, char **argv, struct gg_common_options *common, int *ret_failure_status,
               struct gg_error *error)
{
	struct gg_global_options global = { 0 };
	const struct gg_option_set sets[] = { { gg_common_option_table, &global.common },
		                              { gg_global_option_table, &global } };
	const struct gg_command *command;
	int used_count;
	int word_count = gg_options_parse(sets, GG_COUNT(sets), GG_OPTIONS_BEFORE_OPERANDS,
	                                  argc - 1, argv + 1, error);

	*common = global.common;
	if (word_count < 0)
		return word_count;
	if (global.version) {
		printf("geiger %s\n", GG_VERSION);
		return 0;
	}
	if (word_count == 0) {
		struct gg_style style = gg_style_for((enum gg_color)common->color, STDOUT_FILENO);

		gg_help_print_overview(&style);
		/* As in git, a command line that asks for nothing fails. */
		return global.common.help ? 0 : EXIT_USAGE;
	}
	command = gg_command_find(argv + 1, word_count, &used_count, error);
	if (command == NULL)
		return -EINVAL;
	return run_command(command, word_count - used_count, argv + 1 + used_count, common,
	                   ret_failure_status, error);
}

static int run_and_print(int argc, char **argv)
{
	struct gg_common_options common = { 0 };
	struct gg_error error = { 0 };
	int failure_status = 0;
	int status = run(argc, argv, &common, &failure_status, &error);

	/*
	 * The output must have arrived: a full disk is a failure, although every print seemed to
	 * succeed.
	 */
	if (status >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		status = gg_error_set_errno(&error, errno != 0 ? errno : EIO, "standard output",
		                            NULL);
	if (status < 0)
		return print_error(&error, (enum gg_color)common.color, failure_status);
	return status;
}

int main(int argc, char **argv)
{
	return gg_fast_exit(run_and_print(argc, argv));
}
