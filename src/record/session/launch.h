/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch - starts a program under the agent, or computes the environment for that.
 *
 *   gg_launch_environment(&environment, &settings, error);
 *   gg_launch_begin(&launch, argv, &environment, &signals, error);     a process that waits
 *   gg_launch_release(&launch);                                        executes the program
 *
 * The program gets the recorder's standard streams, terminal and process group, the signal mask and
 * dispositions that the recorder started with, and its environment with the agent's variables.  The
 * user's LD_PRELOAD stays, behind the agent and, if requested, libgeiger-compat.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/diagnose/preloadable.h"

/* Settings for the agent; 0, NULL and false leave the user's environment as it is. */
struct gg_launch_settings {
	const char *
		agent; /* path of the library; NULL: no agent, and all other settings are ignored */
	const char *preload; /* the agent's path in LD_PRELOAD; NULL: as `agent` */
	const char *compat;  /* path of the library with other profilers' calls; NULL: without it */
	const char *dotnet_port; /* path of the socket for .NET's runtimes; NULL: none */
	const char *directory;   /* of the session's regions */
	const char *log; /* where agents report problems; the user's own setting has precedence */
	/* In bytes, or in allocations with that scheme.  With `error`, a plan's interval. */
	uint64_t sampling_interval;
	const char *overhead; /* share of processor time, "0.5%"; NULL: the interval is fixed */
	const char *error;    /* of live bytes, "5%"; NULL: any */
	const char *scheme, *focus;
	uint64_t seed;
	pid_t recorder;       /* the session ends with it; 0: the session needs no recorder */
	uint32_t ring_events; /* the user's own setting has precedence */
	uint64_t guard;       /* one sample in so many is guarded; 0: none */
	bool free_stacks, mappings;
	bool exact;              /* the agent counts every allocation */
	bool no_allocator_calls; /* the agent never asks the allocator about its heap */
};

/* NAME=VALUE texts, each terminated by a 0 byte. */
struct gg_launch_environment {
	struct gg_buf texts;
	uint32_t count;
};

/*
 * Finds the agent: GEIGER_AGENT, then beside this program (in a build tree), then where it is
 * installed.  -ENOENT: the error tells what to do; -EINVAL: the path cannot stand in LD_PRELOAD.
 */
enum { GG_LAUNCH_PATH_MAX = 4096 };
GG_MUST_CHECK int gg_launch_find_agent(char path[GG_LAUNCH_PATH_MAX], struct gg_error *error);

/*
 * From now on, gg_launch_find_agent() finds libgeiger-malloc in the agent's directory: it has the
 * code of the agent, and replaces the allocator.
 */
void gg_launch_use_own_allocator(void);

/* The folder, beside the agent, of paths that serve programs of glibc and of musl. */
#define GG_LAUNCH_FOR_BOTH "geiger-preload/$LIB/"

/*
 * Makes the path for LD_PRELOAD from that of a library: one that serves programs of glibc and of
 * musl, if the agent for musl is installed, or else the library that fits the command.  From then
 * on programs of musl count as others do (gg_preloadable_set_musl_agent()).
 */
void gg_launch_fit(char path[GG_LAUNCH_PATH_MAX], const char *library, const char *command);

/* The same without a path for both, which has a character that shells expand. */
void gg_launch_fit_command(char path[GG_LAUNCH_PATH_MAX], const char *library, const char *command);

/* Finds libgeiger-compat in the agent's directory.  Errors as gg_launch_find_agent(). */
GG_MUST_CHECK int gg_launch_find_compat(char path[GG_LAUNCH_PATH_MAX], const char *agent,
                                        struct gg_error *error);

GG_MUST_CHECK int gg_launch_environment(struct gg_launch_environment *ret_environment,
                                        const struct gg_launch_settings *settings,
                                        struct gg_error *error);
void gg_launch_environment_done(struct gg_launch_environment *environment);

/* Appends a word, quoted so that a shell reads the same word. */
void gg_launch_quote(struct gg_buf *text, const char *word);

/* Returns the text after `previous`; NULL: the first one.  Returns NULL after the last one. */
const char *gg_launch_environment_next(const struct gg_launch_environment *environment,
                                       const char *previous);

/* The signal mask and dispositions before the recorder took over; the program gets them. */
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

/* Returns 0, or the error of execve() (-ENOENT, -EACCES, ...); then the process has ended. */
GG_MUST_CHECK int gg_launch_release(struct gg_launch *launch);

/* Ends the waiting process; the program does not run. */
void gg_launch_cancel(struct gg_launch *launch);

/* Checks in advance if execvp() would find the command: 0, -ENOENT or -EACCES. */
GG_MUST_CHECK int gg_launch_check(const char *command);

/* gg_preloadable_refuses() for a command that is looked up in PATH. */
bool gg_launch_refuses(const char *command);

/* gg_preloadable_of() for a command that is looked up in PATH. */
enum gg_preloadable gg_launch_reach(const char *command, char why[GG_PRELOADABLE_WHY_MAX]);

/* gg_preloadable_advice() of the program that the command executes. */
const char *gg_launch_advice(const char *command);
