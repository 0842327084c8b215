/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_costs - divides the recorder's processor time among the processes of a session.
 *
 * So the overhead that `geiger record --overhead` holds includes the recorder.  Each agent holds
 * the share in its own process and knows nothing of other processes.  The recorder knows all of
 * them, and a word of each region (struct gg_region_recorder) tells the agent what to pay for
 * beside its own samples.  Then the sum over all processes and the recorder has the share.
 *
 * Samples    The recorder measures what it needs for one, and an agent counts that for each of its
 *            samples at once, so its interval is right before any bill arrives.
 * Pot        Everything else: what the recorder has used and what its end will take, less what the
 *            agents have counted for samples (it may be negative); and the debts of processes that
 *            have ended (process/process_debt.h).  The pot is divided in proportion to the
 *            processor time that each program has used since the last time.  A program that does
 *            not run pays nothing.
 * Frugal     The recorder's own work that does not follow samples, such as readings of memory, has
 *            longer pauses: gg_recorder_costs_frugality().
 * Cost       CHARGE_NS apart: a system call for the recorder's time and two for each process.
 * Threads    one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/process/process_set.h"

/* All zero: nothing was charged yet. */
struct gg_recorder_costs {
	uint64_t next_ns;         /* CLOCK_MONOTONIC */
	uint64_t used_ns;         /* the recorder's processor time that is in the pot already */
	double reserved_ns;       /* what the end will take, likewise */
	double pot_ns;            /* not charged to any process yet */
	double samples_ns;        /* time for the last samples ... */
	double sample_count;      /* ... and how many these were */
	uint64_t committed_count; /* samples that the last commit had */
	bool has_charged;
	double more_frugality; /* beyond that of the share; 0 and 1: none */
	double children_ns;    /* processor time of children of the recorder's own */
	uint32_t
		least_share_ppm; /* the smallest share that a living process has to hold; 0: none */
	uint32_t default_share_ppm; /* of new processes, by the settings of the session */
};

/* Adds the time that these new samples took to be stored. */
void gg_recorder_costs_add_samples(struct gg_recorder_costs *costs, uint64_t took_ns,
                                   uint64_t count);

/* Adds the time of a commit, which writes what new samples have left in memory. */
void gg_recorder_costs_add_commit(struct gg_recorder_costs *costs, uint64_t took_ns,
                                  uint64_t sample_count);

/* Charges the processes, if that is due and if one of them has to hold an overhead. */
void gg_recorder_costs_charge(struct gg_recorder_costs *costs, struct gg_process_set *set);

/*
 * Between the two, the recorder has children of its own, whose time counts as well.  The time of
 * the command does not.
 */
void gg_recorder_costs_begin_children(struct gg_recorder_costs *costs);
void gg_recorder_costs_end_children(struct gg_recorder_costs *costs);

/* Returns what the recorder has used, and what it will use to finish the profile. */
double gg_recorder_costs_at_end(const struct gg_recorder_costs *costs,
                                const struct gg_session_counts *counts);

/* By how much pauses are to be longer than without an overhead: 1 to 400. */
double gg_recorder_costs_frugality(const struct gg_recorder_costs *costs);

/* The pause between two commits: 1 to 5 s.  A recorder that is killed loses what it did since. */
int64_t gg_recorder_costs_commit_pause_ns(const struct gg_recorder_costs *costs);
