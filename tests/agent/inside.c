/* SPDX-License-Identifier: Apache-2.0 */
/* inside - restarts a test program under the agent, and reads the program's own region. */
#include "agent/inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/late.h"
#include "agent/place.h"

static char path[600]; /* of the region that was found last */

const char *inside_directory(void)
{
	return getenv("GEIGER_DIR");
}

/* Removes the directory at the exit of the program, and not at that of its forked children. */
static void remove_directory(void)
{
	if (atoi(getenv("INSIDE_PID")) == getpid())
		place_remove(inside_directory());
}

void inside_restart(const char *const environment[])
{
	static char directory[] = "/dev/shm/geiger-test-XXXXXX";
	const char *agent = getenv("GEIGER_AGENT"), *more = getenv("INSIDE_PRELOAD");
	static char preload[8192], arguments[4096];
	static struct place_command command; /* its setting stays in the environment */
	const char *argv[64] = { NULL };
	int count = 0;
	FILE *file;
	size_t got;

	if (getenv("INSIDE_PID") != NULL) {
		if (atoi(getenv("INSIDE_PID")) == getpid())
			atexit(remove_directory);
		if (getenv("INSIDE_ATTACH") != NULL)
			late_attach_by_environment();
		return;
	}
	if (agent == NULL || mkdtemp(directory) == NULL) {
		fprintf(stderr, "GEIGER_AGENT is not set, or /dev/shm is not there\n");
		exit(1);
	}
	setenv("GEIGER_DIR", directory, 1);
	snprintf(preload, sizeof(preload), "%d", (int)getpid());
	setenv("INSIDE_PID", preload, 1);
	for (int i = 0; environment[i] != NULL; i++)
		putenv((char *)environment[i]);
	file = fopen("/proc/self/cmdline", "r");
	got = file != NULL ? fread(arguments, 1, sizeof(arguments) - 1, file) : 0;
	for (size_t at = 0; at < got && count < 63; at += strlen(arguments + at) + 1)
		argv[count++] = arguments + at;
	/* Execute the program by its own name, which becomes the name of the thread. */
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		perror("/proc/self/exe");
	if (place_is_emulated())
		argv[0] = path;
	snprintf(preload, sizeof(preload), "%s %s", getenv("INSIDE_ATTACH") != NULL ? "" : agent,
	         more != NULL ? more : "");
	place_command(&command, argv, preload);
	putenv(command.preload);
	execvp(place_is_emulated() ? command.argv[0] : path, (char *const *)command.argv);
	perror("exec");
	exit(1);
}

/* The newest one, because an earlier program had the same pid. */
const char *inside_region(int pid)
{
	char prefix[64], newest[300] = "";
	DIR *d = opendir(inside_directory());
	struct dirent *entry;

	snprintf(prefix, sizeof(prefix), "geiger-%d-", pid);
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    (strlen(entry->d_name) > strlen(newest) || strcmp(entry->d_name, newest) > 0))
			snprintf(newest, sizeof(newest), "%s", entry->d_name);
	if (d != NULL)
		closedir(d);
	snprintf(path, sizeof(path), "%s/%s", inside_directory(), newest);
	return path;
}

struct gg_region_view inside_view(void)
{
	static struct gg_error error;
	struct gg_region_view view;

	inside_region(getpid());
	if (gg_region_view_open(&view, path, &error) < 0) {
		fprintf(stderr, "%s: %s\n", path, error.message);
		exit(1);
	}
	return view;
}

struct gg_region_sample inside_live(const void *p)
{
	struct gg_region_view view = inside_view();
	struct gg_region_sample sample = { 0 };

	for (uint32_t i = 0; i < view.live_count; i++)
		if (view.live[i].address == (uintptr_t)p)
			sample = view.live[i];
	gg_region_view_done(&view);
	return sample;
}

bool inside_is_live(const void *p)
{
	return inside_live(p).id != 0;
}

uint64_t inside_counter(uint32_t counter)
{
	struct gg_region_view view = inside_view();
	uint64_t value = view.header.counters[counter];

	gg_region_view_done(&view);
	return value;
}

void inside_control(bool active, uint64_t interval_bytes)
{
	struct gg_region_control control;
	const off_t at = offsetof(struct gg_region_header, control);
	int fd;

	inside_region(getpid());
	fd = open(path, O_RDWR);
	if (fd < 0 || pread(fd, &control, sizeof(control), at) != sizeof(control))
		exit(1);
	control.active = active;
	control.interval_bytes = interval_bytes;
	/* Count last: the others hold before it changes. */
	if (pwrite(fd, &control, sizeof(control), at) < 0)
		exit(1);
	control.change_count++;
	if (pwrite(fd, &control.change_count, sizeof(control.change_count), at) < 0)
		exit(1);
	close(fd);
}

bool inside_is_consistent(void)
{
	int status = -1;
	pid_t child;

	inside_region(getpid());
	child = fork();
	if (child == 0) {
		static struct gg_error error;
		struct gg_region_view view;

		_exit(gg_region_view_open(&view, path, &error) == 0 && !view.torn &&
		                      view.damaged_count == 0 &&
		                      gg_region_view_check(&view, NULL) == 0
		              ? 0
		              : 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
