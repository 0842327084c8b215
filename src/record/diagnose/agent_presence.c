/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_presence - reads a process's environment and mappings (diagnose/agent_presence.h).
 */
#include "record/diagnose/agent_presence.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "record/session/launch.h"

/* Bytes; a longer environment counts as unknown. */
enum { ENVIRONMENT_MAX = 1 << 20 };

/* True if LD_PRELOAD has the agent.  Each of the `variables` ends in a 0 byte. */
static bool is_preloaded(const char *variables, size_t length, const char *agent)
{
	static const char name[] = "LD_PRELOAD=", for_both[] = GG_LAUNCH_FOR_BOTH;
	const char *end = variables + length, *next;

	for (const char *at = variables; at < end; at = next) {
		next = memchr(at, '\0', (size_t)(end - at));
		next = next != NULL ? next + 1 : end;
		if ((size_t)(next - at) > strlen(name) && memcmp(at, name, strlen(name)) == 0)
			return memmem(at, (size_t)(next - at), agent, strlen(agent)) != NULL ||
			       memmem(at, (size_t)(next - at), for_both, strlen(for_both)) != NULL;
	}
	return false;
}

/*
 * True if the environment is really empty, as after `env -i`.  /proc/PID/environ is also empty for
 * a process within exec() and for one that is about to end.  For these the kernel has no addresses
 * of the environment; for an empty environment it has an address, and the start equals the end.
 */
static bool has_empty_environment(uint32_t pid)
{
	enum { TEXT_MAX = 2048, FROM_STATE = 3, START = 50, END = 51 }; /* proc_pid_stat(5) */
	unsigned long long start = 0, end = 0;
	char path[32], text[TEXT_MAX], *at, *rest;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	at = strrchr(text, ')'); /* ends the name, which may have any character */
	at = at != NULL ? strtok_r(at + 1, " ", &rest) : NULL;
	for (int field = FROM_STATE; at != NULL && field <= END;
	     field++, at = strtok_r(NULL, " ", &rest)) {
		if (field == START)
			start = strtoull(at, NULL, 10);
		else if (field == END)
			end = strtoull(at, NULL, 10);
	}
	return end != 0 && start == end;
}

/* True if the process's LD_PRELOAD has the agent, or if its environment cannot be read. */
static bool has_agent_in_environment(uint32_t pid, const char *agent)
{
	char path[32], *text = malloc(ENVIRONMENT_MAX);
	size_t length = 0;
	bool found = true;
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (text != NULL && fd >= 0 && length < ENVIRONMENT_MAX &&
	       (got = read(fd, text + length, ENVIRONMENT_MAX - length)) > 0)
		length += (size_t)got;
	if (text != NULL && fd >= 0 && got == 0 && length == 0)
		found = !has_empty_environment(pid);
	else if (text != NULL && fd >= 0 && got == 0 && length < ENVIRONMENT_MAX)
		found = is_preloaded(text, length, agent);
	if (fd >= 0)
		close(fd);
	free(text);
	return found;
}

bool gg_agent_presence_in_environment(uint32_t pid)
{
	char agent[GG_LAUNCH_PATH_MAX];

	/* Within exec() one look may see parts of two programs, so two looks must agree. */
	return gg_launch_find_agent(agent, NULL) < 0 || has_agent_in_environment(pid, agent) ||
	       has_agent_in_environment(pid, agent);
}

bool gg_agent_presence_is_mapped(uint32_t pid, const char *part, bool otherwise)
{
	char path[32], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return otherwise;
	while (!found && getline(&line, &size, maps) > 0)
		found = strstr(line, part) != NULL;
	free(line);
	fclose(maps);
	return found;
}

bool gg_agent_presence_is_refused(uint32_t pid)
{
	char agent[GG_LAUNCH_PATH_MAX];

	return gg_launch_find_agent(agent, NULL) == 0 &&
	       gg_agent_presence_is_mapped(pid, "/libc.so.6", false) &&
	       !gg_agent_presence_is_mapped(pid, agent, true);
}
