/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_groups - finds the directories of control groups by the list of mounts.
 *
 *   GG_CLEANUP(gg_buf_done) struct gg_buf mounts = { 0 }, directory = { 0 };
 *
 *   if (gg_proc_file_read(&mounts, "/proc/self/mountinfo") &&
 *       gg_control_groups_find(&directory, gg_buf_text(&mounts), NULL, "/system.slice"))
 *           ... directory.data: "/sys/fs/cgroup/system.slice" ...
 *
 * A machine may mount version 2, several hierarchies of version 1, or both; a container often
 * mounts one group as if it were the root.  The list of mounts tells all of that.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Finds the directory of a group in the hierarchy of a controller of version 1, or in that of
 * version 2 (NULL).  `path` is as in /proc/PID/cgroup.  Replaces the text of `directory`.  Returns
 * false if the group is not below any mount.  A directory of that name need not exist.
 */
bool gg_control_groups_find(struct gg_buf *directory, const char *mounts, const char *controller,
                            const char *path);

/*
 * Finds an existing group by its path in any hierarchy: version 2 is tried first.  Returns false,
 * with an empty `directory`, if no hierarchy has the group.
 */
bool gg_control_groups_find_any(struct gg_buf *directory, const char *mounts, const char *path);

/*
 * Finds the path of a process's group in the text of /proc/PID/cgroup, for a controller of version
 * 1 or for version 2 (NULL).  Returns false if the process is in no such hierarchy.
 */
bool gg_control_groups_path(struct gg_buf *path, const char *memberships, const char *controller);
