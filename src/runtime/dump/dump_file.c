/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_file - opens, writes and names the file of a dump.
 *
 * A reader of the path never sees half of a dump, unless the path is a link or a stream.  The dump
 * is written to a nameless file, or to one with a temporary name if the file system has no
 * nameless ones, and gets its name when it is complete.
 */
#include "runtime/dump/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "runtime/digits.h"

enum { MODE = 0644 }; /* as dumps of other profilers, less the umask */

static uint32_t part_count;   /* numbers the names, so that two dumps to one path differ */
static uint32_t needs_a_name; /* 1: a nameless file could not be linked to a name here */

/* open() without a cancellation point.  Returns -Exxx on failure. */
static int open_at(const char *path, int flags)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, MODE);

	return fd < 0 ? -errno : (int)fd;
}

/* Sets the temporary name, PATH.PID-N.part. */
static void name_part(struct gg_dump_file *file)
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(file->part, file->path);

	*at++ = '.';
	at = stpcpy(at, gg_digits(file->pid, digits));
	*at++ = '-';
	at = stpcpy(at, gg_digits(gg_add_relaxed(&part_count, 1), digits));
	stpcpy(at, ".part");
}

/* Opens a nameless file in the directory of the path; `part` gets the name of that directory. */
static int open_nameless(struct gg_dump_file *file)
{
	char *slash;

	if (gg_load_relaxed(&needs_a_name) != 0)
		return -EOPNOTSUPP;
	strcpy(file->part, file->path);
	slash = strrchr(file->part, '/');
	if (slash == NULL)
		strcpy(file->part, ".");
	else
		slash[slash == file->part] = '\0'; /* "/" stays */
	return open_at(file->part, O_TMPFILE | O_WRONLY);
}

/* Opens a file with the temporary name; O_EXCL and O_NOFOLLOW refuse a planted one. */
static int open_named(struct gg_dump_file *file)
{
	int fd;

	name_part(file);
	fd = open_at(file->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	if (fd == -EEXIST) { /* left by a killed process with the same pid */
		unlink(file->part);
		fd = open_at(file->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	}
	return fd;
}

enum dump_target {
	TARGET_FILE,   /* no file, or a plain one: replaced when the new one is complete */
	TARGET_LINK,   /* a link to a plain file, or to no file yet: written through the link */
	TARGET_STREAM, /* a character device or a pipe: written in place */
};

/*
 * In a shared directory another user can plant a link, so only links of ours and of root's count.
 */
static bool is_link_followed(const char *path)
{
	int fd = open_at(path, O_PATH | O_NOFOLLOW);
	struct stat found;
	bool is_link = fd >= 0 && fstat(fd, &found) == 0 && S_ISLNK(found.st_mode) &&
	               (found.st_uid == 0 || found.st_uid == geteuid());

	if (fd >= 0)
		syscall(SYS_close, fd);
	return is_link;
}

/* Returns the enum dump_target of the path, or -Exxx. */
static int find_target(const char *path)
{
	bool is_link = is_link_followed(path);
	int fd = open_at(path, O_PATH), target = is_link ? TARGET_LINK : TARGET_FILE;
	struct stat found;

	if (fd < 0)
		return fd == -ENOENT ? target : fd;
	if (fstat(fd, &found) < 0)
		target = -errno;
	else if (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))
		target = TARGET_STREAM;
	else if (!S_ISREG(found.st_mode))
		target = S_ISDIR(found.st_mode) ? -EISDIR : -ENXIO;
	syscall(SYS_close, fd);
	return target;
}

/* Opens without waiting for a reader, but lets writes wait for one. */
static int open_stream(const char *path)
{
	int fd = open_at(path, O_WRONLY | O_NOCTTY | O_NONBLOCK), flags;

	if (fd < 0)
		return fd;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
		return fd;
	syscall(SYS_close, fd);
	return -EIO;
}

static int open_target(struct gg_dump_file *file, enum dump_target target)
{
	int fd;

	if (target == TARGET_STREAM)
		return open_stream(file->path);
	if (target == TARGET_LINK)
		return open_at(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY);
	fd = open_nameless(file);
	file->is_nameless = fd >= 0;
	return fd >= 0 ? fd : open_named(file);
}

int gg_dump_file_begin(struct gg_dump_file *ret_file, const char *path)
{
	struct rlimit limit;
	size_t length = strlen(path);
	int target;

	if (length == 0)
		return -EINVAL;
	if (length >= GG_DUMP_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret_file->path, path, length + 1);
	target = find_target(path);
	if (target < 0)
		return target;
	ret_file->pid = (uint32_t)getpid();
	ret_file->offset = 0;
	ret_file->limit = UINT64_MAX;
	/* A write beyond the limit would raise SIGXFSZ, so the dump fails before it. */
	if (target != TARGET_STREAM && getrlimit(RLIMIT_FSIZE, &limit) == 0)
		ret_file->limit = limit.rlim_cur;
	ret_file->is_stream = target == TARGET_STREAM;
	ret_file->is_in_place = target != TARGET_FILE;
	ret_file->is_nameless = false;
	ret_file->fd = open_target(ret_file, (enum dump_target)target);
	return ret_file->fd < 0 ? ret_file->fd : 0;
}

/* False in a child that returned from a handler into the middle of a dump. */
static bool is_ours(const struct gg_dump_file *file)
{
	return file->pid == (uint32_t)getpid();
}

/* Writes without SIGPIPE, which a stream without a reader raises. */
static long write_stream(int fd, const char *bytes, size_t length)
{
	static const struct timespec now = { 0, 0 };
	sigset_t pipe_signal, before, pending;
	long written;
	int why;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	written = syscall(SYS_write, fd, bytes, length);
	why = errno;
	/* A signal that was pending before is the program's. */
	if (written < 0 && why == EPIPE && sigismember(&pending, SIGPIPE) != 1)
		sigtimedwait(&pipe_signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return written;
}

int gg_dump_file_write(void *context, const char *bytes, size_t length)
{
	struct gg_dump_file *file = context;

	gg_assert(file->fd >= 0);
	if (!is_ours(file))
		return -ECHILD;
	if (length > file->limit || file->offset > file->limit - length)
		return -EFBIG;
	while (length > 0) {
		long written = file->is_stream ? write_stream(file->fd, bytes, length)
		                               : syscall(SYS_pwrite64, file->fd, bytes, length,
		                                         file->offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		bytes += written;
		file->offset += (uint64_t)written;
		length -= (size_t)written;
	}
	return 0;
}

/* Gives the complete file its name; rename() replaces an older dump atomically. */
static int move(const struct gg_dump_file *file)
{
	int status = rename(file->part, file->path) < 0 ? -errno : 0;

	if (status < 0)
		unlink(file->part);
	return status;
}

/* Links the nameless file by its name in /proc. */
static int link_as(int fd, const char *name)
{
	char self[sizeof("/proc/self/fd/") + GG_DIGITS_MAX], digits[GG_DIGITS_MAX];

	stpcpy(stpcpy(self, "/proc/self/fd/"), gg_digits((uint64_t)fd, digits));
	return syscall(SYS_linkat, AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno
	                                                                                  : 0;
}

static int give_name(struct gg_dump_file *file)
{
	int status = link_as(file->fd, file->path);

	/* linkat() cannot replace a file, so an older dump needs a temporary name and rename(). */
	if (status == -EEXIST) {
		name_part(file);
		unlink(file->part);
		status = link_as(file->fd, file->part);
		return status == 0 ? move(file) : status;
	}
	if (status == 0 || status == -ENOSPC || status == -EDQUOT || status == -EACCES ||
	    status == -EROFS)
		return status;
	/* There is no /proc, or the file system cannot link nameless files. */
	gg_store_relaxed(&needs_a_name, 1);
	return -EAGAIN;
}

int gg_dump_file_end(struct gg_dump_file *file, int status)
{
	bool is_named = !file->is_nameless && !file->is_in_place;

	gg_assert(file->fd >= 0 && !(file->is_nameless && file->is_in_place));
	if (status == 0 && !is_ours(file))
		status = -ECHILD;
	if (status == 0 && file->is_nameless)
		status = give_name(file);
	if (syscall(SYS_close, file->fd) < 0 && status == 0 && !file->is_nameless)
		status = -errno;
	if (is_named && status == 0)
		status = move(file);
	else if (is_named && status != -ECHILD)
		unlink(file->part);
	return status;
}
