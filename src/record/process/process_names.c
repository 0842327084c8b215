/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names - reads /proc/PID/cmdline and /proc/PID/comm (process/process_names.h).
 */
#include "record/process/process_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "region/region_file.h"

#define EVERY_LEAST_NS UINT64_C(5000000)
#define EVERY_MOST_NS  GG_NS_PER_S

/* Reads a file of /proc/PID; returns its length, 0 if it cannot be read. */
static size_t read_file(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[48];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd >= 0 ? read(fd, text, size) : 0;
	if (fd >= 0)
		close(fd);
	return length > 0 ? (size_t)length : 0;
}

/* Compares a prefix: if the file was replaced meanwhile, the link ends with " (deleted)". */
static bool is_same_program(const struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;
	char link[48], exe[GG_REGION_EXE_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/exe", target->pid);
	length = readlink(link, exe, sizeof(exe));
	return length >= (ssize_t)header->exe_bytes &&
	       memcmp(exe, header->exe, header->exe_bytes) == 0;
}

static void read_title(struct gg_member *member)
{
	struct gg_target *target = member->target;
	char command[GG_REGION_COMMAND_MAX], name[16];
	size_t command_bytes = read_file(target->pid, "cmdline", command, sizeof(command));
	size_t name_bytes = read_file(target->pid, "comm", name, sizeof(name));

	/*
	 * The process may have executed another program, or have ended so that another process has
	 * its pid.  Then the names are not the target's.  In both cases no process maps the region
	 * any more, or will stop to do so in an instant.  So check after reading.
	 */
	if (!is_same_program(target) || !gg_region_file_is_used(target->reader.fd))
		return;
	gg_target_rename(target, command, command_bytes, name, name_bytes);
}

void gg_process_names_watch(struct gg_process_set *set)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), pause_ns;

	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		const struct gg_region_header *header = &member->target->reader.header;

		if (now_ns < member->next_title_ns || member->noticed_ns != 0 ||
		    member->unseen_exe[0] != '\0')
			continue;
		if (member->next_title_ns != 0)
			read_title(member);
		pause_ns = now_ns > header->start_monotonic_ns
		                   ? (now_ns - header->start_monotonic_ns) / 2
		                   : 0;
		if (pause_ns < EVERY_LEAST_NS)
			pause_ns = EVERY_LEAST_NS;
		member->next_title_ns = now_ns +
		                        (pause_ns < EVERY_MOST_NS ? pause_ns : EVERY_MOST_NS);
	}
}
