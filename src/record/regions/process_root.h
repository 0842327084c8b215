/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_root - reaches files as a process with another root directory or other mounts sees them.
 *
 *   int root = gg_process_root_open(pid);
 *
 *   if (root >= 0) {
 *           struct gg_process_root_user user = gg_process_root_user_of(pid);
 *           struct gg_process_root_user before = gg_process_root_become(user);
 *           int fd = gg_process_root_open_directory(root, "/dev/shm");
 *           ... files that are created now are the process's own ...
 *           gg_process_root_become(before);
 *   }
 *
 * Users  in a user namespace, root of the machine may have no id, and the kernel refuses to create
 *        a file for it (EOVERFLOW).  So files are created as the process's own user.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Opens the root directory of the process; -1: it is the caller's, or it cannot be opened. */
int gg_process_root_open(pid_t pid);

/*
 * Opens a directory below that root, as a place only (O_PATH).  Links stay below the root.  Returns
 * -Exxx if that fails, or if files there cannot be written (-EROFS).
 */
int gg_process_root_open_directory(int root, const char *path);

/* The user and the group by which the kernel checks access to files. */
struct gg_process_root_user {
	uid_t user;
	gid_t group;
};

/* Returns those of a process, or the caller's own if they cannot be read. */
struct gg_process_root_user gg_process_root_user_of(pid_t pid);

/*
 * Lets the calling thread create files as that user, and returns the one of before.  Without the
 * right to it, nothing changes.
 */
struct gg_process_root_user gg_process_root_become(struct gg_process_root_user user);
