/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_time - when a process ended.
 *
 * The recorder notices an end 40 ms late or more on a busy machine.  Processes that began in that
 * time must not seem to have lived together with the one that ended.  The evidence, in this order:
 *
 *   1. The upper bound is the earliest of `before_ns`, the time at which the recorder noticed the
 *      end, and the start of the first successor (process/succession.h).
 *   2. Below it, the best value is the end that the agent noted in an exit() or _exit().
 *   3. If the agent noted no end, the process was killed, or it executed another program.  Its
 *      parent may have waited for it and gone on long before the recorder wakes up.  So it may have
 *      ended at any time since it was last seen alive, but before any process whose region was
 *      closed later.  That the process was alive does not say that it still ran this program.
 *   4. Then it also ended after each process whose region was closed earlier.  This says nothing
 *      against an end that the agent noted: while the recorder reads the mappings of a process,
 *      the process's memory outlives it, and its region is closed only afterwards.
 *   5. If the agent noted no end, but the parent waited for the process, it ended before the
 *      parent.  The parent did if the kernel has nothing of the process any more, although the
 *      recorder, which adopts orphans, did not wait for it.  This is an upper bound as well.  It
 *      decides where somebody holds the memory of a killed process longer than the parent lives.
 *   6. The last event and the start of the process are lower bounds.  They win over all other
 *      times, because no process allocates before it begins or after it ends.
 */
#pragma once

#include "record/process/final_state.h"
#include "record/process/member.h"
#include "record/process/succession.h"

/*
 * Finds the bounds of a member's end, in the session's time, and tells the succession.  It ended
 * before `before_ns`; UINT64_MAX: that is unknown.  noticed_ns must be set.
 */
struct gg_end_bounds gg_end_time_find(struct gg_succession *succession, struct gg_member *member,
                                      uint64_t before_ns);

/*
 * Returns the end that the agent noted in an orderly exit, in CLOCK_MONOTONIC; 0: it noted none.
 * If the process was seen alive later, it ended then.
 */
uint64_t gg_end_time_noted(struct gg_member *member);

/* True if nothing more will become known about its end: its successors are known, or time is up. */
bool gg_end_time_is_known(const struct gg_succession *succession, const struct gg_member *member);
