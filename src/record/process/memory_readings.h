/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_readings - what the kernel says that processes use, beside what the profile estimates.
 *
 * A round reads all processes of the session at nearly one moment, so that its numbers can be compared
 * with each other and with the heap of that moment.  Rounds come early and often at first, as most
 * programs end soon: after 20 ms, then less and less often, down to each second.  Besides, when the
 * live estimate reaches a new high by 5 %, and again 50 ms later, when the program may have touched its
 * new memory: at most some 300 times from a MiB to a TiB.
 *
 * Status    resident pages by kind and the kernel's own maximum (/proc/PID/status) cost the process
 *           nothing, and 20 us here.
 * Walks     proportional sizes and the parts by mapping (/proc/PID/smaps) walk through its page tables
 *           under a lock that its mmap() waits for.  All processes are walked in one round, since
 *           sums need that, and again when 500 times of what the longest walk took are over: at most
 *           0.2 % of the time of each.  Where a process began since, and there are several, all are
 *           walked anew after 100 times, and 25 times of what all took: at most 1 % of the time of
 *           each, and 4 % of a processor, while processes begin.  Of 30 processes that
 *           share 40 MB, all walks take some 15 ms together, the longest 0.6 ms; smaps_rollup saves
 *           a tenth of that and has no parts.  Between, a new process is walked once it is so old
 *           that this is at most 1 % of its life, by a guess.
 * Cost      walks of one round end after some 10 ms of processor time, 40 ms where all are walked: the
 *           rest follows in the next rounds, and then the sum is an upper bound.  A round that took t is not repeated for growth's sake within 50 t.
 */
#pragma once

#include "record/process/process_set.h"

/* All zero: nothing was read yet. */
struct gg_memory_rounds {
	int64_t next_ns;          /* session time: when a round is due */
	int64_t last_ns;          /* of the last one */
	int64_t cost_ns;          /* that it took */
	double most_live_bytes;   /* at any round */
	bool walks_begin;         /* all are walked in this round */
	uint64_t walks_ns;        /* CLOCK_MONOTONIC: who was walked before is walked again */
	uint64_t next_walks_ns;   /* when that may begin anew */
	uint64_t longest_walk_ns; /* of those since */
	uint64_t all_walks_ns;    /* that those since took together */
};

/* Reads a round, if it is time to. */
int gg_memory_watch(struct gg_memory_rounds *rounds, struct gg_process_set *set);

/* Reads a round now: a record for each process, and one for the session. */
int gg_memory_read(struct gg_memory_rounds *rounds, struct gg_process_set *set);

/* The kernel's maximum of a process (VmHWM); -1: not known. */
int64_t gg_memory_max_rss(pid_t pid);
