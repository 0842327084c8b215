/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress - how long work reports how far it is.
 *
 * The owner of the work passes a `struct gg_progress`, and the work calls gg_progress_report() from
 * time to time.  Only the command line draws (cli/progress_line.h), so that no lower layer knows a
 * terminal.
 *
 *   gg_progress_report(options->progress, done_count, total_count, "reading samples");
 *
 * Threads   The work reports from one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gg_progress {
	/*
	 * `what` says what is being done, as "looking up names"; the callee copies it if it needs
	 * it longer.  total: 0 if it is unknown; otherwise done <= total, in the same unit.
	 */
	void (*report)(void *context, uint64_t done, uint64_t total, const char *what);
	/* The work has ended, or prints something now; it may go on with another report. */
	void (*end)(void *context);
	void *context;
};

/* Reports if `progress` is not NULL.  It reads a clock, so loops call it every 1000 items or so. */
static inline void gg_progress_report(const struct gg_progress *progress, uint64_t done,
                                      uint64_t total, const char *what)
{
	if (progress != NULL)
		progress->report(progress->context, done, total, what);
}

static inline void gg_progress_end(const struct gg_progress *progress)
{
	if (progress != NULL)
		progress->end(progress->context);
}
