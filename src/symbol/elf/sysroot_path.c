/* SPDX-License-Identifier: Apache-2.0 */
/* sysroot_path - opens files inside another root directory. */
#include "symbol/elf/sysroot_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/*
 * Finds a file below a root and returns a descriptor that has only its place (O_PATH), or -Exxx.
 */
static int find_below(const char *root, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	GG_CLEANUP(gg_buf_done) struct gg_buf joined = { 0 };
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, status;

	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	status = -errno;
	close(root_fd);
	if (fd >= 0)
		return fd;
	if (status != -ENOSYS && status != -EPERM)
		return status;
	/*
	 * Before Linux 5.6, and in sandboxes that do not know the call, links may lead out of the
	 * root.
	 */
	gg_buf_printf(&joined, "%s/%s", root, path);
	if (joined.failed)
		return -ENOMEM;
	fd = open(joined.data, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns 0 for a regular file. */
static int check_regular(int fd)
{
	struct stat properties;

	if (fstat(fd, &properties) < 0)
		return -errno;
	if (S_ISLNK(properties.st_mode)) /* with O_NOFOLLOW alone */
		return -ELOOP;
	return S_ISREG(properties.st_mode) ? 0 : -EINVAL;
}

/*
 * Opens the file of an O_PATH descriptor, which it closes, if the file is regular.  Opening a
 * device may already do something, such as rewind a tape or start a watchdog.  Without /proc the
 * function opens `path`, unless that is NULL.
 */
static int open_regular(int place_fd, const char *path)
{
	char name[32];
	int status = check_regular(place_fd), fd = -1;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", place_fd);
	if (status == 0) {
		fd = open(name, OPEN_FLAGS);
		if (fd < 0 && errno == ENOENT && path != NULL)
			fd = open(path, OPEN_FLAGS);
		status = fd < 0 ? -errno : 0;
	}
	close(place_fd);
	return status < 0 ? status : fd;
}

int gg_sysroot_path_open(const char *root, const char *path)
{
	int fd = root != NULL ? find_below(root, path) : open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return root != NULL ? fd : -errno;
	return open_regular(fd, root == NULL ? path : NULL);
}

int gg_sysroot_path_open_own(const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : open_regular(fd, path);
}

void gg_sysroot_path_append_hex(struct gg_buf *out, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gg_buf_printf(out, "%02x", bytes[i]);
}

void gg_sysroot_path_by_build_id(struct gg_buf *out, const char *dir, const uint8_t *build_id,
                                 size_t build_id_bytes)
{
	gg_buf_clear(out);
	gg_buf_printf(out, "%s/.build-id/%02x/", dir, build_id[0]);
	gg_sysroot_path_append_hex(out, build_id + 1, build_id_bytes - 1);
	gg_buf_append_text(out, ".debug");
}

size_t gg_sysroot_path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path);

	if (length > strlen(deleted) && strcmp(path + length - strlen(deleted), deleted) == 0)
		return length - strlen(deleted);
	return length;
}
