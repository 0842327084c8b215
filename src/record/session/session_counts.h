/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_counts - what a session has recorded and what it has lost, for the closing line and the
 * notes of a profile (diagnose/notes.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gg_session_counts {
	uint64_t sample_count; /* samples in the profile, without inherited ones */
	uint64_t biased_count; /* samples of a sampler that is known to be biased */
	uint64_t orphan_count; /* inherited blocks among them that are no ancestor's sample */
	uint64_t exact_count;  /* allocations of processes with exact counts */
	uint64_t aggregated_sample_count; /* samples that aggregates count */
	/* samples and aggregated samples with unknown times, without orphans */
	uint64_t untimed_count;
	/* changes that were found without their events, also of inherited samples */
	uint64_t lost_count;
	uint64_t dropped_count, dropped_event_count, damaged_count;
	/* forked processes without a region, as their parents counted them */
	uint64_t lost_child_count;
	/* idle children of which nobody knows all that they held (process/idle_children.h) */
	uint64_t unseen_child_count;
	uint64_t unnoted_child_count; /* forked processes that could not note their forks */
	uint64_t collections_count;   /* reports of garbage collectors (process/collections.h) */
	uint32_t process_count, off_count; /* all processes; those that were off at their end */
	uint32_t shared_count; /* forked processes that freed blocks they may have inherited */
	uint64_t taken_count;  /* all samples, including those in totals alone */
	double interval_most;  /* the largest sampling interval that a process was exposed to */
	/* Sums over processes whose interval followed the overhead (runtime/overhead_budget.h). */
	uint64_t program_ns, sampling_ns, hooks_ns, recorder_ns, interval_change_count;
	double unpaid_ns;        /* what ended processes were over their share (recorder_costs.h) */
	uint32_t overhead_ppm;   /* the largest share that one of them was to hold; 0: none */
	uint32_t error_ppm;      /* the largest error, likewise */
	bool counts_allocations; /* the interval counts allocations, not bytes */
};
