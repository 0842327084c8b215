/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - one profiled process: it reads the process's region and writes its part of the profile.
 *
 *   gg_target_open        opens the region and adds the process to the profile
 *   gg_inherited_take     adds the samples that a forked process inherited (inherited.h)
 *   gg_ingest_drain       reads the events since the last call (ingest.h)
 *   gg_reconcile          corrects what the ring lost, by the region (reconcile.h)
 *   gg_final_state_write  when the process has ended: reads the last events, the final state, and
 *                         the totals (final_state.h)
 *
 * The state wins over the history.  The ring may overflow, and a process may be killed between a
 * change and its event.  So the target compares the region with its own samples at the end and
 * after a loss of events (process/reconcile.c):
 *
 *   a live sample of the region that the target does not know
 *           is added, with the time that it has in the region
 *   a known live sample that the region no longer has
 *           has ended, between the last time at which the history was complete and now
 *   totals of the region minus the known samples
 *           become aggregates: blocks that were allocated and freed without any event arriving
 *
 * Hostile   the program may be broken or malicious, and it writes the region.  The target checks
 *           every index, sampling record and time.  The region's capacity bounds its memory, and
 *           the recorder's own limits bound that.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "record/process/lineage.h"
#include "record/process/live_set.h"
#include "record/process/region_reader.h"
#include "record/process/stack_map.h"
#include "record/session/profile_writer.h"
#include "region/ring.h"

struct gg_target_set;
struct gg_region_view;
struct gg_exact_history;

/* Charges of the recorder for its own time (session/recorder_costs.h). */
struct gg_target_charges {
	uint64_t program_ns, recorder_ns; /* counters of the region, as last read */
	double step_ns;                   /* by how much program_ns grew */
	int64_t charged_ns;
};

/* Sums of the samples that the target knows, by stack (a node of the region) and thread. */
struct gg_seen {
	uint32_t node, thread;
	struct gg_sums sums;
};

struct gg_target {
	struct gg_target *next; /* in its set */
	struct gg_profile_writer *writer;
	struct gg_target_set *set;
	struct gg_region_reader reader; /* the target owns its descriptor; -1: closed */
	struct gg_ring_reader ring;
	bool is_ours;  /* the region is in the session's directory; false: only its state is read */
	bool has_ring; /* the ring can be read */
	bool is_finished;  /* it keeps only what processes that inherited samples need */
	uint64_t last_use; /* when its samples were last used, as the set's use_count */
	uint32_t id;       /* of the process in the profile */
	uint32_t parent;
	uint32_t pid;
	uint64_t start_ticks;
	uint32_t lineage; /* its number there (process/lineage.h) */
	/* The process whose samples it inherited, or its own one; NULL: unknown, or forgotten. */
	struct gg_target *ancestor;
	struct gg_map origins; /* from the number of an inherited sample to the ancestor's id */
	struct gg_profile_process record; /* the target owns the texts */
	char main_thread[16];             /* its last name; "": the region's name is still right */

	/* With exact counts its history, which replaces samples and events; otherwise NULL. */
	struct gg_exact_history *exact;
	struct gg_live_set live_set;
	struct gg_stack_map stack_map;
	/* From ids of the region to ids of the profile; 0: not translated yet. */
	GG_ARRAY(uint32_t) threads;
	GG_ARRAY(uint32_t) names[2]; /* heaps, types */
	/*
	 * The region has inherited blocks in totals of their own (view.h).  Then neither these
	 * totals nor inherited samples count in the sums below.
	 */
	bool tells_inherited;
	struct gg_map seen_map;
	GG_ARRAY(struct gg_seen) seen;
	struct gg_sums seen_sums; /* of all */
	bool seen_is_full;        /* some samples are in seen_sums alone */
	bool was_off;             /* sampling was switched off for a while, or is */
	bool records_mappings;    /* --mmap */
	uint64_t inherited_count; /* known inherited samples */
	bool is_shared;  /* blocks it freed may have been inherited (struct gg_profile_aggregate) */
	bool leaves_out; /* aggregates are not written (gg_aggregates_leave_out) */
	/* sums of an open span made no sense yet and wait for the next time */
	bool has_aggregates_left;

	double live_bytes,
		inherited_bytes; /* estimates, for the time series; the second of these */
	/*
	 * Estimates of live blocks with the allocator's overhead, now and their maximum.  They tell
	 * if the process's memory came from malloc.
	 */
	double chunk_bytes, chunk_most_bytes;
	int64_t anonymous_most_bytes; /* as the kernel reports */
	uint64_t last_event_ns;       /* CLOCK_MONOTONIC: of the latest event */
	uint64_t last_free_ns; /* likewise, of the latest free; a lost one counts as of now */
	uint64_t event_count;  /* events that were read */
	uint64_t bad_count;    /* events and records that are invalid */
	uint64_t drop_count;   /* events that did not fit into the ring, as last read */
	/*
	 * Session time: no event from before it was lost, but for those that were found already;
	 * and the earliest time of what is in totals and neither in samples nor in aggregates.
	 */
	int64_t complete_ns, aggregate_from_ns;
	struct gg_region_control control; /* as last read ... */
	int64_t watched_ns;               /* ... at this session time; 0: at its start */
	uint64_t collection_ns;           /* the last full collection that was written; 0: none */
	uint64_t focus_interval;          /* that session/focus_error.c wrote there last; 0: none */
	struct gg_target_charges charges;
	int64_t next_reconcile_ns;
};

/* All targets of a session, the newest first.  A forked process finds its ancestor here. */
struct gg_target_set {
	struct gg_target *first;
	uint32_t finished_count;
	/* counts finished processes and uses of ancestors; a clock for last_use */
	uint64_t use_count;
	/*
	 * Rounds in which all regions were found that were there when the round began, and were
	 * complete.  The region of a process that appears later began after the frees that were
	 * seen two rounds ago.
	 */
	uint64_t round_count;
	/* A round counted although a process was creating its region (process_set.h). */
	bool forgot_early;
	bool told_forgotten; /* a note says that blocks may count twice (process/inherited.c) */
	struct gg_region_event *events; /* ingest.c's buffer for a batch; NULL: not used yet */
	uint64_t next_search_ns;        /* CLOCK_MONOTONIC: of the profile (process/forgotten.h) */
	/*
	 * Blocks whose sample no ancestor remembers (process/inherited.c): from a hash of number
	 * and time to the id of the sample that stands for the block.
	 */
	struct gg_map orphans;
	/* Samples of forgotten ancestors that a search has found (process/forgotten.h). */
	struct gg_map found;
	struct gg_lineage lineage;
	uint32_t
		known_id; /* that the profile has for the next target; 0: none, it gets a new one */
};

/*
 * Opens a region and adds its process to the profile.  `pid` is its id in the recorder's namespace;
 * 0: the region's own.  The target takes `fd` over, even on failure.  `drains`: it reads the ring,
 * so `fd` must be open for writing.  -EBADMSG: the file is not a region, or not a complete one yet.
 */
GG_MUST_CHECK int gg_target_open(struct gg_target **ret_target, struct gg_target_set *set,
                                 struct gg_profile_writer *writer, int fd, uint32_t pid,
                                 uint32_t parent, bool drains, struct gg_error *error);
void gg_target_free(struct gg_target *target);
void gg_target_set_done(struct gg_target_set *set);

/* Writes events "on", "off" and "interval" if the process's control has changed. */
int gg_target_watch_control(struct gg_target *target);

/*
 * Writes an event for the last full collection of the process's runtime, if it is a new one.  A
 * process that collects all the time gets one event a second, and at its end (`is_last`) one more.
 */
int gg_target_watch_collections(struct gg_target *target, bool is_last);

/* Notes the current names of the process and its main thread; an empty text changes nothing. */
void gg_target_rename(struct gg_target *target, const char *command, size_t command_bytes,
                      const char *main_thread, size_t main_thread_bytes);

/* A range of times, [from_ns, to_ns]; bucket_ns as in struct gg_profile_aggregate. */
struct gg_span {
	int64_t from_ns, to_ns, bucket_ns;
	/* the process goes on, so sums that are not written now can be written later */
	bool is_open;
};

/* True if the sample was live when the process was forked. */
static inline bool gg_target_is_inherited(const struct gg_target *target,
                                          const struct gg_region_sample *sample)
{
	return sample->id < target->reader.header.inherited_below_id;
}

/*
 * Closes the region of a finished process and keeps the samples that children may have inherited.
 */
void gg_target_close(struct gg_target *target);

/* The address of the block or object, without the bits that hold its heap. */
static inline uint64_t gg_target_address(const struct gg_region_sample *sample)
{
	return sample->heap == 0 ? sample->address
	                         : sample->address & ((UINT64_C(1) << GG_SAMPLE_OBJECT_BITS) - 1);
}

/* Tells the lineage what the region and the samples say by now. */
void gg_target_tell_lineage(struct gg_target *target);

/* Marks the ancestors as used, so that the set forgets them last. */
void gg_target_use_ancestors(struct gg_target *target);
