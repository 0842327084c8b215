/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc_fast_runs - joins neighboring free chunks (look/glibc_fast_runs.h).
 */
#include "record/look/glibc_fast_runs.h"

#include <errno.h>

#include "base/binary_search.h"

static uint64_t end_of(const struct gg_glibc_fast_mark *mark)
{
	return mark->chunk + (uint64_t)mark->size * GG_GLIBC_UNIT_BYTES;
}

/* Returns the begin of the free memory before a chunk; without such memory, the chunk itself. */
static uint64_t begin_before(const struct gg_glibc_fast_mark *mark)
{
	return mark->chunk - (uint64_t)mark->free_before * GG_GLIBC_UNIT_BYTES;
}

static uint64_t end_behind(const struct gg_glibc_fast_mark *mark, const struct gg_glibc_heap *heap)
{
	return mark->is_before_top
	               ? heap->end
	               : end_of(mark) + (uint64_t)mark->free_after * GG_GLIBC_UNIT_BYTES;
}

bool gg_glibc_fast_runs_next(struct gg_glibc_fast_run *run, const struct gg_glibc_fast_bins *bins,
                             const struct gg_glibc_heaps *heaps)
{
	const struct gg_glibc_fast_mark *marks = bins->marks.items;
	size_t at = run->end;

	while (at < bins->marks.count && !marks[at].is_member)
		at++;
	if (at == bins->marks.count)
		return false;
	run->first = at;
	run->gap = (struct gg_glibc_free){ .begin = begin_before(&marks[at]),
		                           .heap = gg_glibc_heaps_at(heaps, marks[at].chunk) };
	do {
		run->gap.end = end_behind(&marks[at], run->gap.heap);
		run->gap.is_top = marks[at].is_before_top;
		at++;
	} while (at < bins->marks.count && marks[at].is_member &&
	         begin_before(&marks[at]) <= run->gap.end && marks[at].chunk < run->gap.heap->end);
	run->end = at;
	return true;
}

static void subtract(struct gg_glibc_free_sums *sums, const struct gg_glibc_free_sums *other)
{
	sums->pinned_bytes -= other->pinned_bytes;
	sums->returnable_bytes -= other->returnable_bytes;
	sums->top_bytes -= other->top_bytes;
	sums->trimmable_bytes -= other->trimmable_bytes;
}

/* Takes away what the walk counted for a part of the run. */
static int subtract_part(struct gg_glibc_free_sums *sums, const struct gg_glibc_free *part,
                         struct gg_residency *residency)
{
	struct gg_glibc_free_sums counted;
	int status;

	if (part->begin >= part->end)
		return 0;
	status = gg_glibc_free_count(&counted, part, residency);
	if (status == 0)
		subtract(sums, &counted);
	return status;
}

/* Counts a run as one gap, less the gaps in it that the walk knew. */
static int count_run(struct gg_glibc_free_sums *ret, const struct gg_glibc_fast_run *run,
                     const struct gg_glibc_fast_mark *marks, struct gg_residency *residency)
{
	struct gg_glibc_free part = { .heap = run->gap.heap };
	uint64_t done = run->gap.begin;
	int status = gg_glibc_free_count(ret, &run->gap, residency);

	for (size_t i = run->first; i < run->end && status == 0; i++) {
		part.begin = done;
		part.end = marks[i].chunk;
		status = subtract_part(ret, &part, residency);
		done = end_of(&marks[i]);
	}
	part.begin = done;
	part.end = run->gap.end;
	part.is_top = run->gap.is_top;
	return status == 0 ? subtract_part(ret, &part, residency) : status;
}

static int count_chunks(struct gg_glibc_fast_sums *sums, const struct gg_glibc_fast_run *run,
                        const struct gg_glibc_fast_mark *marks, struct gg_residency *residency)
{
	struct gg_residency_counts counts;
	int status = 0;

	for (size_t i = run->first; i < run->end && status == 0; i++) {
		status = gg_residency_count(residency, marks[i].chunk + GG_GLIBC_WORD_BYTES,
		                            end_of(&marks[i]) + GG_GLIBC_WORD_BYTES, &counts);
		if (status < 0)
			break;
		sums->fast_bytes += counts.resident_bytes;
		sums->extent_bytes += (int64_t)marks[i].size * GG_GLIBC_UNIT_BYTES;
		sums->chunk_count++;
	}
	return status;
}

int gg_glibc_fast_runs_count(struct gg_glibc_fast_sums *ret, struct gg_glibc_fast_gaps *gaps,
                             const struct gg_glibc_fast_bins *bins,
                             const struct gg_glibc_heaps *heaps, struct gg_residency *residency)
{
	struct gg_glibc_fast_run run = { 0 };
	struct gg_glibc_fast_sums sums = { 0 };
	int status = 0;

	while (status == 0 && gg_glibc_fast_runs_next(&run, bins, heaps)) {
		struct gg_glibc_free_sums free;

		status = count_run(&free, &run, bins->marks.items, residency);
		if (status == 0)
			status = count_chunks(&sums, &run, bins->marks.items, residency);
		if (status == 0 && !gg_array_push(&gaps->items, run.gap))
			status = -ENOMEM;
		if (status < 0)
			break;
		sums.free.pinned_bytes += free.pinned_bytes;
		sums.free.returnable_bytes += free.returnable_bytes;
		sums.free.top_bytes += free.top_bytes;
		sums.free.trimmable_bytes += free.trimmable_bytes;
		if (run.gap.heap->arena != 0)
			sums.arena_bytes += free.pinned_bytes + free.returnable_bytes;
	}
	*ret = sums;
	return status;
}

const struct gg_glibc_free *gg_glibc_fast_gaps_from(const struct gg_glibc_fast_gaps *gaps,
                                                    uint64_t address)
{
	const struct gg_glibc_free *items = gaps->items.items;
	size_t found = gg_lower_bound(0, gaps->items.count, i, items[i].begin < address);

	return found < gaps->items.count && items[found].begin == address ? &items[found] : NULL;
}

const struct gg_glibc_free *gg_glibc_fast_gaps_to(const struct gg_glibc_fast_gaps *gaps,
                                                  uint64_t address)
{
	const struct gg_glibc_free *items = gaps->items.items;
	size_t found = gg_lower_bound(0, gaps->items.count, i, items[i].end < address);

	return found < gaps->items.count && items[found].end == address && !items[found].is_top
	               ? &items[found]
	               : NULL;
}

void gg_glibc_fast_gaps_done(struct gg_glibc_fast_gaps *gaps)
{
	gg_array_done(&gaps->items);
}
