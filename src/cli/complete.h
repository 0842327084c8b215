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

/*
 * Kinds, the same in both scripts: @files, @directories, @nothing, @command (a command line), or words with |
 * between.  Of an option's value, and of what of a command's usage is no option (NULL: of none).
 */
void gg_complete_print_kind(const char *placeholder, FILE *stream);
void gg_complete_print_operands(const struct gg_command *command, FILE *stream);
