/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_search - finds the running processes of a name, or of a control group.
 *
 *   struct gg_process_search found = { 0 };
 *
 *   status = gg_process_search_name(&found, "redis-server", error);
 *   for (size_t i = 0; i < found.list.count; i++)
 *           ... found.list.items[i].pid ...
 *   gg_process_search_done(&found);
 *
 * The calling process is never among them.  Processes come and go meanwhile, so a second search may
 * find others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"

/* The kernel uses pids again, so the start belongs to the identity. */
struct gg_found_process {
	pid_t pid;
	uint64_t start_ticks;
};

struct gg_process_search {
	GG_ARRAY(struct gg_found_process) list; /* each once, in the order of /proc or the groups */
	uint32_t hidden_count; /* processes of a group without a pid in the caller's namespace */
	uint32_t unreadable_count; /* groups whose processes the kernel does not tell */
	int unreadable_errno;      /* why, of the last one */
};

/*
 * Each search adds to the list, and begins the counts anew.
 *
 * Finds processes by the name of their executable, by their first argument, both without a
 * directory, or by the name that the kernel shows.  Returns 0 or -Exxx; an empty result is no
 * error.
 */
GG_MUST_CHECK int gg_process_search_name(struct gg_process_search *search, const char *name,
                                         struct gg_error *error);

/* True if the process has that name now. */
bool gg_process_search_is_named(pid_t pid, const char *name);

/*
 * Finds the processes of a control group and of the groups below it.  The path is that of a
 * directory, or the one that /proc/PID/cgroup has.  Returns 0 or -Exxx: -ENOENT: there is no such
 * group.
 */
GG_MUST_CHECK int gg_process_search_group(struct gg_process_search *search, const char *path,
                                          struct gg_error *error);

void gg_process_search_done(struct gg_process_search *search);
