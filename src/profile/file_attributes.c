/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_attributes - gives the file that replaces another one the same owner and permissions.
 *
 * `sudo geiger pack FILE` must leave the file to the user who recorded it.  A file of several names
 * is refused: only one of them would lead to the new content.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profile/statements.h"

static const char access_list[] = "system.posix_acl_access";

static const char advice[] = "Write a copy: geiger pack -o FILE, or geiger pack --undo -o FILE.";

/* 0 or an errno value. */
static int copy_access_list(const char *path, int fd)
{
	ssize_t length = getxattr(path, access_list, NULL, 0);
	char *bytes;
	int problem = 0;

	if (length <= 0) /* none, or a file system without them */
		return 0;
	bytes = malloc((size_t)length);
	if (bytes == NULL)
		return ENOMEM;
	length = getxattr(path, access_list, bytes, (size_t)length);
	if (length < 0 || fsetxattr(fd, access_list, bytes, (size_t)length, 0) < 0)
		problem = errno;
	free(bytes);
	return problem;
}

int gg_database_copy_attributes(const char *path, const char *part, struct gg_error *error)
{
	struct stat old, new;
	int fd, problem = 0;

	if (stat(path, &old) < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (old.st_nlink > 1)
		return gg_error_set(error, -EMLINK, path, advice,
		                    "the file has %llu names (hard links), and only one can get "
		                    "the new content",
		                    (unsigned long long)old.st_nlink);
	fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &new) < 0)
		problem = errno;
	if (problem == 0 && (new.st_uid != old.st_uid || new.st_gid != old.st_gid) &&
	    fchown(fd, old.st_uid, old.st_gid) < 0)
		problem = errno;
	if (problem == 0 && fchmod(fd, old.st_mode & 0777) < 0)
		problem = errno;
	if (problem == 0)
		problem = copy_access_list(path, fd);
	if (fd >= 0)
		close(fd);
	return problem == 0 ? 0
	                    : gg_error_set(error, -problem, path, advice,
	                                   "the new file cannot have the same owner and "
	                                   "permissions");
}
