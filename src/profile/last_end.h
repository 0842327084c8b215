/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_end - when the last process of a session ended, and until when what a process never freed was live.
 *
 * This is the one rule for "live at the end" (docs/REPORTS.md, "Several processes"):
 *
 *   - A block that its process never freed ends with the process.
 *   - The end of a session is the end of its last process.  What was live together then stays live from
 *     there on: it has no end (GG_TIME_NONE), so every later moment shows it.
 *   - A process without an end still ran when the recording ended.  Then it is among the last ones, and no
 *     process that has ended is.
 *   - Processes that ended at the same instant, as far as is known, ended together.
 *
 * So with one process, what is live at the end is what it held when it exited or was killed.
 *
 *   struct gg_last_end last = { 0 };
 *
 *   gg_last_end_note(&last, process.end_ns);             for each process of the session
 *   until_ns = gg_last_end_until(&last, process.end_ns);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/records.h"

struct gg_last_end {
	int64_t end_ns; /* of the last process; GG_TIME_NONE: one still ran */
	bool has_any;   /* false: no process was noted */
};

static inline void gg_last_end_note(struct gg_last_end *last, int64_t end_ns)
{
	if (!last->has_any || end_ns > last->end_ns)
		last->end_ns = end_ns;
	last->has_any = true;
}

/* When a block ends that a process with this end never freed; GG_TIME_NONE: it is live at the end. */
static inline int64_t gg_last_end_until(const struct gg_last_end *last, int64_t end_ns)
{
	return last->has_any && end_ns < last->end_ns ? end_ns : GG_TIME_NONE;
}
