/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallctl - jemalloc's functions to control its profiler, answered by the agent.
 *
 * ctl_table.h lists the names; docs/MIGRATING.md says what each does here.  Programs look for these
 * functions weakly, to find out whether a jemalloc is loaded.  So they are in a library of their
 * own, which is preloaded for programs that shall find them.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

GG_EXPORT int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
GG_EXPORT int mallctlnametomib(const char *name, size_t *mib, size_t *depth);
GG_EXPORT int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_bytes, void *new,
                           size_t new_bytes);
