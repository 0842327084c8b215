/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_thread - takes a thread that waits in a call which can be made again without a difference.
 *
 * An interruption must not be visible: no EINTR, and no lost or longer sleep.  So only these calls
 * count:
 *
 *   read, readv, recvfrom, recvmsg, accept, accept4       not of a socket with a time limit
 *   wait4, waitid, pause
 *   futex                                                 without a limit, or with an absolute one
 *   epoll_wait, epoll_pwait, poll, select, ppoll, pselect without a limit and without a mask
 *   sigtimedwait                                          without a limit
 *   clock_nanosleep                                       until a time of the clock
 *   flock, fcntl (for a lock), msgrcv
 *
 * nanosleep() and calls with a relative limit never count: the time that is left is known to the
 * kernel alone.
 *
 * The kernel, or the registers to which the thread returns, make the call again.  A thread with
 * a pending signal is left alone.
 */
#pragma once

#include "attach/stack_check.h"

/*
 * Takes an idle thread whose stack is accepted.  Returns 0 with *point filled, -EAGAIN if no
 * thread can be taken, or -ESRCH with an error if the process is gone.  Unless it returns 0, all
 * threads run as before.
 */
GG_MUST_CHECK int gg_idle_thread_take(struct gg_safe_point_search *search,
                                      struct gg_safe_point *point, struct gg_error *error);
