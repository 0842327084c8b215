/* SPDX-License-Identifier: Apache-2.0 */
/* fork - the hook of _Fork(), which calls no handlers of pthread_atfork(). */
#include <unistd.h>

#include "base/compiler.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process_fork.h"

/*
 * What handlers may call (glibc since 2.34): the page that tells children alone would tell too late.  A
 * child of a bare clone() in a handler on the sample path must not go back there.
 */
GG_EXPORT pid_t _Fork(void);
GG_EXPORT pid_t _Fork(void)
{
	pid_t child;

	gg_process_fork_count();
	child = gg_real._Fork();
	if (child == 0)
		gg_process_fork_in_child();
	else
		gg_process_fork_count();
	return child;
}
