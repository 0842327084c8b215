/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_at_end - the end of a session's last process, which decides what is live at the end.
 *
 * This is the one rule for "live at the end" (docs/REPORTS.md, "Several processes"):
 *
 *   - A block that its process never freed ends with the process.
 *   - A session ends with its last process.  Blocks that were live together at that moment have no
 *     end (GG_TIME_NONE), so every later moment shows them as live.
 *   - A process without an end still ran when the recording ended.  Such processes are the last
 *     ones, and processes with an end are not.
 *   - Processes with equal end times ended together.
 *
 * With one process, live at the end is therefore what it held when it exited or was killed.
 *
 *   struct gg_live_at_end last = { 0 };
 *
 *   gg_live_at_end_note(&last, process.end_ns);             for each process of the session
 *   until_ns = gg_live_at_end_until(&last, process.end_ns);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/records.h"

struct gg_live_at_end {
	int64_t end_ns; /* end of the last process; GG_TIME_NONE: a process still ran */
	bool has_any;   /* false: there was no process yet */
};

static inline void gg_live_at_end_note(struct gg_live_at_end *last, int64_t end_ns)
{
	if (!last->has_any || end_ns > last->end_ns)
		last->end_ns = end_ns;
	last->has_any = true;
}

/* The end of a block that a process with this end never freed; GG_TIME_NONE: live at the end. */
static inline int64_t gg_live_at_end_until(const struct gg_live_at_end *last, int64_t end_ns)
{
	return last->has_any && end_ns < last->end_ns ? end_ns : GG_TIME_NONE;
}
