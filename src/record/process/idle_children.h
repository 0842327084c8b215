/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_children - forked processes that have no region, because they were idle since their fork.
 *
 * A forked child creates its region with its first sample, or its first free of one.  Until then
 * it holds a copy of all that its parent held.  A worker that waits and is killed never creates
 * one.  Each child notes its fork in a file of the session (struct gg_session_fork), before the
 * program's code runs in it.  From then on the recorder watches it, until one of these happens:
 *
 *   its region appears       it is a member of the set from now on (process/new_regions.c)
 *   it ends, or executes     it held all blocks until then
 *   the recording ends       it holds them still
 *
 * A child that was idle for SOON_NS becomes a process of the profile.  It has a sample for each
 * block that its ancestor held at the fork, by the ancestor's own samples.  If the ancestor's
 * history does not tell whether it held a block, the counter GG_PROFILE_COUNTER_IDLE is larger
 * than the number of these samples, and reports count the block in upper ends
 * (profile/unseen_heirs.h).
 *
 * A child that lived shorter has no samples, because shells fork thousands of these.  It becomes a
 * process, with the counter alone, if its ancestor freed blocks since the fork.
 *
 * Cost      none without forks.  Each child takes two descriptors while it is idle, and at its end
 *           a scan over the samples of the profile, some 0.2 s for a million.  These take a tenth
 *           of the time at most, and after a million samples there are no more: then children have
 *           the counter alone.  Idle children have a quarter of the recorder's descriptors; further
 *           ones count in upper ends.
 * Long      a child that is idle for ten minutes is written then, and its end later.  If it wakes
 *           up, its process in the profile becomes that of its region.
 * Killed    a recorder that is killed settles no child.  So each commit has the number of those
 *           that may hold blocks which their ancestors freed or left: these count in upper ends.
 * Misses    children of a bare clone(), which runs no code of the agent.
 * Threads   one owner at a time.
 */
#pragma once

#include "record/process/process_set.h"

/* Takes the forks that were noted.  Call it each round before ended processes are finished. */
void gg_idle_children_read(struct gg_process_set *set);

/* Writes the children that have ended.  Call it each round after the rings were read. */
void gg_idle_children_watch(struct gg_process_set *set);

/* Writes what the profile needs if nothing more is written.  Call it before each commit. */
void gg_idle_children_tell(struct gg_process_set *set);

/*
 * The process of that pid is still creating its region.  It is not settled in this round, because
 * it may no longer have its ancestor's region mapped, as if it had executed another program.
 */
void gg_idle_children_postpone(struct gg_process_set *set, uint32_t pid);

/*
 * The region of a new process was found.  An idle child with that region leaves the list, and its
 * samples leave the profile.  Returns the id that the process has in the profile; 0: it is not
 * there yet.
 */
uint32_t gg_idle_children_take(struct gg_process_set *set, const struct gg_region_header *header);

/* Writes all that are left, at the end of the recording. */
void gg_idle_children_finish(struct gg_process_set *set);

void gg_idle_children_done(struct gg_process_set *set);
