/* SPDX-License-Identifier: Apache-2.0 */
/* sysroot_path - opens files inside another root directory. */
#include "symbol/elf/sysroot_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_below(const char *root, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		                      .resolve = RESOLVE_IN_ROOT };
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
	fd = open(joined.data, (int)how.flags);
	return fd < 0 ? -errno : fd;
}

int gg_sysroot_path_open(const char *root, const char *path)
{
	struct stat properties;
	int fd;

	if (root != NULL) {
		fd = open_below(root, path);
	} else {
		/*
		 * O_NONBLOCK: a path in a profile may name a FIFO, whose open() would wait for a
		 * writer forever.
		 */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	if (fd >= 0 && (fstat(fd, &properties) < 0 || !S_ISREG(properties.st_mode))) {
		close(fd);
		return -EINVAL;
	}
	return fd;
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
