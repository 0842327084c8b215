/* SPDX-License-Identifier: Apache-2.0 */
/* memory_usage - parses /proc/self/statm and the files of control groups. */
#include "runtime/dump/memory_usage.h"

#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/syscalls.h"

enum { CGROUP_PATH_MAX = 1024, MEMBERSHIP_BYTES_MAX = 4096 };

/* These buffers are too large for the stack of a thread that takes a sample, so they are mapped. */
struct scratch {
	char membership[MEMBERSHIP_BYTES_MAX], below[CGROUP_PATH_MAX], path[CGROUP_PATH_MAX];
};

/*
 * Reads the number at the beginning of a text.  False: the text begins with something different,
 * such as "max", which stands for no limit.
 */
static bool parse(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	*ret_number = number;
	return true;
}

static bool read_number(const char *path, uint64_t *ret_number)
{
	char text[32];
	ssize_t length = gg_syscall_read_file(path, text, sizeof(text) - 1);

	if (length <= 0)
		return false;
	text[length] = '\0';
	return parse(text, ret_number);
}

/* The second number of statm is the resident set size in pages. */
uint64_t gg_memory_usage_rss_bytes(void)
{
	char text[128];
	ssize_t length = gg_syscall_read_file("/proc/self/statm", text, sizeof(text) - 1);
	const char *second;
	uint64_t pages;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	second = strchr(text, ' ');
	return second != NULL && parse(second + 1, &pages) ? pages * getauxval(AT_PAGESZ) : 0;
}

/* The files with a group's usage and limit; their names depend on the version of control groups. */
struct cgroup_files {
	const char *used, *limit;
};
static const struct cgroup_files version_2 = { "/memory.current", "/memory.max" };
static const struct cgroup_files version_1 = { "/memory.usage_in_bytes", "/memory.limit_in_bytes" };

/*
 * Returns a group's usage in percent of its limit, at most 100 000; 0: the group has no limit, or
 * the files cannot be read.  `path` is the group's, with room for the names of the files; it is
 * unchanged afterwards.
 */
static uint32_t percent_of(char *path, const struct cgroup_files *names)
{
	size_t length = strlen(path);
	uint64_t used = 0, limit = 0;
	bool is_known;

	strcpy(path + length, names->used);
	is_known = read_number(path, &used);
	strcpy(path + length, names->limit);
	is_known = is_known && read_number(path, &limit);
	path[length] = '\0';
	if (!is_known || limit == 0)
		return 0;
	return used / limit < 1000 ? (uint32_t)((double)used * 100 / (double)limit) : 100000;
}

/*
 * Returns the largest percentage of a group below `root` and of all groups above it.  The kernel
 * enforces the limits of all of them, so the tightest one counts.
 */
static uint32_t percent_up(char *path, const char *root, const char *group,
                           const struct cgroup_files *names)
{
	size_t root_length = strlen(root);
	uint32_t most = 0;

	if (root_length + strlen(group) + 32 > CGROUP_PATH_MAX)
		return 0;
	stpcpy(stpcpy(path, root), group);
	for (;;) {
		size_t length = strlen(path);
		uint32_t percent;
		char *slash;

		if (length > root_length && path[length - 1] == '/')
			path[length - 1] = '\0';
		percent = percent_of(path, names);
		most = percent > most ? percent : most;
		slash = strrchr(path, '/');
		if (strlen(path) <= root_length || slash == NULL)
			return most;
		*slash = '\0';
	}
}

/*
 * Evaluates one line of the membership, "ID:CONTROLLERS:PATH".  Version 2 has one line, without
 * controllers.  Version 1 has a line for each hierarchy, and "memory" is the one that counts.
 */
static uint32_t percent_of_line(struct scratch *scratch, const char *root, const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

	if (path == NULL)
		return 0;
	if (path == controllers + 1)
		return percent_up(scratch->path, root, path + 1, &version_2);
	if (strncmp(controllers + 1, "memory", 6) != 0 || strlen(root) + 8 > CGROUP_PATH_MAX)
		return 0;
	stpcpy(stpcpy(scratch->below, root), "/memory");
	return percent_up(scratch->path, scratch->below, path + 1, &version_1);
}

static uint32_t percent_of_groups(struct scratch *scratch, const char *root, const char *membership)
{
	ssize_t length = gg_syscall_read_file(membership, scratch->membership,
	                                      sizeof(scratch->membership) - 1);
	char *line = scratch->membership, *end;
	uint32_t most = 0;

	if (length <= 0)
		return 0;
	line[length] = '\0';
	while ((end = strchr(line, '\n')) != NULL) {
		uint32_t percent;

		*end = '\0';
		percent = percent_of_line(scratch, root, line);
		most = percent > most ? percent : most;
		line = end + 1;
	}
	return most;
}

uint32_t gg_memory_usage_cgroup_percent(const char *root, const char *membership)
{
	struct scratch *scratch = gg_syscall_map(sizeof(*scratch));
	uint32_t percent;

	if (scratch == NULL)
		return 0;
	percent = percent_of_groups(scratch, root, membership);
	gg_syscall_unmap(scratch, sizeof(*scratch));
	return percent;
}
