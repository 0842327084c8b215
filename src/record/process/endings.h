/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings - how children ended, as wait4() reports it.
 *
 * A child may end before the recorder has found its region, so the latest endings are kept in a
 * ring.  The ending of a pid is the latest one, because the kernel reuses pids.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { GG_ENDINGS_MAX = 256, GG_ENDING_MAX = 32 };

struct gg_ending {
	pid_t pid;
	char text[GG_ENDING_MAX]; /* "exited 0", "killed by signal 9" */
	int64_t max_rss_bytes;    /* -1: unknown */
};

struct gg_endings {
	struct gg_ending items[GG_ENDINGS_MAX];
	uint32_t count; /* of all endings, also those that the ring has no more */
};

/*
 * Notes that wait4() returned a child, with its `status` and maximum resident size; -1: unknown.
 * Returns the ending, which is valid until the ring wraps around.
 */
const struct gg_ending *gg_endings_add(struct gg_endings *endings, pid_t pid, int status,
                                       int64_t max_rss_bytes);

/* Returns the latest ending of that pid; NULL: unknown. */
const struct gg_ending *gg_endings_find(const struct gg_endings *endings, pid_t pid);
