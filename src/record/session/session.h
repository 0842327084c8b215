/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - runs a command and writes one profile of it and of all its descendants.
 *
 *   struct gg_session_options options = { .command = argv };
 *   int exit_status;
 *
 *   if (gg_session_run(&options, &exit_status, error) < 0)
 *           return error->status;        exit_status is 125, 126 or 127
 *   return exit_status;
 *
 * Members       each process with a region in the session's directory belongs to the session, no
 *               matter who its parent is.  The recorder adopts orphans (PR_SET_CHILD_SUBREAPER), so
 *               the session has ended when the recorder has no child any more.
 * Signals       the terminal's signals reach the command by themselves, so the recorder ignores
 *               them while the command runs.  The recorder passes on signals that a program sends
 *               to it (TERM, HUP, USR1, USR2, INT and QUIT).  When the terminal stops the command,
 *               the recorder stops with it.  After the command has ended, INT, TERM, HUP and QUIT
 *               end the recording of the processes that live on.
 * Exit status   the command's, or 128 + N when signal N ended it, even if the profile failed.  125:
 *               the command was not run; 126: it cannot be executed; 127: it does not exist.
 * Attached      with options->pid there is no command: `enter` brings the agent into a process that
 *               runs already.  Signals end the recording and not the process, and so does the end
 *               of the last process with a region.  The exit status is 0, or 1 if the profile
 *               failed.  If `enter` fails, an earlier profile of that name stays.
 * Kill          killing the recorder leaves the regions, and a profile that lacks the last second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/progress.h"

struct gg_launch_environment;

struct gg_session_options {
	char **command; /* ends with NULL */
	/*
	 * Not 0: this process runs already, and `command` is only its name.  `enter` attaches the
	 * agent to it with these settings, when all else is ready.
	 */
	pid_t pid;
	int (*enter)(const struct gg_launch_environment *settings, void *context,
	             struct gg_error *error);
	const char *output;         /* NULL: NAME.PID.geiger */
	uint64_t sampling_interval; /* 0: the agent's default */
	const char *overhead;       /* "0.5%"; NULL: that of the user's environment, or none */
	const char *error;          /* "5%", of live bytes; NULL: likewise */
	const char
		*focus_function; /* a regular expression: the error is of this function; or NULL */
	double focus_error;      /* 0.05 for 5 % */
	const char *scheme;      /* NULL: the agent's default */
	const char *focus;       /* of the optimal scheme; NULL: the agent's default */
	uint64_t seed;           /* 0: random */
	uint64_t guard;          /* one sample in so many is guarded; 0: none */
	bool free_stacks, mappings;
	bool no_allocator_calls; /* the agent never asks the allocator about its heap */
	bool exact;              /* agents count every allocation */
	bool compat;             /* preload libgeiger-compat as well */
	bool no_children;
	bool follows_dotnet; /* also records the managed memory of .NET's runtimes */
	/*
	 * The command gets a process group of its own, and signals to the recorder go to that whole
	 * group.  Without a terminal, nothing else would bring them to the command's children.
	 */
	bool own_group;
	/* Called when the command runs, with its pid and the path of its profile; or NULL. */
	void (*started)(pid_t pid, const char *path, void *context);
	double max_seconds; /* 0: until the session ends */
	bool quiet;
	const struct gg_progress *progress; /* of the end, which may take long; NULL: nobody */
	bool no_symbols;                    /* leaves functions and lines to gg_symbolize() */
	/* Called when the profile is complete and closed, before the closing line; or NULL. */
	void (*completed)(const char *path, void *context);
	/*
	 * Called after the closing line of a complete profile; or NULL.  `advice` is what to do
	 * about programs that the profile lacks; "": nothing.
	 */
	void (*closed)(const char *advice, void *context);
	void *context;
};

int gg_session_run(const struct gg_session_options *options, int *ret_exit_status,
                   struct gg_error *error);
