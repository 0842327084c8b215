/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_set - which samples a process holds, and which it freed a short while ago.
 *
 * The set maps the region's number of a sample to the profile's id.  It remembers an ended sample
 * for the next GG_LIVE_SET_ENDED_MAX ends, for two reasons: a child that was forked earlier may
 * still appear and say that it inherited the sample, and an end may arrive twice
 * (process/reconcile.c).  The set never forgets an ended sample before the recorder has looked for
 * new regions twice and has found each of them complete.  By then the recorder knows each child
 * whose region existed when the sample ended.  Without that, the child's sample would stand for the
 * block from the start of its region on, and the block would count twice until its parent freed it.
 *
 * A sample has two events, and one of them may come late: its thread stands still between the
 * change and the event, and the recorder finds the change in the region meanwhile.  So the set
 * keeps the numbers of forgotten samples with an event that has not arrived.  Otherwise a late
 * event would add the sample anew.
 *
 *   struct gg_live_set live_set;
 *
 *   gg_live_set_init(&live_set, limit);
 *   if (gg_live_set_add(&live_set, number, id, time_ns) < 0)
 *           ...
 *   gg_live_set_end(&live_set, gg_live_set_find(&live_set, number), round);
 *   gg_live_set_done(&live_set);
 *
 * Memory   24 bytes and a map entry for each live sample.  A hostile region cannot exceed that:
 *          past `limit` live samples gg_live_set_add() refuses.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/map.h"

struct gg_live_set_sample {
	uint64_t number;              /* in the region; 0: the entry is free */
	uint64_t id : 61;             /* in the profile */
	uint64_t has_type : 1;        /* the profile has its type */
	uint64_t has_alloc_event : 1; /* the event of its allocation has arrived, or never will */
	uint64_t has_end_event : 1;   /* likewise, that of its free */
	uint64_t time_ns; /* of the allocation, as in the region; GG_LIVE_SET_ENDED: it has ended */
};

/* The end of a sample, in the order of ends. */
struct gg_live_set_ending {
	uint32_t index; /* into `samples` */
	uint32_t round; /* low bits of the round in which the end arrived */
};

#define GG_LIVE_SET_ENDED (UINT64_C(1) << 63)

struct gg_live_set {
	struct gg_map by_number;
	GG_ARRAY(struct gg_live_set_sample) samples;
	uint32_t live_count, limit;
	uint32_t first_free; /* index + 1 of a free entry; the list links through `id` */
	struct gg_live_set_ending *ended; /* a ring, the oldest end at `ended_first` */
	uint32_t ended_first, ended_count, ended_capacity; /* the capacity is 0 or a power of two */
	uint64_t forgotten_count;                          /* ends that it does not remember */
	struct gg_map late; /* numbers of forgotten samples that may have an event yet */
};

/*
 * The set remembers that many ends, and each end for at least that many rounds.  It drops the late
 * numbers when there are too many, some 32 MB.
 */
enum { GG_LIVE_SET_ENDED_MAX = 16384, GG_LIVE_SET_ROUNDS = 2, GG_LIVE_SET_LATE_MAX = 1 << 20 };

void gg_live_set_init(struct gg_live_set *live_set, uint32_t limit);
void gg_live_set_done(struct gg_live_set *live_set);

/* Returns the sample, valid until the next change; NULL: never added, or forgotten. */
struct gg_live_set_sample *gg_live_set_find(const struct gg_live_set *live_set, uint64_t number);

/* True if that sample has ended and was forgotten: an event of it comes late. */
bool gg_live_set_is_late(const struct gg_live_set *live_set, uint64_t number);

/* Adds a live sample whose number is not in the set.  -ENOSPC: the set is at its limit. */
GG_MUST_CHECK int gg_live_set_add(struct gg_live_set *live_set, uint64_t number, uint64_t id,
                                  uint64_t time_ns);

/*
 * Marks a live sample as ended in that round of the recorder.  Forgets the oldest ends if there are
 * too many; if there is no memory, forgets this sample at once.
 */
void gg_live_set_end(struct gg_live_set *live_set, struct gg_live_set_sample *sample,
                     uint64_t round);

/*
 * Checks that the counts, the free list, the map and the ring of ends agree; a breach aborts.  For
 * tests and debugging: it reads the whole set.
 */
void gg_live_set_validate(const struct gg_live_set *live_set);

static inline bool gg_live_set_is_live(const struct gg_live_set_sample *sample)
{
	return (sample->time_ns & GG_LIVE_SET_ENDED) == 0;
}
