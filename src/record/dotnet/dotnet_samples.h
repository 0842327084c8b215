/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_samples - writes what the .NET runtimes of a session sent into its profile.
 *
 *   gg_dotnet_samples_write(&port, &writer, NULL);     when all processes of the session have ended
 *
 * Both clocks are CLOCK_MONOTONIC, so samples of managed memory and of malloc share one time axis.
 * A runtime's samples belong to the process of its pid that ran when the stream began, and not to a
 * program that the process executed later.  If the session has no such process, because it ran
 * without the agent, the runtime gets one.
 *
 * Native stacks pass through compiled methods, which lie in no module.  Their frames get the names
 * that the runtime told.
 *
 * Failure  a stream that is damaged leaves a note, and its samples are missing.
 * Memory   the stream is mapped; beside it some 100 bytes a sample.
 */
#pragma once

#include "record/dotnet/diagnostic_port.h"
#include "record/session/profile_writer.h"

/*
 * Returns 0 or the writer's first failure.  *ret_last_ns: the last time of a sample, unless there
 * is no runtime; may be NULL.
 */
int gg_dotnet_samples_write(const struct gg_diagnostic_port *port, struct gg_profile_writer *writer,
                            int64_t *ret_last_ns);
