/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_demo - walks a stack that has a bit of everything, and shows by which rules.
 *
 * The stack: a recursion of ours, qsort() of libc, a callback, a signal that interrupts it, and its
 * handler, in which the stack is captured as the agent does it for a sample.
 *
 * Threads  the main one; SIGUSR1 is taken for the moment and given back.
 */
#pragma once

#include "cli/command.h"

/* Like gg_command.run. */
int gg_unwind_demo_run(struct gg_invocation *invocation);
