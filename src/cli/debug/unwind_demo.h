/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_demo - walks a stack with many kinds of frames, and shows the rule of each frame.
 *
 * The stack has a recursion of our own code, qsort() of libc, a callback, a signal that interrupts
 * the callback, and the signal's handler.  The handler captures the stack as the agent does for a
 * sample.
 *
 * Threads  The main thread.  The demo replaces the action of SIGUSR1 for a moment and restores it.
 */
#pragma once

#include "cli/command.h"

/* Has the contract of gg_command.run. */
int gg_unwind_demo_run(struct gg_invocation *invocation);
