/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_hooks - the hooks of _exit() and _Exit(), which call no destructors.
 *
 * Shells and Python's multiprocessing end in this way.  Without the hooks the region would have no
 * time of the end, and a recorder would only know when it noticed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process_end.h"

GG_EXPORT _Noreturn void _exit(int status);
GG_EXPORT _Noreturn void _exit(int status)
{
	gg_end_bounds();
	for (;;)
		gg_real._exit(status);
}

GG_EXPORT _Noreturn void _Exit(int status);
GG_EXPORT _Noreturn void _Exit(int status)
{
	_exit(status);
}
