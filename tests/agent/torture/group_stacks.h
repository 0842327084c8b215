/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_stacks - prints where each thread of a process group is, for a group that hangs.
 *
 * The youngest process comes first, because the other processes usually wait for it.  The program
 * prints a thread's stack when the thread receives SIGQUIT.  A thread that blocks all signals
 * cannot do so.  For such a thread, group_stacks prints each word of its stack that may be a return
 * address.
 */
#pragma once

#include <sys/types.h>

/* Appends to the file at `path`, which is the standard error of the processes. */
void group_stacks_print(pid_t group, const char *path);
