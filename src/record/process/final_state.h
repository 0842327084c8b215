/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_state - the last reading of a process's region, when the process or its recording has
 * ended.
 */
#pragma once

#include "record/process/target.h"

/*
 * The end of a process, in the session's time: not before least_ns, and not after end_ns.
 * GG_TIME_NONE: it lives on.
 */
struct gg_end_bounds {
	int64_t least_ns, end_ns;
};

/*
 * Writes the final state and totals, and closes the region.  `end` is when the process ended.
 * `ending` as in struct gg_profile_process, or NULL.
 */
int gg_final_state_write(struct gg_target *target, struct gg_end_bounds end, const char *ending);
