/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_child - a child process that has filled a shape, knows its truth, and waits.
 *
 *   struct keeper_child child = keeper_child_start("peak", seed);
 *
 *   child.keeper->blocks ...   its list, in shared memory
 *   child.smaps                text of its /proc/PID/smaps
 *   keeper_child_done(&child);
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "keeper.h"

struct keeper_child {
	struct keeper *keeper;
	pid_t pid;
	struct gg_buf smaps;
	int hold; /* it ends when this is closed */
};

struct keeper_child keeper_child_start(const char *shape, uint64_t seed);
void keeper_child_done(struct keeper_child *child);
