/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_point - finds a thread, and a moment, at which the agent may be brought in.
 *
 *   status = gg_safe_point_find(&point, &search, error);
 *   ... point.tid is stopped at point.registers; all other threads run ...
 *
 * Entry    The best moment is the entry of malloc(), calloc(), realloc() or free(), called by the
 *          program itself.  By contract the allocator can be called there, and the thread is in the
 *          middle of nothing that the compiler or the kernel has to know about.
 * Stack    A thread is taken only if its stack is accepted (stack_check.h).
 * Refused  After an entry that is refused, the traps are removed for a while that grows, so that a
 *          program whose every stack is refused is not slowed down.
 * Series   After several of these, entries are judged that follow one another, for a few
 *          milliseconds every other time: a program that is in the loader nearly all the time
 *          has few good ones among them.
 * Idle     A program that enters no allocator for GG_SAFE_POINT_IDLE_MS is taken in a system call
 *          which can be made again without a difference (idle_thread.h), under the same rules.
 */
#pragma once

#include "attach/stack_check.h"
#include "base/error.h"

enum { GG_SAFE_POINT_IDLE_MS = 500, GG_SAFE_POINT_LIMIT_SECONDS = 10 };

/*
 * Finds a safe point; the traps are then removed.  Returns 0 or -Exxx with all threads running:
 * -ETIMEDOUT: no safe point came in time; -ECANCELED; -ESRCH: the process has ended.
 */
GG_MUST_CHECK int gg_safe_point_find(struct gg_safe_point *ret_point,
                                     struct gg_safe_point_search *search, struct gg_error *error);
