/* SPDX-License-Identifier: Apache-2.0 */
/* attach_leave - takes the agent out of the processes of a recording that has ended. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Waits until the agent has left the process, and those that it has forked: one that has recorded
 * nothing knows no request of the recorder's.  `directory` has their regions; "": unknown.
 */
void gg_attach_leave(pid_t pid, const char *directory, bool is_quiet);

/*
 * Takes the agent out again that gets in after its attach has failed, and waits two seconds for
 * that.  If it succeeds, it changes the advice of the error.
 */
void gg_attach_leave_late(pid_t pid, struct gg_error *error);
