/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_signals - takes the recorder's signals as readable events, and gives the command what was before.
 *
 * Blocked and read from a descriptor: no handler, no interrupted call.  SIGTTIN and SIGTTOU keep their
 * meaning: the terminal sends them to the whole process group.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/session/launch.h"

struct gg_recorder_signals {
	int fd;
	struct gg_launch_signals before;
};

GG_MUST_CHECK int gg_recorder_signals_take(struct gg_recorder_signals *ret_signals,
                                           struct gg_error *error);
void gg_recorder_signals_give_back(struct gg_recorder_signals *signals);

/* The next one that arrived; 0: none.  *ret_from_terminal: the kernel sent it, to the whole group. */
int gg_recorder_signals_next(struct gg_recorder_signals *signals, bool *ret_from_terminal);

/* The command was stopped by `signal`: stops too, if it was the terminal's doing. */
void gg_recorder_signals_stop_with(pid_t command, int signal);
