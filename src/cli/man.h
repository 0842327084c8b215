/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man - prints the manual page of a command from its tables, as source for scdoc(1).
 *
 * The tables give the name, synopsis, description, commands and options.  People write the other
 * parts (exit status, examples) in docs/man. tools/make_man joins both, and tools/check_man
 * compares the pages with the tables.
 */
#pragma once

#include <stdio.h>

#include "cli/command.h"

/* Prints the page of the command, or the page of geiger itself for NULL. */
void gg_man_print(const struct gg_command *command, FILE *stream);

/*
 * Prints the names of all pages, one in each line: "geiger", "geiger-lab", "geiger-lab-error" ...
 */
void gg_man_print_list(FILE *stream);
