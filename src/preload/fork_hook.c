/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_hook - the hook of _Fork(), which calls no handlers of pthread_atfork().
 *
 * Signal handlers may call _Fork() (glibc 2.34).  The page that a fork wipes would notice the child
 * too late: if the handler interrupted the sample path, the child must not continue there in its
 * parent's file.
 */
#include <unistd.h>

#include "base/compiler.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process_fork.h"

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
