/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_samples - the memory allocated and freed up to each of several moments, by pid, heap and
 * stack.
 *
 *   struct gg_timeline_samples *steps;
 *
 *   if (gg_timeline_samples_make(&steps, extract, 60, error) < 0)
 *           return error->status;
 *   while (gg_timeline_samples_next(steps))
 *           for (size_t i = 0; i < steps->changed_count; i++)
 *                   entry = &steps->entries[steps->changed[i]];
 *   gg_timeline_samples_free(steps);
 *
 * An entry has whole numbers that never fall from step to step and end at the numbers of the
 * extract's rows.  Freed is never more than allocated.  Processes with the same pid (before and
 * after exec) share an entry.
 */
#pragma once

#include "format/export/extract_blocks.h"

struct gg_timeline_entry {
	uint32_t process, heap, stack; /* process: the first of its pid */
	uint64_t allocated_bytes, allocated_count, freed_bytes, freed_count; /* up to now */
	/* For gg_timeline_samples_next(). */
	uint64_t last_bytes, last_count, last_freed_bytes, last_freed_count; /* at the end */
	double bytes, count, gone_bytes, gone_count;                         /* up to now */
	double all_bytes, all_count, all_gone_bytes, all_gone_count;         /* at the end */
	bool is_changed;
};

struct gg_timeline_samples {
	const struct gg_extract *extract;
	int64_t now_ns;                    /* the moment of the step */
	struct gg_timeline_entry *entries; /* by heap, process, stack */
	size_t entry_count;
	uint32_t *changed; /* the entries that the step changed, in the same order */
	size_t changed_count;
	/* For gg_timeline_samples_next(). */
	size_t step, step_count;
	struct gg_extract_block *blocks; /* their `process` is the number of an entry */
	uint32_t *by_end;                /* numbers of freed blocks, sorted by time */
	size_t block_count, end_count, next_block, next_end;
	uint32_t *process_of; /* by process: the first process with the same pid */
};

/* The last step is at the end of the extract. step_count is at least 1. */
GG_MUST_CHECK int gg_timeline_samples_make(struct gg_timeline_samples **ret_steps,
                                           const struct gg_extract *extract, size_t step_count,
                                           struct gg_error *error);
bool gg_timeline_samples_next(
	struct gg_timeline_samples *steps); /* false: the previous step was the last one */
void gg_timeline_samples_free(struct gg_timeline_samples *steps);
