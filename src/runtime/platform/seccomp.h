/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp - avoids system calls in a program that is about to forbid itself some.
 *
 * A seccomp filter may kill the program for a system call that the program itself never makes, but
 * we would.  Before it installs one, a program calls prctl() with PR_SET_NO_NEW_PRIVS, without
 * which only root may set a filter, or with PR_SET_SECCOMP.  So prctl() is hooked, and the hook
 * does beforehand what would be due later: a forked child makes its region, and the thread gets the
 * memory of its samples.  From then on
 *
 *   space of the region  is had by touching its pages (gg_sigbus_guard_touch), not by madvise()
 *   a thread's name      is not read
 *   forked children      have no region; their parent's region counts them
 *
 * The calls that remain are mmap() for a thread's samples and rt_sigprocmask() for the bounds of
 * its stack; malloc() and pthread_create() make both as well.  A program that is executed begins
 * anew.
 *
 * Not so   if the program makes the bare system calls only: docs/AGENT.md lists what may follow.
 */
#pragma once

#include <stdbool.h>

#include "base/atomic.h"

extern uint32_t gg_seccomp_entered __attribute__((visibility("hidden")));

/* True if unusual system calls must be avoided.  A forked child inherits it. */
static inline bool gg_seccomp_is_entered(void)
{
	return gg_load_relaxed(&gg_seccomp_entered) != 0;
}
