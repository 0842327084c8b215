/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limit - how much memory the control groups of the process may have.
 *
 * The allocator reads memory.high and memory.max once, at its start, of the process's group and of
 * all groups around it.  It also knows the limits of version 1.  It keeps less free memory if
 * there is a limit (purge.h).  Later changes of limits, and of the group, go unnoticed: reading
 * files later could end a process in a sandbox.
 *
 * Failure  What cannot be read is no limit.
 */
#pragma once

#include <stddef.h>

/*
 * Returns the lowest limit, in bytes; SIZE_MAX: no group has one.  list: the file that names the
 * groups; mount: where groups are mounted.  NULL: those of the system.
 */
size_t gg_malloc_memory_limit_read(const char *list, const char *mount);
