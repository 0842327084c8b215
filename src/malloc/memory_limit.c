/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limit - reads files of control groups by system calls, without memory of its own. */
#include "malloc/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIST_BYTES = 2048, GROUP_PATH_BYTES = 1024, GROUPS_MOST = 16 };

/* Reads the begin of a file as a string; 0: it cannot be read. */
static size_t read_file(const char *path, char *ret, size_t capacity)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), count;

	ret[0] = '\0';
	if (fd < 0)
		return 0;
	count = syscall(SYS_read, fd, ret, capacity - 1);
	syscall(SYS_close, fd);
	if (count <= 0)
		return 0;
	ret[count] = '\0';
	return (size_t)count;
}

/* Reads a number; "max", and anything else, is no limit. */
static size_t read_limit(const char *path)
{
	char text[32];
	size_t limit = 0;

	if (read_file(path, text, sizeof(text)) == 0 || text[0] < '0' || text[0] > '9')
		return SIZE_MAX;
	for (const char *c = text; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(limit, (size_t)10, &limit) ||
		    __builtin_add_overflow(limit, (size_t)(*c - '0'), &limit))
			return SIZE_MAX;
	return limit;
}

static size_t lower(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* The limit in one file of a group, whose path is in `path` and has that length. */
static size_t limit_in(char path[GROUP_PATH_BYTES], size_t length, const char *file)
{
	if (length + strlen(file) >= GROUP_PATH_BYTES)
		return SIZE_MAX;
	strcpy(path + length, file);
	return read_limit(path);
}

/* The lowest limit of a group and those around it.  group: from the mount on, "/a/b". */
static size_t limit_of_group(const char *mount, const char *group, size_t group_length,
                             bool is_version_1)
{
	char path[GROUP_PATH_BYTES];
	size_t mount_length = strlen(mount), limit = SIZE_MAX;

	if (mount_length + group_length >= GROUP_PATH_BYTES)
		return SIZE_MAX;
	memcpy(path, mount, mount_length);
	memcpy(path + mount_length, group, group_length);
	for (int i = 0; i < GROUPS_MOST; i++) {
		size_t length = mount_length + group_length;

		if (is_version_1) {
			limit = lower(limit, limit_in(path, length, "/memory.limit_in_bytes"));
		} else {
			limit = lower(limit, limit_in(path, length, "/memory.max"));
			limit = lower(limit, limit_in(path, length, "/memory.high"));
		}
		if (group_length == 0)
			break;
		while (group_length > 0 && group[--group_length] != '/')
			;
	}
	/* Version 1 states the largest number of pages for "no limit". */
	return limit < SIZE_MAX / 4 ? limit : SIZE_MAX;
}

/* True if `name` is one of the names between `text` and `end`, which commas divide. */
static bool has_name(const char *text, const char *end, const char *name)
{
	size_t length = strlen(name);

	for (; text + length <= end; text++) {
		if (memcmp(text, name, length) == 0 &&
		    (text + length == end || text[length] == ','))
			return true;
		while (text < end && *text != ',')
			text++;
	}
	return false;
}

size_t gg_malloc_memory_limit_read(const char *list, const char *mount)
{
	int saved_errno = errno;
	char text[LIST_BYTES], mount_1[GROUP_PATH_BYTES / 2];
	size_t limit = SIZE_MAX;

	if (list == NULL)
		list = "/proc/self/cgroup";
	if (mount == NULL)
		mount = "/sys/fs/cgroup";
	if (strlen(mount) + sizeof("/memory") > sizeof(mount_1))
		return SIZE_MAX;
	strcpy(mount_1, mount);
	strcpy(mount_1 + strlen(mount), "/memory");
	read_file(list, text, sizeof(text));
	/* Lines are NUMBER:CONTROLLERS:PATH; version 2 has "0::PATH". */
	for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		const char *names = memchr(line, ':', (size_t)(end - line)), *group;
		size_t length;

		if (names == NULL)
			continue;
		names++;
		group = memchr(names, ':', (size_t)(end - names));
		if (group == NULL)
			continue;
		length = (size_t)(end - group - 1);
		if (length == 1) /* "/" */
			length = 0;
		if (names == group)
			limit = lower(limit, limit_of_group(mount, group + 1, length, false));
		else if (has_name(names, group, "memory"))
			limit = lower(limit, limit_of_group(mount_1, group + 1, length, true));
	}
	errno = saved_errno;
	return limit;
}
