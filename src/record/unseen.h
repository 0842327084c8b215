/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen - descendants of the command that run without the agent, and so are not in the profile.
 *
 * They are looked for among the children of all processes of the session, and told of (record/hints.h) if
 * it is certain that no region of theirs will come: the loader takes no agent, the environment has
 * none, or the process has become another user.
 *
 * Misses  what lives for less than a look takes to come round, 50 ms; kernels without
 *         /proc/PID/task/TID/children.
 * Cost    a look at most each 50 ms, and at most one hundredth of the time.
 * Full    the first LOOK_MAX processes of a look, the first TASKS_MAX threads of a process.
 */
#pragma once

#include <sys/types.h>

#include "record/follow.h"

/* The command's own process is left out: record/hints.h knows about that. */
void gg_unseen_look(struct gg_follow *follow, pid_t command);
