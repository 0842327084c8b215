/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_fork_hook - the hook of _Fork(), which calls no handlers of pthread_atfork().
 *
 * Signal handlers may call _Fork() (glibc 2.34).  The page that a fork wipes would notice the child
 * too late: if the handler interrupted the sample path, the child must not continue there in its
 * parent's file.
 */
#include <unistd.h>

#include "base/compiler.h"
#include "runtime/fork_handlers.h"
#include "runtime/platform/real_functions.h"

GG_EXPORT pid_t _Fork(void);
GG_EXPORT pid_t _Fork(void)
{
	pid_t child;

	gg_fork_handlers_count_fork();
	child = gg_real._Fork();
	if (child != 0) {
		gg_fork_handlers_count_fork();
		return child;
	}
	gg_fork_handlers_in_child();
	if (gg_real.forked != NULL)
		gg_real.forked();
	return child;
}
