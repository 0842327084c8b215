/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - the scripts by which bash and zsh complete command lines, made of the tables of commands and
 * options, so that they know each of them and nothing else.
 *
 * They know what follows an option by the option's placeholder, and what a command's operands are by its
 * usage: words of choices, files, directories, a command line of another program.  That of bash needs bash
 * alone, that of zsh the functions that zsh comes with; neither runs anything.  zsh shows the help of what
 * it offers, too.
 */
#pragma once

#include <stdio.h>

#include "cli/command.h"

void gg_complete_print_bash(FILE *stream);
void gg_complete_print_zsh(FILE *stream);

/* How the scripts differ: names of verbs and options, and what stands around them. */
struct gg_complete_shell {
	/* A verb (without dashes) or an option, with its help. */
	void (*print)(const char *dashes, const char *name, size_t name_length, const char *help,
	              FILE *stream);
	const char *case_begin, *list_begin, *list_end;
	const char *value_begin, *value_middle, *value_end; /* around an option and its kind */
};

/*
 * The function _geiger_table, which sets what may follow a command.  Kinds of an option's value and of operands
 * are the same in both scripts: @files, @directories, @nothing, @command (a command line), or words with | between.
 */
void gg_complete_print_table(const struct gg_complete_shell *shell, FILE *stream);
