/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest - turns the events of a process's ring into samples and ends.
 *
 * The events of a batch go through one buffer of the set, so targets of one set have one owner at a
 * time.
 */
#pragma once

#include "record/process/target.h"

/* Reads the ring.  Returns how full it was, from 0 to 1; `final`: its writer has ended. */
double gg_ingest_drain(struct gg_target *target, bool final);

/* Adds a sample unless the target knows it.  Returns its entry; NULL: refused. */
struct gg_live_set_sample *gg_ingest_sample(struct gg_target *target,
                                            const struct gg_region_sample *sample);

/* Returns the profile's id of the sample's type, or 0. */
uint32_t gg_ingest_type(struct gg_target *target, const struct gg_region_sample *sample);

/* Returns the profile's id of a thread of the region; 0: it has no valid record yet. */
uint32_t gg_ingest_thread(struct gg_target *target, uint32_t thread);

/* Returns the sums of a stack in a thread; NULL: there are too many pairs. */
struct gg_seen *gg_ingest_seen(struct gg_target *target, uint32_t node, uint32_t thread);

/* Estimates the bytes of a sample's blocks, with the allocator's headers and rounding. */
double gg_ingest_chunk_bytes(const struct gg_region_sample *sample);
