/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forgotten - finds inherited blocks whose samples ended so long ago that the recorder forgot them.
 *
 * A forked child has no region until it samples or frees a sample.  It may be idle for an hour,
 * and its parent frees meanwhile what both of them held.  The recorder remembers only the latest
 * ends (process/live_set.h), but the profile has all of them: the child's block has the time of its
 * allocation, the size and the address of a sample that was freed after the fork.
 *
 * Cost      a scan over the samples of the profile, some 0.2 s for a million, and none where all
 *           samples are known; siblings share what one of them has found.  All searches take a
 *           tenth of the time at most, after a burst of 0.2 s.
 * Misses    samples that compaction has made a part of an aggregate; sessions of `geiger check` and
 *           others that only read a region.
 * Threads   one owner at a time.
 */
#pragma once

#include "record/process/target.h"
#include "region/reader/view.h"

/*
 * Searches the profile for the samples of inherited blocks that no ancestor knows, so that
 * gg_origins_find() knows them from now on.  fork_ns: the target's fork, in session time.
 * The writer's status has a failure.
 */
void gg_forgotten_search(struct gg_target *target, const struct gg_region_view *view,
                         int64_t fork_ns);
