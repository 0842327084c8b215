/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - runs a program to its end, or to a time limit, and keeps what it printed.
 *
 *   const char *argv[] = { "geiger", "--version", NULL };
 *   struct child child;
 *
 *   if (CHECK(child_run(&child, argv, NULL, 10)))
 *           CHECK(child.exit_status == 0);
 *   child_done(&child);
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct child {
	int exit_status; /* as a shell shows it: 128 + N when signal N ended it */
	bool timed_out;  /* the limit passed and its process group was killed */
	struct gg_buf out, err;
};

/*
 * Runs argv[0] (found by PATH, standard input empty) in a process group of its own.  `environment`
 * lists NAME=VALUE to set and NAME to remove; NULL: as it is.  False if it could not be started.
 * The struct is filled in either case and needs child_done().
 */
bool child_run(struct child *child, const char *const argv[], const char *const environment[],
               double limit_seconds);
void child_done(struct child *child);

/*
 * Whether a program ends with status 0 within a minute: for what a test needs, such as a namespace.
 */
bool child_succeeds(const char *const argv[]);

/*
 * Whether a program can be run on a terminal of its own.  None can without /dev/pts, as in a
 * chroot.
 */
bool child_can_have_terminal(void);
