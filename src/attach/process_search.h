/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_search - finds the running processes of a name, or of a control group.
 *
 *   struct gg_process_search found = { 0 };
 *
 *   status = gg_process_search_name(&found, "redis-server", error);
 *   for (size_t i = 0; i < found.pids.count; i++)
 *           ... found.pids.items[i] ...
 *   gg_process_search_done(&found);
 *
 * The calling process is never among them.  Processes come and go meanwhile, so a second search may
 * find others.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"

struct gg_process_search {
	GG_ARRAY(pid_t) pids;  /* each once, in the order of /proc or of the groups */
	uint32_t hidden_count; /* processes of a group without a pid in the caller's namespace */
};

/*
 * Finds processes by the name of their executable, by their first argument, both without a
 * directory, or by the name that the kernel shows.  Returns 0 or -Exxx; an empty result is no
 * error.
 */
GG_MUST_CHECK int gg_process_search_name(struct gg_process_search *search, const char *name,
                                         struct gg_error *error);

/*
 * Finds the processes of a control group and of the groups below it.  The path is that of a
 * directory, or the one that /proc/PID/cgroup has.  Returns 0 or -Exxx: -ENOENT: there is no such
 * group.
 */
GG_MUST_CHECK int gg_process_search_group(struct gg_process_search *search, const char *path,
                                          struct gg_error *error);

void gg_process_search_done(struct gg_process_search *search);
