/* SPDX-License-Identifier: Apache-2.0 */
/* forked_agents - reads the mappings of all processes (attach/forked_agents.h). */
#include "attach/forked_agents.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "record/process/proc_file.h"
#include "record/regions/find_region.h"

/* The process may call the directory otherwise, but for the last part of its name. */
static bool maps_region_of(uint32_t pid, const char *name)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	size_t length = strlen(name);

	if (!gg_proc_file_read(&text, "/proc/%u/maps", (unsigned int)pid))
		return false;
	for (char *line = text.data, *next; line != NULL; line = next) {
		const char *at;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		at = strstr(line, name);
		if (at != NULL && at > line && at[-1] == '/' && at[length] == '/' &&
		    strstr(at, ".region") != NULL)
			return true;
	}
	return false;
}

static bool has_inherited(uint32_t pid)
{
	char *path = NULL;
	bool found = gg_find_region_inherited(&path, pid) != 0 && path != NULL;

	free(path);
	return found;
}

int gg_forked_agents_find(struct gg_forked_agents *found, const char *directory,
                          struct gg_error *error)
{
	const char *name = directory != NULL ? gg_path_base(directory) : NULL;
	DIR *processes = opendir("/proc");
	int status = 0;
	uint32_t pid;

	if (processes == NULL)
		return gg_error_set_errno(error, errno, "/proc", NULL);
	while (status == 0 && (pid = gg_proc_file_next_number(processes)) != 0) {
		bool is_one = name != NULL ? maps_region_of(pid, name) : has_inherited(pid);

		if (is_one && !gg_array_push(&found->pids, (pid_t)pid))
			status = gg_error_memory(error, "/proc");
	}
	closedir(processes);
	return status;
}

void gg_forked_agents_done(struct gg_forked_agents *found)
{
	gg_array_done(&found->pids);
}
