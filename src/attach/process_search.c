/* SPDX-License-Identifier: Apache-2.0 */
/* process_search - reads /proc and lists of control groups (attach/process_search.h). */
#include "attach/process_search.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/control_groups.h"
#include "base/buf.h"
#include "record/process/proc_file.h"
#include "record/regions/process_alive.h"

enum { LINK_BYTES = 4096 };

static int add(struct gg_process_search *search, pid_t pid)
{
	struct gg_found_process found = {
		.pid = pid,
		.start_ticks = gg_process_alive_start_ticks((uint32_t)pid),
	};

	if (pid == getpid() || found.start_ticks == 0)
		return 0;
	for (size_t i = 0; i < search->list.count; i++)
		if (search->list.items[i].pid == pid &&
		    search->list.items[i].start_ticks == found.start_ticks)
			return 0;
	return gg_array_push(&search->list, found) ? 0 : -ENOMEM;
}

/* --- names --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The kernel shows up to 15 bytes: of the program's file, or what the program has set since. */
static bool is_shown_as(pid_t pid, const char *name)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf shown = { 0 };

	if (!gg_proc_file_read(&shown, "/proc/%d/comm", (int)pid))
		return false;
	shown.data[strcspn(shown.data, "\n")] = '\0';
	return strcmp(shown.data, name) == 0;
}

/* The first argument has the whole name where the executable cannot be read. */
static bool is_called(pid_t pid, const char *name)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };

	return gg_proc_file_read(&command, "/proc/%d/cmdline", (int)pid) &&
	       strcmp(base_name(command.data), name) == 0;
}

/* An executable that an upgrade has replaced counts under its old name. */
static bool executes(pid_t pid, const char *name)
{
	static const char deleted[] = " (deleted)";
	char path[64], program[LINK_BYTES];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, program, sizeof(program) - sizeof(deleted));
	if (length <= 0)
		return false;
	program[length] = '\0';
	if (strcmp(base_name(program), name) == 0)
		return true;
	if (length < (ssize_t)sizeof(deleted) ||
	    strcmp(program + length - (sizeof(deleted) - 1), deleted) != 0)
		return false;
	program[length - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	return strcmp(base_name(program), name) == 0;
}

bool gg_process_search_is_named(pid_t pid, const char *name)
{
	return executes(pid, name) || is_called(pid, name) || is_shown_as(pid, name);
}

/* The counts are those of one search. */
static void begin(struct gg_process_search *search)
{
	search->hidden_count = search->unreadable_count = 0;
	search->unreadable_errno = 0;
}

int gg_process_search_name(struct gg_process_search *search, const char *name,
                           struct gg_error *error)
{
	DIR *listing = opendir("/proc");
	uint32_t pid;
	int status = 0;

	if (listing == NULL)
		return gg_error_set_errno(error, errno, "/proc", NULL);
	begin(search);
	while (status == 0 && (pid = gg_proc_file_next_number(listing)) != 0)
		if (gg_process_search_is_named((pid_t)pid, name))
			status = add(search, (pid_t)pid);
	closedir(listing);
	return status < 0 ? gg_error_memory(error, "/proc") : 0;
}

/* --- control groups --- */

/* A group that was removed meanwhile has no processes; all others may have some. */
static void add_unreadable(struct gg_process_search *search, int why)
{
	if (why == ENOENT || why == ENODEV)
		return;
	search->unreadable_count++;
	search->unreadable_errno = why;
}

/* Adds the processes of one group. */
static int add_members(struct gg_process_search *search, const char *directory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	int status = 0;

	errno = 0;
	if (!gg_proc_file_read(&text, "%s/cgroup.procs", directory)) {
		if (errno != 0)
			add_unreadable(search, errno);
		return 0;
	}
	for (char *at = text.data, *end; status == 0; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid > 0)
			status = add(search, (pid_t)pid);
		else
			search->hidden_count++;
	}
	return status;
}

static bool is_group(const char *directory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };

	gg_buf_printf(&path, "%s/cgroup.procs", directory);
	return !path.failed && access(path.data, F_OK) == 0;
}

/* Finds the directory of a group: it is one itself, or has that path in a hierarchy. */
static bool find_directory(struct gg_buf *directory, const char *path)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf mounts = { 0 }, absolute = { 0 };

	gg_buf_append_text(directory, path);
	if (!directory->failed && is_group(directory->data))
		return true;
	gg_buf_printf(&absolute, "%s%s", path[0] == '/' ? "" : "/", path);
	return !absolute.failed && gg_proc_file_read(&mounts, "/proc/self/mountinfo") &&
	       gg_control_groups_find_any(directory, gg_buf_text(&mounts), absolute.data);
}

int gg_process_search_group(struct gg_process_search *search, const char *path,
                            struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf directory = { 0 };
	char *roots[] = { NULL, NULL };
	FTSENT *entry;
	int status = 0;
	FTS *tree;

	begin(search);
	if (!find_directory(&directory, path))
		return gg_error_set(error, -ENOENT, path,
		                    "Give a folder of /sys/fs/cgroup, or the path that "
		                    "/proc/PID/cgroup has.",
		                    "there is no such control group");
	roots[0] = directory.data;
	tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (tree == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	while (status == 0 && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_D)
			status = add_members(search, entry->fts_path);
		else if (entry->fts_info == FTS_DNR)
			add_unreadable(search, entry->fts_errno);
	fts_close(tree);
	return status < 0 ? gg_error_memory(error, path) : 0;
}

void gg_process_search_done(struct gg_process_search *search)
{
	gg_array_done(&search->list);
	begin(search);
}
