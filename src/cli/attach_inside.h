/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_inside - records a process that attaches the agent by itself, as geiger.record() does.
 *
 * A process may always load a library into itself, so this needs no right to trace.  Process and
 * recorder exchange these over the recorder's standard input and output:
 *
 *   recorder   three lines (its pid, the path of the agent, the path of the adapter for Python or
 *              an empty line), then a struct gg_attach_request
 *   process    the struct gg_attach_result of its call of GG_ATTACH_ENTRY
 *   recorder   "recording\n"
 *   process    calls GG_DETACH_ENTRY, and writes a byte
 *   recorder   "written\n", after which the profile is complete
 *
 * The recorder forks first, so the process has no child of which it does not know.  If the recorder
 * ends early, standard error has the reason.
 */
#pragma once

#include "cli/attach_run.h"

/* Returns the exit status, or -Exxx with an error. */
GG_MUST_CHECK int gg_attach_inside(pid_t pid, const char *agent,
                                   const struct gg_attach_options *given, struct gg_error *error);
