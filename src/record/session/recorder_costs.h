/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_costs - divides the recorder's processor time among the processes of a session, so that
 * an overhead that was asked for (--overhead) includes it.
 *
 * Each agent holds the share in its own process and knows nothing of others.  The recorder knows all
 * of them, and tells each agent by a word of its region (struct gg_region_recorder) what to pay for
 * beside its own samples.  Then the sum over all processes and the recorder has the share as well:
 *
 *   samples    the recorder measures what it needs for one, and an agent counts that for each of its
 *              samples at once, so its interval is right before any bill arrives
 *   the rest   what the recorder has used and what its end will take (RESERVE), less what the agents
 *              have counted for samples; it may be negative
 *   debts      what a process that has ended was over its share, by its start for instance
 *
 * The last two are the pot.  It is divided in proportion to the processor time that each program has
 * used since the last time; nothing is charged to a program that does not run.
 *
 * Frugal     The recorder's own work that does not follow samples, such as readings of memory, has
 *            longer pauses: gg_recorder_costs_frugality().
 * Cost       CHARGE_NS apart: a system call for the recorder's time and two for each process.
 * Threads    one owner.
 */
#pragma once

#include <stdint.h>

#include "record/process/process_set.h"

/* All zero: nothing was charged yet. */
struct gg_recorder_costs {
	uint64_t next_ns;    /* CLOCK_MONOTONIC */
	uint64_t used_ns;    /* the recorder's processor time that is in the pot already */
	double reserved_ns;  /* what the end will take, likewise */
	double pot_ns;       /* not charged to any process yet */
	double samples_ns;   /* time for the last samples ... */
	double sample_count; /* ... and how many these were */
	double children_ns;  /* processor time of children of the recorder's own */
	uint32_t
		least_share_ppm; /* the smallest share that a living process has to hold; 0: none */
	uint32_t
		default_share_ppm; /* that new processes will have, by the settings of the session */
};

/* Adds the time that these new samples took to be stored. */
void gg_recorder_costs_add_samples(struct gg_recorder_costs *costs, uint64_t took_ns,
                                   uint64_t count);

/* Charges the processes, if that is due and if one of them has to hold an overhead. */
void gg_recorder_costs_charge(struct gg_recorder_costs *costs, struct gg_process_set *set);

/* A process has ended with these counters; `charged_ns` was charged to it. */
void gg_recorder_costs_take_debt(struct gg_session_counts *counts,
                                 const struct gg_region_header *header, int64_t charged_ns);

/*
 * Between the two, the recorder has children of its own, whose time counts as well.  The time of the
 * command does not.
 */
void gg_recorder_costs_begin_children(struct gg_recorder_costs *costs);
void gg_recorder_costs_end_children(struct gg_recorder_costs *costs);

/* Returns what the recorder has used, and what it will use to finish the profile. */
double gg_recorder_costs_at_end(const struct gg_recorder_costs *costs,
                                const struct gg_session_counts *counts);

/* By how much pauses are to be longer than without an overhead: 1 to 20. */
double gg_recorder_costs_frugality(const struct gg_recorder_costs *costs);
