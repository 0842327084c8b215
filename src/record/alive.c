/* SPDX-License-Identifier: Apache-2.0 */
#include "record/alive.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region/map.h"

/* What of /proc/PID/stat follows the name, which may contain anything; false: it is not there. */
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
	/* The first thread may have ended before the others. */
	*ret_dead = (state == 'Z' && thread_count <= 1) || state == 'X';
	*ret_parent = parent;
	*ret_start = start;
	return true;
}

bool gg_alive(uint32_t pid, uint64_t start_ticks)
{
	uint32_t parent;
	uint64_t start;
	bool is_dead;

	if (pid == 0 || !read_stat(pid, &is_dead, &parent, &start))
		return false;
	return !is_dead && (start_ticks == 0 || start == start_ticks);
}

bool gg_alive_region(const struct gg_region_header *header, int fd)
{
	return header->end_monotonic_ns == 0 &&
	       (gg_alive(header->pid, header->process_start_ticks) || gg_region_map_is_used(fd));
}

uint32_t gg_alive_parent(uint32_t pid)
{
	uint32_t parent;
	uint64_t start;
	bool is_dead;

	return read_stat(pid, &is_dead, &parent, &start) ? parent : 0;
}
