/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprofiled - descendants of the command that run without the agent, and so are not in the profile.
 *
 * They are looked for among the children of all processes of the session, and told of (record/diagnose/diagnostics.h) if
 * it is certain that no region of theirs will come: the loader takes no agent, the environment has
 * none, or the process has become another user.
 *
 * Misses  what lives for less than a look takes to come round, 50 ms; kernels without
 *         /proc/PID/task/TID/children.
 * Cost    a look at most each 50 ms, and at most one hundredth of the time.
 * Full    the first LOOK_MAX processes of a look, the first TASKS_MAX threads of a process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/process/process_set.h"

/* Is the agent in the LD_PRELOAD of the program that the process runs?  True if it cannot be told. */
bool gg_unprofiled_names_agent(uint32_t pid);

/* Has it libc and not the agent, which the loader would have loaded before?  False if it cannot be told. */
bool gg_unprofiled_lacks_agent(uint32_t pid);

/* The command's own process is left out: record/diagnose/diagnostics.h knows about that. */
void gg_unprofiled_look(struct gg_process_set *set, pid_t command);
