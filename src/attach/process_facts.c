/* SPDX-License-Identifier: Apache-2.0 */
/* process_facts - parses /proc/PID/status and its neighbors (attach/process_facts.h). */
#include "attach/process_facts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/control_groups.h"
#include "base/buf.h"
#include "record/process/proc_file.h"
#include "record/regions/process_alive.h"

/* Returns the text after "NAME:" and blanks at the start of a line; NULL: no such line. */
static const char *find_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
	}
	return NULL;
}

static int64_t find_number(const char *text, const char *name, int64_t otherwise)
{
	const char *value = find_field(text, name);

	return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

static void parse_status(struct gg_process_facts *facts, const char *text)
{
	const char *name = find_field(text, "Name"), *state = find_field(text, "State");
	const char *features = find_field(text, "x86_Thread_features");
	const char *users = find_field(text, "Uid");
	unsigned int real = 0, effective = 0;

	if (name != NULL)
		snprintf(facts->name, sizeof(facts->name), "%.*s", (int)strcspn(name, "\n"), name);
	facts->state = state != NULL ? *state : '?';
	if (users != NULL && sscanf(users, "%u %u", &real, &effective) == 2)
		facts->user = effective;
	/* Since Linux 6.8 there is a field; the parent of kernel threads has always had pid 2. */
	facts->is_kernel_thread = find_number(text, "Kthread", 0) != 0 || facts->pid == 2 ||
	                          find_number(text, "PPid", 0) == 2;
	facts->process = (pid_t)find_number(text, "Tgid", facts->pid);
	facts->parent = (pid_t)find_number(text, "PPid", 0);
	facts->tracer = (pid_t)find_number(text, "TracerPid", 0);
	facts->thread_count = (uint32_t)find_number(text, "Threads", 1);
	facts->seccomp_mode = (int)find_number(text, "Seccomp", -1);
	facts->seccomp_filters = find_number(text, "Seccomp_filters", -1);
	facts->has_shadow_stack = features != NULL && memmem(features, strcspn(features, "\n"),
	                                                     "shstk", strlen("shstk")) != NULL;
}

/* True if both processes are in one namespace of that kind, or if that cannot be found out. */
static bool shares_namespace(pid_t pid, const char *kind)
{
	char path[64], theirs[64], ours[64];
	ssize_t their_length, our_length;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	their_length = readlink(path, theirs, sizeof(theirs));
	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	our_length = readlink(path, ours, sizeof(ours));
	return their_length < 0 || our_length < 0 ||
	       (their_length == our_length && memcmp(theirs, ours, (size_t)our_length) == 0);
}

static void read_namespaces(struct gg_process_facts *facts)
{
	facts->has_other_mounts = !shares_namespace(facts->pid, "mnt");
	facts->has_other_pids = !shares_namespace(facts->pid, "pid");
	facts->has_other_users = !shares_namespace(facts->pid, "user");
}

/* The agent reads /proc/self/maps, also to give pages their protection back. */
static bool has_proc(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (access(path, F_OK) < 0)
		return true; /* nothing can be found out */
	snprintf(path, sizeof(path), "/proc/%d/root/proc/version", (int)pid);
	return access(path, F_OK) == 0;
}

/* Reads a file of the process's group, in a hierarchy of control_groups.h, into `text`. */
static bool read_group(struct gg_buf *text, pid_t pid, const char *controller, const char *file)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf mounts = { 0 }, directory = { 0 }, path = { 0 };

	return gg_proc_file_read(&mounts, "/proc/self/mountinfo") &&
	       gg_proc_file_read(text, "/proc/%d/cgroup", (int)pid) &&
	       gg_control_groups_path(&path, gg_buf_text(text), controller) &&
	       gg_control_groups_find(&directory, gg_buf_text(&mounts), controller,
	                              gg_buf_text(&path)) &&
	       gg_proc_file_read(text, "%s/%s", gg_buf_text(&directory), file);
}

/* True if the process's control group, or one above it, is frozen or about to be. */
static bool is_group_frozen(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (read_group(&text, pid, NULL, "cgroup.events") &&
	    gg_proc_file_find_number(gg_buf_text(&text), "frozen") == 1)
		return true;
	/* The state is THAWED, FREEZING or FROZEN. */
	return read_group(&text, pid, "freezer", "freezer.state") &&
	       strncmp(gg_buf_text(&text), "FR", 2) == 0;
}

/*
 * Finds out if the filters were there when the program began.  Then the loader has already opened
 * and mapped libraries under them, as an attach does.  A container's first process has the filter
 * of its runtime; another process has inherited its filters if its parent has as many.
 */
static bool has_inherited_filters(const struct gg_process_facts *facts)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (facts->seccomp_mode != 2 || facts->seccomp_filters < 1)
		return false;
	if (facts->has_other_pids && facts->inner_pid == 1)
		return facts->seccomp_filters == 1;
	return gg_proc_file_read(&text, "/proc/%d/status", (int)facts->parent) &&
	       find_number(gg_buf_text(&text), "Seccomp_filters", -1) == facts->seccomp_filters;
}

/* A thread may have installed filters for itself alone. */
static bool has_mixed_filters(const struct gg_process_facts *facts)
{
	char path[32];
	bool is_mixed = false;
	uint32_t tid;
	DIR *tasks;

	if (facts->seccomp_filters < 0 || facts->thread_count < 2)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)facts->pid);
	tasks = opendir(path);
	while (tasks != NULL && !is_mixed && (tid = gg_proc_file_next_number(tasks)) != 0) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		if (gg_proc_file_read(&text, "%s/%u/status", path, (unsigned int)tid))
			is_mixed = find_number(gg_buf_text(&text), "Seccomp_filters", -1) !=
			           facts->seccomp_filters;
	}
	if (tasks != NULL)
		closedir(tasks);
	return is_mixed;
}

/* The kernel asks for CAP_SYS_ADMIN, and that the reader has no filters itself. */
bool gg_process_facts_can_read_filters(void)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN;
	const char *capabilities;

	if (!gg_proc_file_read(&text, "/proc/self/status"))
		return false;
	capabilities = find_field(gg_buf_text(&text), "CapEff");
	return capabilities != NULL && (strtoull(capabilities, NULL, 16) & admin) != 0 &&
	       find_number(gg_buf_text(&text), "Seccomp", -1) == 0;
}

int gg_process_facts_read(struct gg_process_facts *ret_facts, pid_t pid, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_process_facts facts = {
		.pid = pid,
		.start_ticks = gg_process_alive_start_ticks((uint32_t)pid),
	};
	uint32_t inner_pid;
	char path[64];
	ssize_t length;

	if (!gg_proc_file_read(&text, "/proc/%d/status", (int)pid)) {
		snprintf(path, sizeof(path), "%d", (int)pid);
		return gg_error_set(error, -ESRCH, path, NULL, "there is no such process");
	}
	parse_status(&facts, gg_buf_text(&text));
	inner_pid = gg_process_alive_innermost_pid((uint32_t)pid);
	facts.inner_pid = inner_pid != 0 ? (pid_t)inner_pid : pid;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, facts.program, sizeof(facts.program) - 1);
	facts.program[length > 0 ? length : 0] = '\0';
	read_namespaces(&facts);
	facts.lacks_proc = !has_proc(pid);
	facts.is_frozen = is_group_frozen(pid);
	facts.has_inherited_filters = has_inherited_filters(&facts);
	facts.has_mixed_filters = has_mixed_filters(&facts);
	*ret_facts = facts;
	return 0;
}
