/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_signals - reads the recorder's signals as events, and restores the command's
 * dispositions.
 *
 * The recorder blocks its signals and reads them from a descriptor.  So there is no handler and no
 * interrupted system call.  SIGTTIN and SIGTTOU keep their meaning, because the terminal sends them
 * to the whole process group.
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

/*
 * Returns the next pending signal; 0: no signal is pending.  *ret_from_terminal: the kernel sent
 * it, so the whole process group got it.
 */
int gg_recorder_signals_next(struct gg_recorder_signals *signals, bool *ret_from_terminal);

/* Call it when `signal` has stopped the command: stops the recorder if the terminal sent it. */
void gg_recorder_signals_stop_with(pid_t command, int signal);
