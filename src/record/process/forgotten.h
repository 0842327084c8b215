/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forgotten - finds inherited blocks whose samples ended so long ago that the recorder forgot them.
 *
 * A forked child has no region until it samples or frees a sample.  It may be idle for an hour.
 * Meanwhile its parent frees what both of them held, or ends with it, and many other processes
 * end.  The recorder remembers the latest ends and processes alone (process/live_set.h,
 * process/target.c), but the profile has all of them: the child's block has the time of its
 * allocation, the size and the address of a sample that an ancestor allocated before the fork and
 * held after it.
 *
 * Cost      a scan over the samples of the profile, some 0.2 s for a million, and none where
 *           nothing of the ancestors is forgotten; siblings share what one of them has found.
 *           Searches for what a living process has freed take a tenth of the time at most, after a
 *           burst of 0.2 s.
 * Memory    32 bytes for each sample that the ancestors held at the fork.
 * Misses    samples that compaction has made a part of an aggregate; sessions of `geiger check`
 *           and others that only read a region.
 * Threads   one owner at a time.
 */
#pragma once

#include "record/process/target.h"
#include "region/reader/view.h"

/*
 * Searches the profile for the samples of inherited blocks that no ancestor remembers, so that
 * gg_origins_find() knows them from now on: those in the view, and those that the process freed
 * before.  fork_ns: the target's fork or an earlier time, in session time.  False: there was no
 * time for it, so some of them may stay unknown.  The writer's status has a failure.
 */
bool gg_forgotten_search(struct gg_target *target, const struct gg_region_view *view,
                         int64_t fork_ns);

/* Searches share their time with others that scan the profile: true if there is some left. */
bool gg_forgotten_has_time(const struct gg_target_set *set);

/* Charges the time since start_ns, in CLOCK_MONOTONIC, to all that scan the profile. */
void gg_forgotten_charge(struct gg_target_set *set, uint64_t start_ns);
