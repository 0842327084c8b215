/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_check - finds out if the seccomp filters of a stopped thread would end its process for a
 * system call that the attach makes.
 *
 *   status = gg_filter_check(tid, error);
 *
 * The kernel shows the filters to a tracer with CAP_SYS_ADMIN that has no filters itself.  The
 * check runs each of them for each call, with arguments of 0: the real ones are not known yet.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/*
 * Returns 0, also if the filters cannot be read; or -EPERM with an error that names the call.  The
 * thread must be stopped, and traced by the caller.
 */
GG_MUST_CHECK int gg_filter_check(pid_t tid, struct gg_error *error);
