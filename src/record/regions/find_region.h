/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_region - the region of a process that runs, given by its pid or by the region's path.
 *
 * Looked for where `geiger ls` looks, then where the process has mapped one, in whatever directory.  A process that has executed another program has left a region
 * for each; the one it has now is the one that it has mapped, where /proc lets us see that, else the
 * latest.  Of those that root finds, only what root or the process's own user made counts: anybody may
 * put a file of that name into /dev/shm.
 */
#pragma once

#include "base/error.h"

/* The path, to be freed.  -ESRCH: no such process; -ENOENT: it has no region; -EINVAL: not a pid. */
GG_MUST_CHECK int gg_find_region(char **ret_path, const char *pid_or_path, struct gg_error *error);
