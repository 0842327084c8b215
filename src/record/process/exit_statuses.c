/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_statuses - a ring of the latest exit statuses (process/exit_statuses.h).
 */
#include "record/process/exit_statuses.h"

#include <stdio.h>
#include <sys/wait.h>

#include "base/assert.h"

const struct gg_exit_status *gg_exit_statuses_add(struct gg_exit_statuses *exit_statuses, pid_t pid,
                                                  int status, int64_t max_rss_bytes)
{
	struct gg_exit_status *exit_status =
		&exit_statuses->items[exit_statuses->count++ % GG_EXIT_STATUSES_MAX];

	gg_assert(pid > 0 && !WIFSTOPPED(status));
	exit_status->pid = pid;
	exit_status->max_rss_bytes = max_rss_bytes;
	if (WIFSIGNALED(status))
		snprintf(exit_status->text, sizeof(exit_status->text), "killed by signal %d",
		         WTERMSIG(status));
	else
		snprintf(exit_status->text, sizeof(exit_status->text), "exited %d",
		         WEXITSTATUS(status));
	return exit_status;
}

const struct gg_exit_status *gg_exit_statuses_find(const struct gg_exit_statuses *exit_statuses,
                                                   pid_t pid)
{
	uint32_t count = exit_statuses->count < GG_EXIT_STATUSES_MAX ? exit_statuses->count
	                                                             : GG_EXIT_STATUSES_MAX;

	for (uint32_t i = 1; i <= count; i++) {
		const struct gg_exit_status *exit_status =
			&exit_statuses->items[(exit_statuses->count - i) % GG_EXIT_STATUSES_MAX];

		if (exit_status->pid == pid)
			return exit_status;
	}
	return NULL;
}
