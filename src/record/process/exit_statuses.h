/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_statuses - the exit statuses of children, as wait4() reports them.
 *
 * A child may end before the recorder has found its region, so a ring keeps the latest exit
 * statuses.  The exit status of a pid is the latest one, because the kernel reuses pids.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { GG_EXIT_STATUSES_MAX = 256, GG_EXIT_STATUS_TEXT_BYTES = 32 };

struct gg_exit_status {
	pid_t pid;
	char text[GG_EXIT_STATUS_TEXT_BYTES]; /* "exited 0", "killed by signal 9" */
	int64_t max_rss_bytes;                /* -1: unknown */
};

struct gg_exit_statuses {
	struct gg_exit_status items[GG_EXIT_STATUSES_MAX];
	uint32_t count; /* of all exit statuses, also those that the ring has no more */
};

/*
 * Notes that wait4() returned a child, with its `status` and maximum resident size; -1: unknown.
 * Returns the exit status, which is valid until the ring wraps around.
 */
const struct gg_exit_status *gg_exit_statuses_add(struct gg_exit_statuses *exit_statuses, pid_t pid,
                                                  int status, int64_t max_rss_bytes);

/* Returns the latest exit status of that pid; NULL: unknown. */
const struct gg_exit_status *gg_exit_statuses_find(const struct gg_exit_statuses *exit_statuses,
                                                   pid_t pid);
