/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_samples - what was allocated and freed until each of some moments, by pid, heap and stack.
 *
 *   struct gg_timeline_samples *steps;
 *
 *   if (gg_timeline_samples_make(&steps, extract, 60, error) < 0)
 *           return error->code;
 *   while (gg_timeline_samples_next(steps))
 *           for (size_t i = 0; i < steps->changed_count; i++)
 *                   entry = &steps->entries[steps->changed[i]];
 *   gg_timeline_samples_free(steps);
 *
 * An entry's numbers are whole, never fall from step to step, and end as those of the extract's rows;
 * freed is never more than allocated.  Processes with one pid (before and after exec) are one.
 */
#pragma once

#include "format/export/extract.h"

struct gg_timeline_entry {
	uint32_t process, heap, stack; /* process: the first of its pid */
	uint64_t allocated_bytes, allocated_count, freed_bytes, freed_count; /* until now */
	/* For gg_timeline_samples_next(). */
	uint64_t last_bytes, last_count, last_freed_bytes, last_freed_count; /* at the end */
	double bytes, count, gone_bytes, gone_count;                         /* until now */
	double all_bytes, all_count, all_gone_bytes, all_gone_count;         /* at the end */
	bool is_changed;
};

struct gg_timeline_samples {
	const struct gg_extract *extract;
	int64_t now_ns;                    /* of the step */
	struct gg_timeline_entry *entries; /* by heap, process, stack */
	size_t entry_count;
	uint32_t *changed; /* in the same order: what the step changed */
	size_t changed_count;
	/* For gg_timeline_samples_next(). */
	size_t step, step_count;
	struct gg_extract_block *blocks; /* their `process` is an entry's number */
	uint32_t *by_end;                /* blocks that were freed, by when */
	size_t block_count, end_count, next_block, next_end;
	uint32_t *process_of; /* first process of each one's pid */
};

/* The last step is at the end of the extract; step_count >= 1. */
GG_MUST_CHECK int gg_timeline_samples_make(struct gg_timeline_samples **ret_steps,
                                           const struct gg_extract *extract, size_t step_count,
                                           struct gg_error *error);
bool gg_timeline_samples_next(struct gg_timeline_samples *steps); /* false: that was the last one */
void gg_timeline_samples_free(struct gg_timeline_samples *steps);
