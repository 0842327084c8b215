/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprofiled - finds descendants of the command that run without the agent.
 *
 * A process between fork() and exec(), or one whose agent has not created its region yet, looks
 * like a process without the agent.  A wrong note would be worse than a missing one.  So each check
 * treats an unreadable or ambiguous answer as "it may have the agent".
 */
#include "record/diagnose/unprofiled.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/diagnose/agent_presence.h"
#include "record/diagnose/diagnostics.h"
#include "record/diagnose/preloadable.h"
#include "record/process/proc_file.h"
#include "record/regions/process_alive.h"
#include "record/session/launch.h"

enum {
	LOOK_MAX = 256, /* processes in one search */
	TASKS_MAX = 64, /* threads of a process */
	EVERY_NS = 50000000,
	/*
	 * A search takes one hundredth of a processor's time at most; its own waits do not count.
	 */
	PART = 100,
};

/* The longest regular pause of a session that has to hold an overhead. */
#define FRUGAL_NS 5e9

/* The pause while the machine begins no process. */
#define CALM_NS 1e9

struct look {
	uint32_t pids[LOOK_MAX];
	uint32_t count;
};

/* Adds the children of one thread: /proc lists children by the thread that forked them. */
static void add_children_of_task(struct look *look, const char *process, uint32_t task)
{
	char path[64];
	FILE *file;
	unsigned int pid;

	snprintf(path, sizeof(path), "%s/%u/children", process, task);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (look->count < LOOK_MAX && fscanf(file, "%u", &pid) == 1)
		look->pids[look->count++] = pid;
	fclose(file);
}

static void add_children(struct look *look, uint32_t pid)
{
	int task_count = 0;
	char path[32];
	uint32_t tid;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return;
	while (task_count < TASKS_MAX && (tid = gg_proc_file_next_number(tasks)) != 0) {
		add_children_of_task(look, path, tid);
		task_count++;
	}
	closedir(tasks);
}

static bool is_member(const struct gg_process_set *set, uint32_t pid)
{
	const struct gg_member *member = set->first;

	while (member != NULL && member->target->pid != pid)
		member = member->next;
	return member != NULL;
}

static bool read_exe(uint32_t pid, char exe[GG_REGION_EXE_MAX + 1])
{
	ssize_t length;
	char link[32];

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	length = readlink(link, exe, GG_REGION_EXE_MAX);
	exe[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/*
 * True if the process runs as another user; then `name` is its short name.  Only root may read the
 * executable of a program with more privileges, but everybody may read its name.
 */
static bool is_other_user(uint32_t pid, char name[GG_REGION_EXE_MAX + 1])
{
	struct stat status;
	ssize_t length;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (geteuid() == 0 || stat(path, &status) < 0 || status.st_uid == geteuid())
		return false;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd >= 0 ? read(fd, name, GG_REGION_EXE_MAX) : -1;
	if (fd >= 0)
		close(fd);
	if (length <= 1)
		return false;
	name[length - 1] = '\0'; /* a line */
	return true;
}

/*
 * Explains why the process will have no region.  False: it may still have one, or that is unknown.
 */
static bool find_why(uint32_t pid, const char *exe, char why[GG_PRELOADABLE_WHY_MAX])
{
	char agent[GG_LAUNCH_PATH_MAX], now[GG_REGION_EXE_MAX + 1];

	if (gg_preloadable_loads(exe, why)) {
		if (gg_launch_find_agent(agent, NULL) < 0 ||
		    gg_agent_presence_in_environment(pid) ||
		    /* Programs may overwrite their environment; mappings are certain. */
		    gg_agent_presence_is_mapped(pid, agent, true))
			return false;
		snprintf(why, GG_PRELOADABLE_WHY_MAX,
		         "its environment is without LD_PRELOAD (env -i, sudo, su)");
	}
	/* If it executed another program meanwhile, the checks saw parts of both. */
	return read_exe(pid, now) && strcmp(now, exe) == 0;
}

static void examine(struct gg_process_set *set, uint32_t pid)
{
	char exe[GG_REGION_EXE_MAX + 1], ours[GG_REGION_EXE_MAX + 1], why[GG_PRELOADABLE_WHY_MAX];

	if (read_exe(pid, exe)) {
		/* The recorder's own program: a child that has not executed the command yet. */
		if (!read_exe((uint32_t)getpid(), ours) || strcmp(exe, ours) == 0 ||
		    !find_why(pid, exe, why))
			return;
	} else if (is_other_user(pid, exe)) {
		snprintf(why, sizeof(why),
		         "it runs with more privileges than its caller (set-user-ID), where the "
		         "loader takes no agent");
	} else {
		return;
	}
	gg_diagnostics_unseen_process(&set->findings, set->writer, pid, exe, why);
}

/* Returns the id of the newest process or thread that this process could see; 0: unknown. */
static uint64_t read_last_pid(void)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *last;

	if (!gg_proc_file_read(&text, "/proc/loadavg"))
		return 0;
	last = strrchr(gg_buf_text(&text), ' ');
	return last != NULL ? strtoull(last, NULL, 10) : 0;
}

/* True if a search would find the same processes as the last one. */
static bool is_calm(struct gg_findings *findings, uint64_t now_ns, double frugality)
{
	uint64_t last_pid = read_last_pid(), before = findings->last_pid;

	findings->last_pid = last_pid;
	return last_pid != 0 && last_pid == before &&
	       (double)(now_ns - findings->searched_ns) < CALM_NS * frugality;
}

/* Searches all descendants: the loop adds the children of each process to its own list. */
void gg_unprofiled_look(struct gg_process_set *set, pid_t command)
{
	uint64_t start_ns = gg_clock_monotonic_ns(), before_ns = gg_clock_thread_ns();
	double frugality = 1 + set->writer->extra_pause, pause_ns, least_ns;
	struct look look = { .count = 0 };

	if (start_ns < set->findings.next_search_ns || set->only_pid != 0 ||
	    is_calm(&set->findings, start_ns, frugality))
		return;
	set->findings.searched_ns = start_ns;
	add_children(&look, (uint32_t)getpid());
	for (uint32_t i = 0; i < look.count; i++) {
		add_children(&look, look.pids[i]);
		if (look.pids[i] != (uint32_t)command && !is_member(set, look.pids[i]))
			examine(set, look.pids[i]);
	}
	pause_ns = (double)(gg_clock_thread_ns() - before_ns) * PART * frugality;
	/* A search takes 0.2 ms, so that one in a second is a fifth of an overhead of 0.1 %. */
	least_ns = fmin(EVERY_NS * frugality * frugality, FRUGAL_NS);
	set->findings.next_search_ns = start_ns + (uint64_t)fmax(pause_ns, least_ns);
}
