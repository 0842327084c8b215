/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start - starts recording in this process, and adopts the region of a parent in a forked child.
 *
 *   if (gg_start_ensure()) record the sample
 *
 * Start    The first allocation whose sample is due starts the process, which may come before any
 *          constructor; else the agent's constructor does.  Threads that allocate while another one
 *          starts pass unsampled.
 * Adopt    A forked child gets a region of its own, with the live samples that it inherited.
 *          Allocations of threads that come meanwhile pass unsampled as well.
 * Modules  This module calls every other module of the runtime, so none of them includes it; a
 *          module that needs the child's region calls gg_process_ensure_current().  The hooks, the
 *          agent's functions and the constructor may start the process.
 */
#pragma once

#include <stdbool.h>

#include "abi/agent_functions.h"
#include "base/compiler.h"
#include "runtime/process.h"

/* Starts or adopts where that is necessary.  False: nothing can be recorded, now or ever. */
GG_COLD bool gg_start_prepare(void);

/* Call it first on the sample path, after gg_thread_enter(). */
static inline bool gg_start_ensure(void)
{
	return gg_process_is_current() || gg_start_prepare();
}

/*
 * Starts because the program calls geiger_start(), with its requests.  0, also if the process
 * is running already; or -Exxx, which is not logged, and the program may try again.
 */
GG_COLD int gg_start_for_program(const struct gg_agent_request *request);

/*
 * Starts in a process that was running when the agent came, or again after a detach.  The caller
 * has set the state to STARTING, is on the sample path, and sets the state to RUNNING or DETACHED
 * afterwards.  0 or -Exxx.
 */
GG_COLD int gg_start_attached(const struct gg_agent_request *request,
                              const struct gg_region_attach *attach);

/*
 * Stops sampling in an attached process.  The last thread that leaves the sample path ends the
 * region; the caller is on that path.  False: the process was not recording.
 */
GG_COLD bool gg_start_detach(void);

/* Instead of a start, in the constructor: logs that the program is left to the allocator of this
 * sanitizer's runtime, and tells the recorder. */
GG_COLD void gg_start_leave_to_sanitizer(const char *runtime);

/* Instead of a start: logs that the allocator of that file serves, and not the library's own. */
GG_COLD void gg_start_leave_to_allocator(const char *file);
