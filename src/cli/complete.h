/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - prints scripts by which bash and zsh complete command lines of geiger.
 *
 * The tables of commands and options generate the scripts, so a script knows exactly the options of
 * its version.  The placeholder of an option determines the completion of its value, and the usage
 * of a command determines the completion of its operands: choices, files, directories, or the
 * command line of another program.  The bash script needs only bash, and the zsh script needs the
 * functions that come with zsh.  Neither script runs a program.  The zsh script also shows the help
 * of each option.
 */
#pragma once

#include <stdio.h>

#include "cli/command.h"

void gg_complete_print_bash(FILE *stream);
void gg_complete_print_zsh(FILE *stream);

/* The parts in which the scripts differ: how names look, and the text around them. */
struct gg_complete_shell {
	/* Prints a verb (without dashes) or an option, with its help. */
	void (*print)(const char *dashes, const char *name, size_t name_length, const char *help,
	              FILE *stream);
	const char *case_begin, *list_begin, *list_end;
	const char *value_begin, *value_middle, *value_end; /* around an option and its kind */
};

/*
 * Prints the shell function _geiger_table, which sets the words that may follow a command.  Both
 * scripts use the same kinds for values of options and for operands: @files, @directories,
 * @nothing, @command (a command line), or choices with | between them.
 */
void gg_complete_print_table(const struct gg_complete_shell *shell, FILE *stream);
