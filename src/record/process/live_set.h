/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_set - which samples a process holds, and which it gave back a while ago.
 *
 * From the region's number of a sample to the profile's.  One that has ended is kept for the next
 * ENDED_MAX ends: a child that was forked before may still come and say that it inherited it, and an
 * end may come twice (record/process/reconcile.c).  After that it is forgotten, but not before the
 * recorder has looked for new regions twice: by then it knows each child that was there when the sample ended.
 *
 * Memory   24 bytes a sample held, and its place in the map.  What a hostile region can make of it is
 *          bounded: past `limit` samples gg_live_set_add() refuses.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/map.h"

struct gg_live_set_sample {
	uint64_t number;  /* in the region; 0: this place is free */
	uint64_t id;      /* in the profile */
	uint64_t time_ns; /* of the allocation, as the region has it; top bit: it has ended */
};

/* An end. */
struct gg_live_set_ending {
	uint32_t index; /* of the sample */
	uint32_t round; /* in which it was noted, the low bits */
};

#define GG_LIVE_SET_ENDED (UINT64_C(1) << 63)

struct gg_live_set {
	struct gg_map by_number;
	GG_ARRAY(struct gg_live_set_sample) samples;
	uint32_t live_count, limit;
	uint32_t first_free;              /* index + 1; links through `id` */
	struct gg_live_set_ending *ended; /* a ring, the oldest at `ended_first`; NULL: none yet */
	uint32_t ended_first, ended_count, ended_capacity; /* capacity: a power of two */
};

/* Ends that are remembered, and for how many rounds all are. */
enum { GG_LIVE_SET_ENDED_MAX = 16384, GG_LIVE_SET_ROUNDS = 2 };

void gg_live_set_init(struct gg_live_set *live_set, uint32_t limit);
void gg_live_set_done(struct gg_live_set *live_set);

/* NULL: never seen, or forgotten.  Valid until the next change. */
struct gg_live_set_sample *gg_live_set_find(const struct gg_live_set *live_set, uint64_t number);

/* Adds one that is not there.  0, -ENOMEM, or -ENOSPC: more than the limit. */
GG_MUST_CHECK int gg_live_set_add(struct gg_live_set *live_set, uint64_t number, uint64_t id,
                                  uint64_t time_ns);

/* Marks it as ended, in that round; forgets those that ended first if there are too many. */
void gg_live_set_end(struct gg_live_set *live_set, struct gg_live_set_sample *sample,
                     uint64_t round);

static inline bool gg_live_set_is_live(const struct gg_live_set_sample *sample)
{
	return (sample->time_ns & GG_LIVE_SET_ENDED) == 0;
}
