/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete - the script by which bash completes command lines, made of the tables of commands and options,
 * so that it knows each of them and nothing else.
 *
 * It knows what follows an option by the option's placeholder, and what a command's operands are by its
 * usage: words of choices, files, directories, a command line of another program.  It needs bash alone,
 * and runs nothing.
 */
#pragma once

#include <stdio.h>

void gg_complete_print_bash(FILE *stream);
