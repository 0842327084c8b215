/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings - a ring of the latest endings (process/endings.h).
 */
#include "record/process/endings.h"

#include <stdio.h>
#include <sys/wait.h>

#include "base/assert.h"

const struct gg_ending *gg_endings_add(struct gg_endings *endings, pid_t pid, int status,
                                       int64_t max_rss_bytes)
{
	struct gg_ending *ending = &endings->items[endings->count++ % GG_ENDINGS_MAX];

	gg_assert(pid > 0 && !WIFSTOPPED(status));
	ending->pid = pid;
	ending->max_rss_bytes = max_rss_bytes;
	if (WIFSIGNALED(status))
		snprintf(ending->text, sizeof(ending->text), "killed by signal %d",
		         WTERMSIG(status));
	else
		snprintf(ending->text, sizeof(ending->text), "exited %d", WEXITSTATUS(status));
	return ending;
}

const struct gg_ending *gg_endings_find(const struct gg_endings *endings, pid_t pid)
{
	uint32_t count = endings->count < GG_ENDINGS_MAX ? endings->count : GG_ENDINGS_MAX;

	for (uint32_t i = 1; i <= count; i++) {
		const struct gg_ending *ending =
			&endings->items[(endings->count - i) % GG_ENDINGS_MAX];

		if (ending->pid == pid)
			return ending;
	}
	return NULL;
}
