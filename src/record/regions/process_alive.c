/* SPDX-License-Identifier: Apache-2.0 */
/* process_alive - tells if the process that a region belongs to still lives. */
#include "record/regions/process_alive.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/maps_line.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "region/region_file.h"

/*
 * Reads /proc/PID/stat.  False: there is no such process.  The fields are counted from the last
 * parenthesis on, because the name before it may contain blanks and parentheses.
 */
static bool read_stat(uint32_t pid, bool *ret_dead, uint32_t *ret_parent, uint64_t *ret_start)
{
	char path[32], text[1024], *at;
	unsigned long long start;
	unsigned int parent;
	int fd, thread_count;
	ssize_t length;
	char state;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	at = strrchr(text, ')');
	if (at == NULL ||
	    sscanf(at + 1,
	           " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
	           &state, &parent, &thread_count, &start) != 4)
		return false;
	/* The state is Z also when only the first thread has ended and other threads still run. */
	*ret_dead = (state == 'Z' && thread_count <= 1) || state == 'X';
	*ret_parent = parent;
	*ret_start = start;
	return true;
}

bool gg_process_alive(uint32_t pid, uint64_t start_ticks)
{
	uint32_t parent;
	uint64_t start;
	bool is_dead;

	if (pid == 0 || !read_stat(pid, &is_dead, &parent, &start))
		return false;
	return !is_dead && (start_ticks == 0 || start == start_ticks);
}

bool gg_process_alive_region(const struct gg_region_header *header, int fd)
{
	/* The lock of a living process is the cheaper question by far. */
	return header->end_monotonic_ns == 0 &&
	       (gg_region_file_is_used(fd) ||
	        gg_process_alive(header->pid, header->process_start_ticks));
}

uint32_t gg_process_alive_innermost_pid(uint32_t pid)
{
	char path[32], line[256];
	uint32_t innermost = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');

			innermost = last != NULL ? (uint32_t)strtoul(last, NULL, 10) : 0;
		}
	if (file != NULL)
		fclose(file);
	return innermost;
}

enum gg_process_maps gg_process_alive_maps(uint32_t pid, const struct stat *file)
{
	char path[32], *line = NULL;
	enum gg_process_maps answer = GG_PROCESS_MAPS_UNKNOWN;
	struct gg_maps_line mapping;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return GG_PROCESS_MAPS_UNKNOWN;
	while (answer != GG_PROCESS_MAPS_IT && getline(&line, &size, maps) > 0) {
		answer = GG_PROCESS_MAPS_OTHERS;
		if (gg_maps_line_parse(line, strlen(line), &mapping) &&
		    mapping.inode == file->st_ino)
			answer = GG_PROCESS_MAPS_IT;
	}
	free(line);
	fclose(maps);
	return answer;
}

/*
 * The search takes four facts together: the region is in use, although no process here has its pid;
 * a process started at its time; that process has its pid in the innermost namespace; and it has
 * mapped the region.  Two containers may start their first processes in the same clock tick.
 */
uint32_t gg_process_alive_pid_here(const struct gg_region_header *header, int fd)
{
	uint32_t found = 0, pid;
	struct stat file;
	DIR *processes;

	if (gg_process_alive(header->pid, header->process_start_ticks) ||
	    !gg_region_file_is_used(fd) || fstat(fd, &file) < 0)
		return header->pid;
	processes = opendir("/proc");
	while (processes != NULL && found == 0 &&
	       (pid = gg_proc_file_next_number(processes)) != 0) {
		if (header->process_start_ticks != 0 &&
		    gg_process_alive(pid, header->process_start_ticks) &&
		    gg_process_alive_innermost_pid(pid) == header->pid &&
		    gg_process_alive_maps(pid, &file) != GG_PROCESS_MAPS_OTHERS)
			found = pid;
	}
	if (processes != NULL)
		closedir(processes);
	return found != 0 ? found : header->pid;
}

uint32_t gg_process_alive_parent(uint32_t pid)
{
	uint32_t parent;
	uint64_t start;
	bool is_dead;

	return read_stat(pid, &is_dead, &parent, &start) ? parent : 0;
}

uint64_t gg_process_alive_start_ticks(uint32_t pid)
{
	uint32_t parent;
	uint64_t start;
	bool is_dead;

	return read_stat(pid, &is_dead, &parent, &start) ? start : 0;
}

/* The status is the last field of /proc/PID/stat, which is 0 for those who may not know. */
int gg_process_alive_exit_status(uint32_t pid, uint64_t start_ticks)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint32_t parent;
	uint64_t start;
	bool is_dead;
	char *last;

	if (!read_stat(pid, &is_dead, &parent, &start) || !is_dead || start != start_ticks ||
	    !gg_proc_file_read(&text, "/proc/%u/stat", pid))
		return -1;
	last = strrchr(text.data, ' ');
	return last != NULL && atoi(last + 1) != 0 ? atoi(last + 1) : -1;
}

static uint64_t tick_ns(void)
{
	long ticks_per_second = sysconf(_SC_CLK_TCK);

	return GG_NS_PER_S / (ticks_per_second > 0 ? (uint64_t)ticks_per_second : 100);
}

uint64_t gg_process_alive_suspended_ns(uint64_t start_ticks, uint64_t monotonic_ns)
{
	uint64_t start_ns = start_ticks * tick_ns();

	return start_ns > monotonic_ns ? start_ns - monotonic_ns : 0;
}

void gg_process_alive_ticks_between(struct gg_time_bounds start, struct gg_time_bounds suspended,
                                    uint64_t *ret_least, uint64_t *ret_most)
{
	*ret_least = (start.least_ns + suspended.least_ns) / tick_ns();
	*ret_most = (start.most_ns + suspended.most_ns) / tick_ns() + 1;
	*ret_least -= *ret_least > 0;
}
