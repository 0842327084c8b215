/* SPDX-License-Identifier: Apache-2.0 */
/* save_file - writes a temporary file and renames it, or writes to a pipe, device or terminal. */
#include "format/codec/save_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/printable.h"
#include "base/scratch.h"

static int write_fully(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

static int write_and_close(int fd, const char *bytes, size_t length)
{
	int status = write_fully(fd, bytes, length);

	if (close(fd) < 0 && status == 0)
		status = -errno;
	return status;
}

static int write_in_place(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_and_close(fd, bytes, length);
}

static int write_beside(const char *path, const char *bytes, size_t length)
{
	char *part;
	int fd, status, scratch;

	if (asprintf(&part, "%s.%d.part", path, (int)getpid()) < 0)
		return -ENOMEM;
	unlink(part);
	scratch = gg_scratch_add(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	status = fd < 0 ? -errno : write_and_close(fd, bytes, length);
	if (status == 0 && rename(part, path) < 0)
		status = -errno;
	if (status < 0 && fd >= 0)
		unlink(part);
	gg_scratch_forget(scratch);
	free(part);
	return status;
}

/* Writes to a terminal, and escapes control characters so that names cannot send commands to it. */
static int write_lines(const char *bytes, size_t length)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf shown = { 0 };
	int status = gg_printable_lines(&shown, bytes, length);

	return status < 0 ? status : write_fully(STDOUT_FILENO, shown.data, shown.length);
}

int gg_save_file(const char *path, const char *bytes, size_t length, struct gg_error *error)
{
	struct stat info;
	int status;

	if (strcmp(path, "-") == 0) {
		status = isatty(STDOUT_FILENO) ? write_lines(bytes, length)
		                               : write_fully(STDOUT_FILENO, bytes, length);
	} else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
		status = write_in_place(path, bytes, length);
	} else {
		/* The file that a link points to, so that the link itself stays. */
		char *real = realpath(path, NULL);

		status = write_beside(real != NULL ? real : path, bytes, length);
		free(real);
	}
	if (status == 0)
		return 0;
	return strcmp(path, "-") == 0 ? gg_error_set_errno(error, -status, "standard output", NULL)
	                              : gg_error_set_output(error, -status, path);
}
