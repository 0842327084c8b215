/* SPDX-License-Identifier: Apache-2.0 */
/*
 * man - the manual page of a command, as far as its tables tell it: name, synopsis, description,
 * commands and options, as source for scdoc(1).  What people write beside it (exit status, examples) is in
 * docs/man; tools/make_man puts the two together, and tools/check_man holds the pages to the tables.
 */
#pragma once

#include <stdio.h>

#include "cli/command.h"

/* The page of the command; NULL: that of geiger itself. */
void gg_man_print(const struct gg_command *command, FILE *stream);

/* The names of all pages, one a line: "geiger", "geiger-lab", "geiger-lab-error" ... */
void gg_man_print_list(FILE *stream);
