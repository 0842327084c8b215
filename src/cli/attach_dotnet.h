/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_dotnet - `geiger attach --only dotnet`: records the managed memory of a .NET process.
 *
 * The runtime itself samples and sends its events (dotnet/event_stream.h).  Nothing is loaded into
 * the process, and none of its threads is stopped.
 */
#pragma once

#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cli/attach_run.h"

/* Records until a signal, the time limit, or the end of the process.  Returns 0 or -Exxx. */
GG_MUST_CHECK int gg_attach_dotnet(pid_t pid, const struct gg_attach_options *given,
                                   struct gg_error *error);
