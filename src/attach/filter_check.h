/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_check - finds out if the seccomp filters of a stopped thread would end its process for a
 * system call that the attach makes.
 *
 *   status = gg_filter_check(tid, false, error);
 *
 * The kernel shows the filters to a tracer with CAP_SYS_ADMIN that has no filters itself.  The
 * check runs each of them for each call, with flags as the call has them.  Addresses, sizes and
 * descriptors are examples.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Returns 0, or -EPERM with an error that names the call.  If the kernel does not show the filters,
 * the result is 0, or -EPERM if `must_read`.  The thread must be stopped, and traced by the caller.
 */
GG_MUST_CHECK int gg_filter_check(pid_t tid, bool must_read, struct gg_error *error);

/*
 * Returns the name of a call of the adapter for Python for which a filter ends the process; NULL:
 * there is no such call.  The thread is as above.
 */
const char *gg_filter_check_python(pid_t tid);
