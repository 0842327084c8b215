/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_region - finds the region of a running process by its pid, or a region by its path.
 *
 * A file in /dev/shm proves nothing by its name: anybody may create it, and an exec leaves the
 * regions of earlier programs.  Two checks decide: the file must have an acceptable owner, and the
 * process must have mapped it.
 */
#include "record/regions/find_region.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/maps_line.h"
#include "base/path.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/regions/session_directory.h"

struct search {
	uint32_t pid;
	char *path; /* the best region so far */
	uint64_t start_wall_ns;
	bool is_mapped;
	bool has_stale; /* there is a region of this pid that the process has not mapped */
};

/* True if the process has `user` as its real, effective, saved, or file system user. */
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

/* True if root, the caller, or the process's own user created the file. */
static bool is_owner_fine(uint32_t pid, const struct stat *file)
{
	return file->st_uid == 0 || file->st_uid == geteuid() || is_user_of(pid, file->st_uid);
}

bool gg_find_region_is_mapped(uint32_t pid, const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 &&
	       gg_process_alive_maps(pid, &status) == GG_PROCESS_MAPS_IT;
}

/*
 * Takes a listed region if it is better than the best one so far: a region that is certainly mapped
 * wins over one that may be, then the later start wins.
 */
static int consider(const struct gg_listed_region *file, void *context)
{
	struct search *search = context;
	enum gg_process_maps mapped;
	struct stat status;
	char *path;

	if (file->kind != GG_LISTED_REGION_WHOLE || file->pid != search->pid || !file->is_alive ||
	    lstat(file->path, &status) < 0)
		return 0;
	if (!is_owner_fine(file->pid, &status))
		return 0;
	mapped = gg_process_alive_maps(file->pid, &status);
	if (mapped == GG_PROCESS_MAPS_OTHERS) {
		search->has_stale = true;
		return 0;
	}
	if (search->path != NULL && (search->is_mapped > (mapped == GG_PROCESS_MAPS_IT) ||
	                             search->start_wall_ns > file->start_wall_ns))
		return 0;
	path = strdup(file->path);
	if (path == NULL)
		return -ENOMEM;
	free(search->path);
	search->path = path;
	search->is_mapped = mapped == GG_PROCESS_MAPS_IT;
	search->start_wall_ns = file->start_wall_ns;
	return 0;
}

/* --- search in the process's mappings --- */

static bool is_mapped_file(uint32_t pid, const char *path, unsigned long long inode)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode &&
	       is_owner_fine(pid, &status);
}

/* Returns the part of the path below the process's root directory, as /proc/PID/maps shows both. */
static const char *below_root(uint32_t pid, const char *path)
{
	char link[32], root[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/root", pid);
	length = readlink(link, root, sizeof(root));
	if (length > 1 && length < (ssize_t)sizeof(root) &&
	    strncmp(path, root, (size_t)length) == 0 && path[length] == '/')
		return path + length;
	return path;
}

/*
 * Returns the path by which the caller can open a file of /proc/PID/maps.  NULL: it has no such
 * path.  The process may have another root directory, so the second attempt goes through
 * /proc/PID/root.
 */
static char *name_here(uint32_t pid, const char *path, unsigned long long inode)
{
	char *name = NULL;

	if (is_mapped_file(pid, path, inode))
		return strdup(path);
	if (asprintf(&name, "/proc/%" PRIu32 "/root%s", pid, below_root(pid, path)) < 0)
		return NULL;
	if (is_mapped_file(pid, name, inode))
		return name;
	free(name);
	return NULL;
}

/* The regions that a process has mapped. */
struct mapped_regions {
	char *own;              /* path of its own region, as the caller sees it; or NULL */
	bool is_own_removed;    /* the file of its own region was removed */
	char *inherited;        /* path of a region that another process made; or NULL */
	uint32_t inherited_pid; /* pid of that process in its own namespace; or 0 */
};

/* Cuts " (deleted)" off the path, and returns true if it was there. */
static bool cut_removed(char *path)
{
	static const char removed[] = " (deleted)";
	size_t length = strlen(path), suffix = strlen(removed);
	bool is_removed = length > suffix && strcmp(path + length - suffix, removed) == 0;

	if (is_removed)
		path[length - suffix] = '\0';
	return is_removed;
}

static void add_mapped(struct mapped_regions *found, uint32_t pid, char *path, uint64_t inode)
{
	bool is_removed = cut_removed(path);
	uint32_t named = (uint32_t)gg_session_directory_region_pid(gg_path_base(path));

	if (named == 0)
		return;
	if (named == pid || named == gg_process_alive_innermost_pid(pid)) {
		found->is_own_removed |= is_removed;
		if (!is_removed && found->own == NULL)
			found->own = name_here(pid, path, inode);
		return;
	}
	found->inherited_pid = named;
	if (!is_removed && found->inherited == NULL)
		found->inherited = name_here(pid, path, inode);
}

/* Finds the regions that the process has mapped from any directory, such as its own GEIGER_DIR. */
static void find_mapped(struct mapped_regions *ret_found, uint32_t pid)
{
	struct mapped_regions found = { 0 };
	char maps_path[32], *line = NULL;
	struct gg_maps_line mapping;
	size_t size = 0;
	FILE *maps;

	snprintf(maps_path, sizeof(maps_path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(maps_path, "re");
	while (maps != NULL && getline(&line, &size, maps) > 0) {
		char *path;

		if (!gg_maps_line_parse(line, strlen(line), &mapping) || mapping.path_bytes == 0 ||
		    mapping.path[0] != '/')
			continue;
		path = line + (mapping.path - line);
		path[mapping.path_bytes] = '\0';
		add_mapped(&found, pid, path, mapping.inode);
	}
	if (maps != NULL)
		fclose(maps);
	free(line);
	*ret_found = found;
}

static void forget_mapped(struct mapped_regions *found)
{
	free(found->own);
	free(found->inherited);
}

/*
 * Returns the pid of the process whose region a forked process has mapped instead of one of its
 * own; 0: it has mapped one of its own, or none.
 */
static uint32_t parent_of_mapped(const struct mapped_regions *mapped, uint32_t pid)
{
	uint32_t named = mapped->inherited_pid, parent;

	if (mapped->own != NULL || mapped->is_own_removed || named == 0)
		return 0;
	/* The file has the pid of its own namespace. */
	parent = gg_process_alive_parent(pid);
	return gg_process_alive_innermost_pid(parent) == named ? parent : named;
}

uint32_t gg_find_region_inherited(char **ret_path, uint32_t pid)
{
	struct mapped_regions found;
	uint32_t parent;

	find_mapped(&found, pid);
	parent = parent_of_mapped(&found, pid);
	if (ret_path != NULL) {
		*ret_path = parent != 0 ? found.inherited : NULL;
		found.inherited = parent != 0 ? NULL : found.inherited;
	}
	forget_mapped(&found);
	return parent;
}

/*
 * Explains why the process has no region that can be read: the most certain reason comes first.
 * `mapped` has no region of its own that can be read.
 */
static int refuse(uint32_t pid, const char *text, const struct search *search,
                  const struct mapped_regions *mapped, struct gg_error *error)
{
	uint32_t parent = parent_of_mapped(mapped, pid);
	struct stat owner;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (mapped->is_own_removed)
		return gg_error_set(error, -ENOENT, text, NULL,
		                    "the file of its region was removed while it runs: what it "
		                    "holds can no longer be read");
	if (parent != 0)
		return gg_error_set(error, -ENOENT, text,
		                    "It gets a region of its own with its next sample.",
		                    "it was forked from process %" PRIu32
		                    " under the agent, and has recorded nothing yet",
		                    parent);
	if (search->has_stale)
		return gg_error_set(error, -ENOENT, text,
		                    "'geiger env' tells how to start a program with it.",
		                    "the process has executed another program, which runs without "
		                    "the agent");
	if (geteuid() != 0 && stat(path, &owner) == 0 && owner.st_uid != geteuid())
		return gg_error_set(error, -EPERM, text, "Ask as that user, or as root.",
		                    "the process is another user's");
	return gg_error_set(error, -ENOENT, text,
	                    "'geiger attach' brings it in; 'geiger env' tells how to start a "
	                    "program with it.",
	                    "the process has no region: it runs without the agent");
}

/* Finds the region of a pid. */
static int find_by_pid(char **ret_path, uint32_t pid, const char *text, struct gg_error *error)
{
	struct search search = { .pid = pid };
	struct mapped_regions mapped = { 0 };
	int status;

	if (!gg_process_alive(pid, 0))
		return gg_error_set(error, -ESRCH, text,
		                    "'geiger ls' lists the regions of this machine.",
		                    "there is no such process");
	status = gg_region_list_each(NULL, 0, consider, &search, error);
	if (status == -ENOMEM)
		return gg_error_memory(error, text);
	if (status == 0 && search.path == NULL) {
		find_mapped(&mapped, pid);
		search.path = mapped.own;
		mapped.own = NULL;
	}
	if (status == 0 && search.path == NULL)
		status = refuse(pid, text, &search, &mapped, error);
	forget_mapped(&mapped);
	if (status == 0)
		*ret_path = search.path;
	else
		free(search.path);
	return status;
}

bool gg_find_region_is_pid(const char *operand)
{
	return operand[0] != '\0' && operand[strspn(operand, "0123456789")] == '\0';
}

int gg_find_region(char **ret_path, const char *pid_or_path, struct gg_error *error)
{
	bool is_number = gg_find_region_is_pid(pid_or_path);
	unsigned long pid = is_number ? strtoul(pid_or_path, NULL, 10) : 0;
	char *path;

	if (is_number && (pid == 0 || pid > INT_MAX))
		return gg_error_set(error, -EINVAL, pid_or_path, NULL, "not the id of a process");
	if (is_number)
		return find_by_pid(ret_path, (uint32_t)pid, pid_or_path, error);
	if (strchr(pid_or_path, '/') == NULL && access(pid_or_path, F_OK) < 0)
		return gg_error_set(error, -ENOENT, pid_or_path,
		                    "'geiger ls' lists processes and regions.",
		                    "neither the id of a process nor a file");
	path = strdup(pid_or_path);
	if (path == NULL)
		return gg_error_memory(error, pid_or_path);
	*ret_path = path;
	return 0;
}
