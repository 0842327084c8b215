/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_command - records a command for `geiger top`, and keeps its output away from the screen.
 *
 *   struct gg_top_command *command;
 *
 *   if (gg_top_command_start(&command, &options, &exit_status, error) < 0)
 *           return error->status;                        exit_status is 125, 126 or 127
 *   ... show gg_top_command_pid(command) ...
 *   exit_status = gg_top_command_finish(command, NULL);  the output, and the end
 *   gg_top_command_free(command);
 *
 * The recorder is a child process.  With a screen it leads a session of its own without a terminal,
 * so the program can neither write to the screen nor take keys from it.  The output of the program
 * goes to a file, as does that of the recorder.  The command has a process group of its own,
 * to which gg_top_command_signal() goes.  If this process ends, the recording goes on.
 *
 * Threads  One.  The process must have no other thread when the command starts.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/session/session.h"
#include "top/top_snapshot.h"

struct gg_top_command_options {
	/* The command, the profile and the sampling; other members are set here. */
	struct gg_session_options session;
	/* The file to which the program prints; NULL: with a screen a temporary one. */
	const char *log;
	/* There will be a screen.  Without one and without a log, the program prints to stderr. */
	bool has_screen;
};

struct gg_top_command;

/*
 * Returns when the command runs.  On a failure, *ret_exit_status is 125, 126 or 127, as
 * gg_session_run() has it.
 */
GG_MUST_CHECK int gg_top_command_start(struct gg_top_command **ret_command,
                                       const struct gg_top_command_options *options,
                                       int *ret_exit_status, struct gg_error *error);
void gg_top_command_free(struct gg_top_command *command); /* NULL is fine */

pid_t gg_top_command_pid(const struct gg_top_command *command);
const char *gg_top_command_profile(const struct gg_top_command *command);
/* The file with the program's output; NULL: it prints to stderr. */
const char *gg_top_command_log(const struct gg_top_command *command);

/* True when the recording has ended and the profile is complete. */
bool gg_top_command_has_ended(struct gg_top_command *command);
/* The exit status of the recording, which is the command's; valid after its end. */
int gg_top_command_exit_status(const struct gg_top_command *command);

/*
 * After the end of the recording: says in the description of the command's process how it ended.
 * The recorder has waited for it, so a look at the process cannot know that.
 */
void gg_top_command_describe_end(const struct gg_top_command *command,
                                 struct gg_top_process *process);

/* Sends a signal to the command; after its end, INT, TERM, HUP and QUIT end the recording. */
void gg_top_command_signal(struct gg_top_command *command, int number);

/*
 * For a program without a screen: signals that ask this process to end go to the command from now
 * on, except for Ctrl-C, which reaches the command by itself.  Only one command can have them.
 */
void gg_top_command_pass_signals(const struct gg_top_command *command);

/* Appends the end of the output, of at most `bytes_max` bytes, from the begin of a line on. */
void gg_top_command_append_output(const struct gg_top_command *command, size_t bytes_max,
                                  struct gg_buf *out);

/*
 * Prints a temporary log to stdout, follows it until the recording ends, removes it, and returns
 * the exit status.  Signals of *ending_signal, which may be NULL, go to the command.
 */
int gg_top_command_finish(struct gg_top_command *command, volatile sig_atomic_t *ending_signal);
