/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_region - finds the region of a running process by its pid, or a region by its path.
 *
 * The search covers the directories of `geiger ls`, then the regions that the process has mapped
 * from any directory.  A process that executed other programs has left a region for each of them.
 * Its current region is the one that it has mapped, if /proc shows that, otherwise the latest.  For
 * root only regions count that root or the process's own user created, because anybody may put a
 * file of that name into /dev/shm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* True if the operand is a number, which is always a pid; a file with such a name is ./4711. */
bool gg_find_region_is_pid(const char *operand);

/* The caller frees the path.  -ESRCH: no such process; -ENOENT: no region; -EINVAL: not a pid. */
GG_MUST_CHECK int gg_find_region(char **ret_path, const char *pid_or_path, struct gg_error *error);

/*
 * True if the process has surely mapped that region, so it is still the one of its program.  This
 * costs the reading of /proc/PID/maps, where a search reads all regions of the machine.
 */
bool gg_find_region_is_mapped(uint32_t pid, const char *path);

/*
 * Returns the process from which this one was forked, if it still has the region of that process
 * mapped and none of its own, because it has recorded nothing yet; 0: it is no such process.
 * *ret_path is that region, or NULL if it cannot be found; the caller frees it; ret_path may be
 * NULL.  A vfork child looks the same: it has the memory of its parent.
 */
uint32_t gg_find_region_inherited(char **ret_path, uint32_t pid);
