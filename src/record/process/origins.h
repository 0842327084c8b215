/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origins - which sample of the profile stands for a block that a forked process inherited.
 *
 * That is the ancestor's own sample.  A block that is no ancestor's sample is an orphan: the first
 * process that reports it stands for it (process/inherited.c).
 */
#pragma once

#include "record/process/target.h"

/*
 * Returns a key of a block, which is the same in all processes that inherited the block.  Each
 * process numbers its samples from where its parent stopped, so the numbers of siblings overlap.
 * The time makes the key unique.
 */
uint64_t gg_origins_key(const struct gg_region_sample *sample);

/* True if the target has that sample, live or ended. */
bool gg_origins_holds(const struct gg_target *target, const struct gg_region_sample *sample);

/* Returns the id of the sample that stands for the block, or GG_PROFILE_WRITER_NO_ORIGIN. */
uint64_t gg_origins_find(const struct gg_target *target, const struct gg_region_sample *sample);

/*
 * Lets that sample of the profile, or the one that it was inherited from, stand for its block from
 * now on.  It needs the time of its allocation, its size, its address, its id and its origin.  0 or
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_origins_add_found(struct gg_target_set *set,
                                       const struct gg_profile_sample *sample);

/* Lets that id stand for a block that is no ancestor's sample.  0 or -ENOMEM. */
GG_MUST_CHECK int gg_origins_add_orphan(struct gg_target *target,
                                        const struct gg_region_sample *sample, uint64_t id);
bool gg_origins_is_orphan(const struct gg_target *target, const struct gg_region_sample *sample);
