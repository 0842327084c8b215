/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables - warns of GEIGER_ variables that have no effect: misspelled names, and bad values.
 *
 * Agents read the environment inside the profiled program.  There nobody sees an unknown name, and
 * in a session the messages about bad values go into the profile.  So the commands that start
 * programs check both first, on standard error: a recording with another interval than its user
 * believes costs more than a line of text.
 */
#pragma once

/* Prints a line for each variable that agents will ignore. */
void gg_cli_warn_of_variables(void);
