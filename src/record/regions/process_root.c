/* SPDX-License-Identifier: Apache-2.0 */
/* process_root - opens /proc/PID/root and changes the user of files (regions/process_root.h). */
#include "record/regions/process_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* True if both processes are in one mount namespace, or if that cannot be found out. */
static bool shares_mounts(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return stat(path, &theirs) < 0 || stat("/proc/self/ns/mnt", &ours) < 0 ||
	       (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

int gg_process_root_open(pid_t pid)
{
	struct stat ours, theirs;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !shares_mounts(pid) || stat("/", &ours) < 0 || fstat(fd, &theirs) < 0 ||
	    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return fd;
	close(fd);
	return -1;
}

int gg_process_root_open_directory(int root, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		                      .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct statvfs place;

	if (fd < 0)
		return -errno;
	if (fstatvfs(fd, &place) == 0 && (place.f_flag & ST_RDONLY) != 0) {
		close(fd);
		return -EROFS;
	}
	return fd;
}

struct gg_process_root_user gg_process_root_user_of(pid_t pid)
{
	struct gg_process_root_user found = { (uid_t)setfsuid((uid_t)-1),
		                              (gid_t)setfsgid((gid_t)-1) };
	unsigned int user, group;
	char path[32], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "Uid: %*u %*u %*u %u", &user) == 1)
			found.user = user;
		if (sscanf(line, "Gid: %*u %*u %*u %u", &group) == 1)
			found.group = group;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

struct gg_process_root_user gg_process_root_become(struct gg_process_root_user user)
{
	struct gg_process_root_user before;

	/* The group first: a user who is not root may not change it. */
	if (user.user == 0) {
		before.user = (uid_t)setfsuid(user.user);
		before.group = (gid_t)setfsgid(user.group);
	} else {
		before.group = (gid_t)setfsgid(user.group);
		before.user = (uid_t)setfsuid(user.user);
	}
	return before;
}
