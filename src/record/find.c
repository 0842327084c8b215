/* SPDX-License-Identifier: Apache-2.0 */
#include "record/find.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/alive.h"
#include "record/regions.h"

struct search {
	uint32_t pid;
	char *path; /* the best so far */
	uint64_t start_wall_ns;
	bool is_mapped;
	bool has_stale; /* one that the process has not mapped */
};

/* One of the users that the process has been, is or may become. */
static bool is_user_of(uint32_t pid, uid_t user)
{
	unsigned int ids[4] = { 0 };
	char path[32], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
	fclose(file);
	return found && (ids[0] == user || ids[1] == user || ids[2] == user || ids[3] == user);
}

enum mapped { MAPPED, NOT_MAPPED, UNKNOWN };

/* Does the process have the file mapped?  By its number: some file systems tell two devices of one. */
static enum mapped is_mapped(uint32_t pid, const struct stat *file)
{
	char path[32], *line = NULL;
	enum mapped answer = UNKNOWN;
	unsigned long long inode;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return UNKNOWN;
	while (answer != MAPPED && getline(&line, &size, maps) > 0) {
		answer = NOT_MAPPED;
		if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == file->st_ino)
			answer = MAPPED;
	}
	free(line);
	fclose(maps);
	return answer;
}

static int consider(const struct gg_region_file *file, void *context)
{
	struct search *search = context;
	enum mapped mapped;
	struct stat status;
	char *path;

	if (file->kind != GG_REGION_FILE_WHOLE || file->pid != search->pid || !file->is_alive ||
	    lstat(file->path, &status) < 0)
		return 0;
	if (status.st_uid != 0 && status.st_uid != geteuid() &&
	    !is_user_of(file->pid, status.st_uid))
		return 0;
	mapped = is_mapped(file->pid, &status);
	if (mapped == NOT_MAPPED) {
		search->has_stale = true;
		return 0;
	}
	if (search->path != NULL &&
	    (search->is_mapped > (mapped == MAPPED) || search->start_wall_ns > file->start_wall_ns))
		return 0;
	path = strdup(file->path);
	if (path == NULL)
		return -ENOMEM;
	free(search->path);
	search->path = path;
	search->is_mapped = mapped == MAPPED;
	search->start_wall_ns = file->start_wall_ns;
	return 0;
}

/* The text is a number: a file of such a name is ./4711. */
static int find_by_pid(char **ret_path, uint32_t pid, const char *text, struct gg_error *error)
{
	struct search search = { .pid = pid };
	int status;

	if (!gg_alive(pid, 0))
		return gg_error_set(error, -ESRCH, text,
		                    "'geiger ls' lists the regions of this machine.",
		                    "there is no such process");
	status = gg_regions_each(NULL, 0, consider, &search, error);
	if (status == -ENOMEM)
		return gg_error_set_errno(error, ENOMEM, text, NULL);
	if (status == 0 && search.path == NULL)
		status = gg_error_set(
			error, -ENOENT, text, "'geiger env' tells how to start a program with it.",
			search.has_stale
				? "the process has executed another program, which runs without "
				  "the agent"
				: "the process has no region: it runs without the agent, or is "
				  "another user's; GEIGER_DIR names a directory of its own");
	if (status == 0)
		*ret_path = search.path;
	else
		free(search.path);
	return status;
}

int gg_find_region(char **ret_path, const char *pid_or_path, struct gg_error *error)
{
	bool is_number = *pid_or_path != '\0' &&
	                 strspn(pid_or_path, "0123456789") == strlen(pid_or_path);
	unsigned long pid = is_number ? strtoul(pid_or_path, NULL, 10) : 0;
	char *path;

	if (is_number && (pid == 0 || pid > INT_MAX))
		return gg_error_set(error, -EINVAL, pid_or_path, NULL, "not the id of a process");
	if (is_number)
		return find_by_pid(ret_path, (uint32_t)pid, pid_or_path, error);
	path = strdup(pid_or_path);
	if (path == NULL)
		return gg_error_set_errno(error, ENOMEM, pid_or_path, NULL);
	*ret_path = path;
	return 0;
}
