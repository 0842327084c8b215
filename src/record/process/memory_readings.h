/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_readings - the memory of processes as the kernel reports it, beside the profile's
 * estimates.
 *
 * A round reads all processes of the session at nearly the same moment, so that its numbers can be
 * compared with each other and with the heap at that moment.  Most programs end soon, so rounds are
 * frequent at first: after 20 ms, then less and less often, up to one a second.  There is another
 * round when the live estimate exceeds its maximum by 5 %, and again 50 ms later, when the program
 * may have touched its new memory: some 300 rounds at most from one MiB to one TiB.  Between rounds
 * the recorder compares resident memory with the last round ten times a second, and a change of 1 %
 * (and 256 KiB) begins a round, so that short peaks are seen.
 *
 * Rounds that are older than an hour are thinned out: of each minute, those with the largest and
 * the smallest RSS stay.
 *
 * Status    /proc/PID/status has resident pages by kind and the kernel's own maximum.  It costs the
 *           process nothing and the recorder 20 us.
 * Walks     /proc/PID/smaps has proportional sizes and mappings.  The kernel walks through the page
 *           tables for it, under a lock that the program's mmap() waits for.  Sums need all
 *           processes walked in one round.  The next such round may begin after 500 times the
 *           duration of the longest walk: at most 0.2 % of the time of each process.  If a process
 *           began since and there are several, it may begin after 100 times that duration, and 25
 *           times the duration of all walks: at most 1 % of the time of each process, and 4 % of a
 *           processor, while processes begin.  For 30 processes that share 40 MB all walks take
 *           some 15 ms together, and the longest 0.6 ms; smaps_rollup would save a tenth of that,
 *           but has no mappings.  Between such rounds a new process is walked once when it is old
 *           enough that its walk takes at most 1 % of its life, by an estimate; 0.2 % if there are
 *           several processes.  A process that is younger than 10 s is walked earlier if a look
 *           is due: all its walks then take at most 1 % of its life.
 * Looks     a walk becomes a part of a look at the process, if one is due
 *           (process/look_schedule.h), so that the kernel walks once for both.
 * Cost      walks of one round stop after some 10 ms of processor time, 40 ms where all processes
 *           are due.  The rest follow in the next rounds, and until then the sum is an upper bound.
 *           After a round that took t, growth triggers no other round within 50 t.
 */
#pragma once

#include "record/process/process_set.h"

/* The schedule of rounds and walks.  All zero: no round was read yet. */
struct gg_memory_readings {
	int64_t next_ns;        /* session time: when the next round is due */
	int64_t last_ns;        /* session time of the last round */
	int64_t cost_ns;        /* duration of the last round, without heap_walks_ns */
	int64_t heap_walks_ns;  /* of walks through heaps, which have a budget of their own */
	double most_live_bytes; /* the maximum over all rounds */
	int64_t checked_ns;     /* session time: when RSS was last compared with the last round */
	int64_t check_cost_ns;  /* duration of that */
	int64_t rss_bytes;      /* of all processes in the last round */
	int64_t thinned_ns;     /* session time: when old rounds were last thinned out */
	int64_t thinned_id;     /* gg_profile_thin_memory() */
	bool walks_begin;       /* this round walks all processes */
	/* CLOCK_MONOTONIC: when all walks last began; processes walked before that are due */
	uint64_t walks_ns;
	uint64_t next_walks_ns;   /* CLOCK_MONOTONIC: when all walks may begin again */
	uint64_t longest_walk_ns; /* duration of the longest walk since walks_ns */
	uint64_t all_walks_ns;    /* duration of all walks since walks_ns */
};

/* Reads a round if one is due. */
int gg_memory_readings_watch(struct gg_memory_readings *readings, struct gg_process_set *set);

/* Reads a round now: writes a record for each process and one for the session. */
int gg_memory_readings_take(struct gg_memory_readings *readings, struct gg_process_set *set);

/* Reads the last round, with a last look at each process that lives on. */
int gg_memory_readings_end(struct gg_memory_readings *readings, struct gg_process_set *set);

/* Returns the kernel's maximum of a process's resident bytes (VmHWM); -1: unknown. */
int64_t gg_memory_readings_max_rss(pid_t pid);
