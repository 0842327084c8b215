/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - one profiled process: its region on one side, its part of the profile on the other.
 *
 *   gg_target_open       the region is there: a row for the process, and what it has inherited
 *   gg_target_drain      the history since the last time
 *   gg_target_settle     state wins: what history lost is found in the region and put right
 *   gg_target_finish     the process has ended: the last history, the final state, its totals
 *
 * State and history.  The ring may be full, and the process may be killed between the two.  So at the
 * end, and when events were lost, what the region holds is compared with what its history told:
 *
 *   held there, never seen here       added, with its own time
 *   held here, no longer there        ended, the time being an upper bound (missed); the lower bound
 *                                     is up to when the history is known to be complete
 *   totals minus what was seen here   coarse rows: allocated and freed while nobody looked
 *
 * Hostile   the region is written by a program that may be broken or malicious.  Every index, draw
 *           and time is checked, and memory is bounded by the region's own capacities, these by ours.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "record/process/live_set.h"
#include "record/process/region_reader.h"
#include "record/process/stack_map.h"
#include "record/session/profile_writer.h"
#include "region/ring.h"

struct gg_target_set;
struct gg_region_view;

/* What was seen of a row: samples of a stack (a node of the region) in a thread. */
struct gg_seen {
	uint32_t node, thread;
	struct gg_sums sums;
};

struct gg_target {
	struct gg_target *next; /* in its set */
	struct gg_profile_writer *writer;
	struct gg_target_set *set;
	struct gg_region_reader reader; /* its descriptor is ours; -1: closed */
	struct gg_ring_reader ring;
	bool is_ours;  /* of a session that is recorded, in its directory; else the state alone */
	bool has_ring; /* its history can be read */
	bool is_finished;  /* only what children may ask for is kept */
	uint64_t last_use; /* of what it knows; by the set's use_count */
	uint32_t id;       /* of the process in the profile */
	uint32_t parent;
	uint32_t pid;
	uint64_t start_ticks;
	struct gg_target *ancestor;       /* whose samples it inherited; NULL: none known */
	struct gg_map origins;            /* of these: from their number to the ancestor's id */
	struct gg_profile_process record; /* its texts are ours */
	char main_thread[16];             /* its name as last read; "": as the region has it */

	struct gg_live_set live_set;
	struct gg_stack_map stack_map;
	/* Ids, from the region's to the profile's; 0: not yet. */
	GG_ARRAY(uint32_t) threads;
	GG_ARRAY(uint32_t) names[2]; /* heaps, types */
	struct gg_map seen_map;
	GG_ARRAY(struct gg_seen) seen;
	struct gg_sums seen_sums; /* of all */
	bool seen_is_full;        /* some are in the sums alone */
	bool was_off;             /* sampling was switched off for a while, or is */
	uint64_t inherited_count; /* samples of these, seen so far */
	bool is_shared;       /* what it freed may have been inherited (struct gg_profile_coarse) */
	bool has_coarse_left; /* sums of a while that went on made no sense yet */

	double live_bytes,
		inherited_bytes; /* estimates, for the time series; the second of these */
	/* For the question whether memory came from malloc: live blocks with all that allocators may add
	 * to them, now and at most.  Estimates. */
	double chunk_bytes, chunk_most_bytes;
	int64_t anonymous_most_bytes; /* that the kernel told */
	uint64_t last_event_ns;       /* CLOCK_MONOTONIC: the latest of them */
	uint64_t event_count;         /* drained */
	uint64_t bad_count;           /* events and records that no writer makes */
	uint64_t drop_count;          /* events that the ring had no place for, as last read */
	/*
	 * Session time: no event from before it was lost, but for those that were found already; and the
	 * earliest time of what is in totals and neither in samples nor in coarse rows.
	 */
	int64_t complete_ns, coarse_from_ns;
	struct gg_region_control control; /* as last read */
	int64_t next_reconcile_ns;
};

/* All processes of a session, the newest first: children look for their ancestors here. */
struct gg_target_set {
	struct gg_target *first;
	uint32_t finished_count;
	uint64_t use_count; /* how often a process has finished or was found to be an ancestor */
	/*
	 * Rounds in which all regions were found that were there when the round began.  What a process freed
	 * two rounds ago is not inherited by anybody who is still to come.
	 */
	uint64_t round_count;
	/* Inherited blocks that are no ancestor's sample: from number and time to the id that stands for them. */
	struct gg_map orphans;
};

/*
 * Opens a region and adds its process, which has that id here; 0: as the region says.  `fd` is taken over,
 * also on failure.  With `drains` it must be open for writing.  -EBADMSG: it is no region, or not yet.
 */
GG_MUST_CHECK int gg_target_open(struct gg_target **ret_target, struct gg_target_set *set,
                                 struct gg_profile_writer *writer, int fd, uint32_t pid,
                                 uint32_t parent, bool drains, struct gg_error *error);
void gg_target_free(struct gg_target *target);
void gg_target_set_done(struct gg_target_set *set);

/* Returns how full the ring was, from 0 to 1; `final`: nobody writes it any more. */
double gg_target_drain(struct gg_target *target, bool final);

/* Notes what was asked of the process since the last time: events "on", "off" and "interval". */
int gg_target_watch_control(struct gg_target *target);

/* What the process and its main thread are called by now; texts without bytes change nothing. */
void gg_target_rename(struct gg_target *target, const char *command, size_t command_bytes,
                      const char *main_thread, size_t main_thread_bytes);

/* When something happened: in [from_ns, to_ns], and if bucket_ns is not 0, as struct gg_profile_coarse has it. */
struct gg_span {
	int64_t from_ns, to_ns, bucket_ns;
	bool is_open; /* the process goes on, and what is not written now is written later */
};

/*
 * For a process whose history nobody reads: what the view has that was not there at the last look, and what is
 * no longer there.  What came and went between the two is known as sums, which get that time.
 */
int gg_target_apply_view(struct gg_target *target, const struct gg_region_view *view,
                         const struct gg_span *span);

/*
 * If events were lost: brings what is held here and what is held there together, and notes between which
 * times that was.  Reads the whole region, so it does that for a tenth of the time at most.
 */
int gg_target_reconcile_if_lossy(struct gg_target *target);
/* The same at once.  Without a loss, what is held there and was not seen here is added. */
int gg_target_reconcile(struct gg_target *target);
/* Were events lost since that was done? */
bool gg_target_is_lossy(const struct gg_target *target);

/*
 * The end.  `end_ns` of the session's time is when it was noticed, GG_TIME_NONE: the process lives on.
 * `ending` as in struct gg_profile_process, or NULL.  Closes the region.
 */
int gg_target_finish(struct gg_target *target, int64_t end_ns, const char *ending);

/* Was it live when the process was forked? */
static inline bool gg_target_is_inherited(const struct gg_target *target,
                                          const struct gg_region_sample *sample)
{
	return sample->id < target->reader.header.inherited_below_id;
}

/* For gg_target_finish(): closes the region, and keeps what children may ask for. */
void gg_target_close(struct gg_target *target);

/* Where the block or object is: without its heap. */
static inline uint64_t gg_target_address(const struct gg_region_sample *sample)
{
	return sample->heap == 0 ? sample->address
	                         : sample->address & ((UINT64_C(1) << GG_SAMPLE_OBJECT_BITS) - 1);
}

/* What the blocks that a sample stands for take, with the allocator's own words and rounding. */
double gg_target_chunk_bytes(const struct gg_region_sample *sample);

/* What history and state share: adds a sample unless it is there; its entry, or NULL: refused. */
struct gg_live_set_sample *gg_target_ensure_sample(struct gg_target *target,
                                                   const struct gg_region_sample *sample);
uint32_t gg_target_thread(struct gg_target *target, uint32_t thread);
/* What was seen of a stack in a thread; NULL: there are too many. */
struct gg_seen *gg_target_seen(struct gg_target *target, uint32_t node, uint32_t thread);

/* --- what a forked process inherited (inherited.c) --- */

/* For gg_target_open(): finds its ancestor and adds what it was born with. */
GG_MUST_CHECK int gg_target_take_inherited(struct gg_target *target, struct gg_error *error);
/* Its ancestors are the last that will be forgotten. */
void gg_target_use_ancestors(struct gg_target *target);
/* The profile's id of the sample that stands for the block, or GG_PROFILE_WRITER_NO_ORIGIN. */
uint64_t gg_target_find_origin(const struct gg_target *target,
                               const struct gg_region_sample *sample);
/* From now on that id stands for the block, as no ancestor's sample does.  0 or -ENOMEM. */
GG_MUST_CHECK int gg_target_add_orphan(struct gg_target *target,
                                       const struct gg_region_sample *sample, uint64_t id);
bool gg_target_is_orphan(const struct gg_target *target, const struct gg_region_sample *sample);
