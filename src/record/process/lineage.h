/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage - which process was forked with the samples of which, also of forgotten processes.
 *
 * The region of a forked child names the region whose samples it inherited, by pid and start
 * (struct gg_region_header).  The set of targets forgets processes that ended long ago, but the
 * profile still has their samples.  The lineage remembers all processes of a session, so that a
 * child that appears late finds its parent's id, and the ids whose samples it may have inherited.
 *
 * Memory   some 180 bytes a process.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/map.h"
#include "region/layout.h"

struct gg_lineage_process {
	uint64_t start_ns;    /* start_monotonic_ns of its region */
	uint64_t fork_ns;     /* CLOCK_MONOTONIC before its fork; 0: unknown, or no fork */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat; 0: unknown */
	int64_t owner;        /* the user id of its region's file; -1: unknown */
	uint32_t pid;         /* in the region */
	uint32_t id;          /* in the profile */
	uint32_t ancestor;    /* its number in the lineage; 0: none, or none that was recorded */
	/*
	 * The profile was searched for blocks that its children inherited (process/forgotten.h):
	 * from that time on, in session time, when its chain had forgotten so many ends.
	 */
	bool is_searched;
	int64_t searched_from_ns;
	uint64_t searched_count;
	/* As last seen (gg_target_tell_lineage). */
	bool has_samples;
	bool is_lossy;         /* events were lost */
	uint32_t thread_count; /* threads that sampled or freed a sample */
	double interval_bytes;
	enum gg_scheme scheme;
	int64_t end_ns;               /* session time; INT64_MAX: it lives, or lived on */
	uint64_t unnoted_child_count; /* by its region, as last seen */
	uint64_t unseen_child_count;  /* children of which nobody knows when they ended */
	/* Idle children that would be such if the recorder were killed now. */
	uint64_t unsettled_child_count;
};

struct gg_lineage {
	GG_ARRAY(struct gg_lineage_process) processes; /* number n is at n - 1 */
	struct gg_map numbers;                         /* from a hash of pid and start */
	struct gg_map forks;                           /* from a hash of pid and fork_ns */
	int64_t last_end_ns;                           /* the latest of all ends */
};

void gg_lineage_done(struct gg_lineage *lineage);

/* Adds the process of a region, whose ancestor was added before.  *ret_number is its number. */
GG_MUST_CHECK int gg_lineage_add(struct gg_lineage *lineage, const struct gg_region_header *header,
                                 uint32_t id, uint32_t *ret_number);

/* Returns the number of the process with that region; 0: it was not recorded. */
uint32_t gg_lineage_find(const struct gg_lineage *lineage, uint32_t pid, uint64_t start_ns);

/* Notes the end of a process, in session time; GG_TIME_NONE: it lives on. */
void gg_lineage_end(struct gg_lineage *lineage, uint32_t number, int64_t end_ns);

/* True if the region of the child that was forked then has appeared. */
bool gg_lineage_has_fork(const struct gg_lineage *lineage, uint32_t pid, uint64_t fork_ns);

/* Returns a process by its number, valid until the next one is added; NULL: the number is 0. */
struct gg_lineage_process *gg_lineage_at(const struct gg_lineage *lineage, uint32_t number);

/* True if the region names its ancestor.  Those of agents before 0.1.0 do not. */
static inline bool gg_lineage_is_told(const struct gg_region_header *header)
{
	return header->ancestor_start_ns != 0;
}
