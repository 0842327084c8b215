/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch - starts a program under the agent, or says how to.
 *
 *   gg_launch_environment(&environment, &settings, error);
 *   gg_launch_begin(&launch, argv, &environment, &signals, error);     a process that waits
 *   gg_launch_release(&launch);                                        it becomes the program
 *
 * The program gets our standard streams, terminal, process group, signal mask and dispositions as
 * they were, and our environment with what the agent reads in it.  What the user has in LD_PRELOAD
 * stays, after the agent and libgeiger-compat, if that is asked for.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/diagnose/preloadable.h"

/* What the agent is told; what is 0, NULL or false is left as the user has it. */
struct gg_launch_settings {
	const char
		*agent; /* path of the library; NULL: without, and all that follows is not told */
	const char *compat;    /* of the one with other profilers' calls; NULL: without */
	const char *directory; /* of regions */
	const char *log;       /* where the agent may complain; only if the user has none */
	uint64_t interval;     /* bytes, or allocations */
	const char *scheme, *focus;
	uint64_t seed;
	pid_t recorder;       /* without which the session is over; 0: it needs none */
	uint32_t ring_events; /* only if the user has none */
	bool free_stacks, mappings;
};

/* NAME=VALUE texts, each with its 0 byte. */
struct gg_launch_environment {
	struct gg_buf texts;
	uint32_t count;
};

/*
 * Where the agent is: GEIGER_AGENT, else beside this program (a build tree), else where it was
 * installed.  -ENOENT with what to do; -EINVAL if its path cannot stand in LD_PRELOAD.
 */
enum { GG_LAUNCH_PATH_MAX = 4096 };
GG_MUST_CHECK int gg_launch_find_agent(char path[GG_LAUNCH_PATH_MAX], struct gg_error *error);

/* The other library, beside the agent.  -ENOENT, or as above. */
GG_MUST_CHECK int gg_launch_find_compat(char path[GG_LAUNCH_PATH_MAX], const char *agent,
                                        struct gg_error *error);

GG_MUST_CHECK int gg_launch_environment(struct gg_launch_environment *ret_environment,
                                        const struct gg_launch_settings *settings,
                                        struct gg_error *error);
void gg_launch_environment_done(struct gg_launch_environment *environment);

/* Appends a word as a shell would read it. */
void gg_launch_quote(struct gg_buf *text, const char *word);

/* The next one; NULL at the end.  `previous` NULL: the first. */
const char *gg_launch_environment_next(const struct gg_launch_environment *environment,
                                       const char *previous);

/* How signals were before we took them: the program gets that back. */
struct gg_launch_signals {
	sigset_t mask;
	struct sigaction child, pipe, file_size;
};

struct gg_launch {
	pid_t pid;
	int release_fd, error_fd; /* -1: closed */
};

GG_MUST_CHECK int gg_launch_begin(struct gg_launch *ret_launch, char *const argv[],
                                  const struct gg_launch_environment *environment,
                                  const struct gg_launch_signals *signals, struct gg_error *error);

/* 0, or why the program could not be executed: -ENOENT, -EACCES and so on; the process is gone then. */
GG_MUST_CHECK int gg_launch_release(struct gg_launch *launch);

/* It never becomes the program. */
void gg_launch_cancel(struct gg_launch *launch);

/* Can PATH's command be executed?  0, -ENOENT or -EACCES, as exec would say; asked beforehand. */
GG_MUST_CHECK int gg_launch_check(const char *command);

/* Would its loader not bear the agent?  gg_preloadable_refuses() of PATH's command. */
bool gg_launch_refuses(const char *command);

/* Can the agent hear what PATH's command allocates? */
enum gg_preloadable gg_launch_reach(const char *command, char why[GG_PRELOADABLE_WHY_MAX]);
