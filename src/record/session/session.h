/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - runs a command and writes one profile of it and of all that descends from it.
 *
 *   struct gg_record_options options = { .command = argv };
 *   int exit_status;
 *
 *   if (gg_record_run(&options, &exit_status, error) < 0)
 *           return error->code;        exit_status is 125, 126 or 127
 *   return exit_status;
 *
 * Who belongs   whoever has a region in the session's directory, however it was re-parented.  The
 *               session ends when no process of it is left: the recorder adopts orphans
 *               (PR_SET_CHILD_SUBREAPER), so that is when it has no child any more.
 * Signals       of the terminal reach the command by themselves and are not for us while it runs; those
 *               sent to the recorder (TERM, HUP, USR1, USR2, also INT and QUIT from a program) are
 *               passed on.  When the command is stopped at the terminal, so is the recorder.  Once the
 *               command has ended, INT, TERM, HUP and QUIT end the recording of what lives on.
 * Exit status   the command's, 128 + N when signal N ended it, whatever becomes of the profile.  125:
 *               the command was not run; 126: it cannot be executed; 127: it is not there.
 * A kill        of the recorder leaves a profile that holds all but the last second, and the regions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct gg_record_options {
	char **command;     /* ends in NULL */
	const char *output; /* NULL: NAME.PID.geiger */
	uint64_t interval;  /* 0: the agent's default */
	const char *scheme; /* NULL: the agent's default */
	const char *focus;  /* of the optimal scheme; likewise */
	uint64_t seed;      /* 0: random */
	bool free_stacks, mappings;
	bool compat; /* with libgeiger-compat */
	bool no_children;
	double max_seconds; /* 0: until the session ends */
	bool quiet;
	bool no_symbols; /* leaves functions and lines to gg_symbolize() */
	/* Called once the profile is complete and closed, before the line that says so; or NULL. */
	void (*completed)(const char *path, void *context);
	void *context;
};

int gg_record_run(const struct gg_record_options *options, int *ret_exit_status,
                  struct gg_error *error);
