/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded_runtime - says of a running process that its managed memory is not what is shown.
 *
 * A region has malloc's memory alone.  Readers of regions would otherwise show a .NET program as
 * one that holds little.
 *
 * Cost     reads two files of /proc, and lists the directory of the runtime's socket.
 * Threads  any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct gg_profile_writer;

/* True if a .NET runtime is in the process.  One with DOTNET_EnableDiagnostics=0 is not found. */
bool gg_unrecorded_runtime_is_in(pid_t pid);

/* Adds a note if there is one.  Returns whether there is. */
bool gg_unrecorded_runtime_note(struct gg_profile_writer *writer, pid_t pid);
