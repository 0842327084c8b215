/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprofiled - finds descendants of the command that run without the agent.
 *
 * The recorder searches the children of all processes of the session.  It reports a process
 * (diagnose/diagnostics.h) only if it is certain that no region will follow: the loader accepts no
 * agent, the environment has no agent, or the process runs as another user.
 *
 * Misses  processes that live shorter than the 50 ms between two searches; kernels without
 *         /proc/PID/task/TID/children.
 * Cost    a search every 50 ms at most, and at most one hundredth of the time.  On a machine that
 *         begins no process and no thread, one in a second, for those that execute without a fork.
 * Full    the first LOOK_MAX processes of a search, and the first TASKS_MAX threads of a process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/process/process_set.h"

/* Searches if a search is due.  Skips the command's own process; diagnostics.h handles that. */
void gg_unprofiled_look(struct gg_process_set *set, pid_t command);
