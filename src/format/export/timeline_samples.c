/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_samples - replays the blocks of an extract in evenly spaced steps. */
#include "format/export/timeline_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"

static int compare_entries(const void *a, const void *b)
{
	const struct gg_timeline_entry *left = a, *right = b;

	if (left->heap != right->heap)
		return left->heap < right->heap ? -1 : 1;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static int find_processes(struct gg_timeline_samples *steps)
{
	const struct gg_profile_process *processes = steps->extract->model->processes;

	steps->process_of = calloc(steps->extract->model->process_count,
	                           sizeof(*steps->process_of));
	if (steps->process_of == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < steps->extract->model->process_count; i++) {
		size_t first = 1;

		while (processes[first].pid != processes[i].pid)
			first++;
		steps->process_of[i] = (uint32_t)first;
	}
	return 0;
}

/* Makes the entries of all blocks and rows, sorted and without duplicates. */
static int make_entries(struct gg_timeline_samples *steps)
{
	const struct gg_extract *extract = steps->extract;
	size_t count = steps->block_count + extract->row_count, kept = 0;

	steps->entries = calloc(count + 1, sizeof(*steps->entries));
	steps->changed = calloc(count + 1, sizeof(*steps->changed));
	if (steps->entries == NULL || steps->changed == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < steps->block_count; i++)
		steps->entries[i] = (struct gg_timeline_entry){
			.process = steps->process_of[steps->blocks[i].process],
			.heap = gg_extract_heap(extract, steps->blocks[i].kind),
			.stack = steps->blocks[i].stack,
		};
	for (size_t i = 0; i < extract->row_count; i++)
		steps->entries[steps->block_count + i] = (struct gg_timeline_entry){
			.process = steps->process_of[extract->rows[i].process],
			.heap = gg_extract_heap(extract, extract->rows[i].kind),
			.stack = extract->rows[i].stack,
		};
	qsort(steps->entries, count, sizeof(*steps->entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 ||
		    compare_entries(&steps->entries[kept - 1], &steps->entries[i]) != 0)
			steps->entries[kept++] = steps->entries[i];
	steps->entry_count = kept;
	return 0;
}

static struct gg_timeline_entry *find_entry(const struct gg_timeline_samples *steps,
                                            uint32_t process, uint32_t kind, uint32_t stack)
{
	const struct gg_timeline_entry key = {
		.process = steps->process_of[process],
		.heap = gg_extract_heap(steps->extract, kind),
		.stack = stack,
	};

	return bsearch(&key, steps->entries, steps->entry_count, sizeof(key), compare_entries);
}

static int find_ends(struct gg_timeline_samples *steps)
{
	if (gg_extract_ends(steps->blocks, steps->block_count, &steps->by_end, &steps->end_count) <
	    0)
		return -ENOMEM;
	for (size_t i = 0; i < steps->block_count; i++) {
		struct gg_extract_block *block = &steps->blocks[i];
		struct gg_timeline_entry *entry = find_entry(steps, block->process, block->kind,
		                                             block->stack);

		gg_assert(entry != NULL); /* make_entries() has made one for each block */
		block->process = (uint32_t)(entry - steps->entries);
		entry->all_bytes += block->bytes;
		entry->all_count += block->count;
		if (block->free_ns == GG_TIME_NONE)
			continue;
		entry->all_gone_bytes += block->bytes;
		entry->all_gone_count += block->count;
	}
	return 0;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Finds the final numbers of each entry.  If the extract begins with the profile, the rows have
 * them.  In a later window the rows lack the blocks from before it, so the blocks provide the
 * numbers.
 */
static void find_last(struct gg_timeline_samples *steps)
{
	const struct gg_extract *extract = steps->extract;
	bool has_begin = extract->query.from_ns <= 0;

	for (size_t i = 0; i < extract->row_count && has_begin; i++) {
		const struct gg_extract_row *row = &extract->rows[i];
		struct gg_timeline_entry *entry = find_entry(steps, row->process, row->kind,
		                                             row->stack);

		/* If more is live than was allocated, the process inherited it at its fork. */
		entry->last_bytes += most(row->allocated.bytes, row->live.bytes);
		entry->last_count += most(row->allocated.count, row->live.count);
		entry->last_freed_bytes += most(row->allocated.bytes, row->live.bytes) -
		                           row->live.bytes;
		entry->last_freed_count += most(row->allocated.count, row->live.count) -
		                           row->live.count;
	}
	for (size_t i = 0; i < steps->entry_count; i++) {
		struct gg_timeline_entry *entry = &steps->entries[i];

		if (has_begin && entry->last_count > 0)
			continue;
		entry->last_bytes = gg_extract_whole(entry->all_bytes);
		entry->last_count = gg_extract_whole(entry->all_count);
		entry->last_freed_bytes = gg_extract_whole(entry->all_gone_bytes);
		entry->last_freed_count = gg_extract_whole(entry->all_gone_count);
	}
}

int gg_timeline_samples_make(struct gg_timeline_samples **ret_steps,
                             const struct gg_extract *extract, size_t step_count,
                             struct gg_error *error)
{
	struct gg_timeline_samples *steps = calloc(1, sizeof(*steps));
	int status;

	if (steps == NULL)
		return gg_error_memory(error, "export");
	steps->extract = extract;
	steps->step_count = step_count;
	status = gg_extract_blocks(extract, &steps->blocks, &steps->block_count, error);
	if (status == 0 &&
	    (find_processes(steps) < 0 || make_entries(steps) < 0 || find_ends(steps) < 0))
		status = gg_error_memory(error, "export");
	if (status < 0) {
		gg_timeline_samples_free(steps);
		return status;
	}
	find_last(steps);
	*ret_steps = steps;
	return 0;
}

void gg_timeline_samples_free(struct gg_timeline_samples *steps)
{
	if (steps == NULL)
		return;
	free(steps->entries);
	free(steps->changed);
	free(steps->blocks);
	free(steps->by_end);
	free(steps->process_of);
	free(steps);
}

/* Returns the share of the last number that is reached by now; all of it at the end. */
static uint64_t part_of(uint64_t last, double now, double all)
{
	double part = all > 0 && now < all * (1 - 1e-12) ? floor((double)last * (now / all))
	                                                 : (double)last;

	return now > 0 ? (part < 0x1p63 ? (uint64_t)part : UINT64_C(1) << 63) : 0;
}

/*
 * Computes the whole numbers of an entry at this step.  They grow in proportion to the estimates
 * and reach the final whole numbers at the last step, so the last dump equals the rows of the
 * extract.
 */
static void update_entry(struct gg_timeline_entry *entry)
{
	entry->allocated_bytes = part_of(entry->last_bytes, entry->bytes, entry->all_bytes);
	entry->allocated_count = part_of(entry->last_count, entry->count, entry->all_count);
	entry->freed_bytes = part_of(entry->last_freed_bytes, entry->gone_bytes,
	                             entry->all_gone_bytes);
	entry->freed_count = part_of(entry->last_freed_count, entry->gone_count,
	                             entry->all_gone_count);
	if (entry->freed_bytes > entry->allocated_bytes)
		entry->freed_bytes = entry->allocated_bytes;
	if (entry->freed_count > entry->allocated_count)
		entry->freed_count = entry->allocated_count;
}

bool gg_timeline_samples_next(struct gg_timeline_samples *steps)
{
	const struct gg_extract *extract = steps->extract;
	bool is_last = steps->step + 1 == steps->step_count;
	double share = (double)(steps->step + 1) / (double)steps->step_count;

	if (steps->step++ == steps->step_count)
		return false;
	steps->now_ns = is_last ? extract->end_ns
	                        : extract->start_ns +
	                                  (int64_t)((double)(extract->end_ns - extract->start_ns) *
	                                            share);
	for (; steps->next_block < steps->block_count; steps->next_block++) {
		const struct gg_extract_block *block = &steps->blocks[steps->next_block];
		struct gg_timeline_entry *entry = &steps->entries[block->process];

		if (block->alloc_ns > steps->now_ns && !is_last)
			break;
		entry->bytes += block->bytes;
		entry->count += block->count;
		entry->is_changed = true;
	}
	for (; steps->next_end < steps->end_count; steps->next_end++) {
		const struct gg_extract_block *block =
			&steps->blocks[steps->by_end[steps->next_end]];
		struct gg_timeline_entry *entry = &steps->entries[block->process];

		if (block->free_ns > steps->now_ns && !is_last)
			break;
		entry->gone_bytes += block->bytes;
		entry->gone_count += block->count;
		entry->is_changed = true;
	}
	steps->changed_count = 0;
	for (size_t i = 0; i < steps->entry_count; i++) {
		if (!steps->entries[i].is_changed)
			continue;
		steps->entries[i].is_changed = false;
		update_entry(&steps->entries[i]);
		steps->changed[steps->changed_count++] = (uint32_t)i;
	}
	return true;
}
