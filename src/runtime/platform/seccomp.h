/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox - a program that is about to forbid itself system calls.
 *
 * A filter (seccomp) may kill for a call that the program does not make, and we would.  Programs say so before:
 * by prctl(), of PR_SET_NO_NEW_PRIVS, without which no user may set a filter and which libseccomp calls, too, or
 * of PR_SET_SECCOMP.  So that one is hooked.  What is outstanding is done before: a forked child makes
 * its region, the calling thread gets what its samples need.  From then on
 *
 *   space of the region  is had by touching its pages (gg_guard_touch), not by madvise()
 *   a thread's name      is not asked for
 *   forked children      have no region, and are counted in their parent's
 *
 * and what remains is mmap() for what a thread's samples need, and rt_sigprocmask() to know its stack, as
 * malloc() and pthread_create() call them, too.  What is executed begins anew.
 *
 * Not so   where the program uses the bare system calls alone: then docs/AGENT.md lists what may come.
 */
#pragma once

#include <stdbool.h>

#include "base/atomic.h"

extern uint32_t gg_seccomp_entered __attribute__((visibility("hidden")));

/* Are unusual system calls to be avoided?  A forked child inherits it. */
static inline bool gg_seccomp_is_entered(void)
{
	return gg_load_relaxed(&gg_seccomp_entered) != 0;
}
