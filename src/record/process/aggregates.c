/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregates - writes what the totals of a region count beyond the known samples.
 */
#include "record/process/aggregates.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "record/process/ingest.h"
#include "region/reader/view.h"
#include "stats/estimate/tally.h"

/* True if the differences can be sums.  In a damaged region, totals may be below the samples. */
static bool are_sums(const struct gg_sums *sums)
{
	return sums->size_bytes <= INT64_MAX && gg_fixed_value(sums->count) >= 0 &&
	       gg_fixed_value(sums->count_variance) >= 0 && gg_fixed_value(sums->bytes) >= 0 &&
	       gg_fixed_value(sums->bytes_variance) >= 0;
}

/*
 * True if samples of a biased sampler may be among those of the stack: the region has such samples,
 * and they have frames of a runtime alone.
 */
static bool may_be_biased(struct gg_target *target, uint32_t node)
{
	struct gg_region_node record;

	if (target->reader.header.counters[GG_COUNT_BIASED] == 0)
		return false;
	return node < GG_STACK_FIRST ||
	       !gg_region_reader_read(&target->reader, GG_TABLE_STACKS, node, 1, &record) ||
	       gg_pc_is_frame(record.pc);
}

/*
 * Writes one aggregate; true: it was written, or is left out.  While the process runs, an event may
 * arrive after the view was taken, and its sample makes the difference negative.  In an open span
 * such sums wait for the next reconciliation; otherwise they count as damaged.
 */
static bool add_aggregate(struct gg_target *target, uint32_t node, uint32_t thread,
                          const struct gg_sums *sums, const struct gg_span *span)
{
	struct gg_profile_writer *writer = target->writer;
	struct gg_profile_aggregate aggregate = {
		.process = target->id,
		.from_ns = span->from_ns,
		.to_ns = span->to_ns,
		.bucket_ns = span->bucket_ns,
		.size_class = 255,
		.interval_bytes = target->record.interval_bytes,
		.sums = *sums,
		.lost = true,
		.is_shared = target->is_shared,
	};
	bool is_biased = may_be_biased(target, node);

	if (!are_sums(sums)) {
		if (span->is_open)
			target->has_aggregates_left = true;
		else
			target->bad_count++;
		return false;
	}
	if (target->leaves_out)
		return true;
	aggregate.thread = gg_ingest_thread(target, thread);
	aggregate.stack = gg_stack_map_stack(&target->stack_map, &target->reader, writer, node,
	                                     UINT64_MAX);
	if (is_biased)
		aggregate.unknown_errors = 1u << GG_BYTES | 1u << GG_ALLOCATIONS;
	writer->counts.biased_count += is_biased ? sums->sample_count : 0;
	writer->counts.lost_count += sums->sample_count;
	writer->counts.untimed_count += sums->sample_count;
	writer->counts.aggregated_sample_count += sums->sample_count;
	return gg_profile_writer_keep(writer, gg_profile_add_aggregate(writer->profile, &aggregate,
	                                                               writer->error)) == 0;
}

struct unseen_sums {
	uint32_t node, thread;
	/* allocated samples without an event; < 0: the region counts some in another row */
	int64_t sample_count;
	struct gg_sums sums;
};

static int compare_unseen(const void *a, const void *b)
{
	const struct unseen_sums *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static struct unseen_sums unseen_sums_of(uint32_t node, uint32_t thread,
                                         const struct gg_sums *total, const struct gg_sums *seen)
{
	struct unseen_sums unseen = { .node = node, .thread = thread, .sums = *total };

	gg_sums_subtract(&unseen.sums, seen);
	unseen.sample_count = (int64_t)unseen.sums.sample_count;
	return unseen;
}

/* Counts the sums as seen, so that the next aggregate does not contain them again. */
static void mark_seen(struct gg_target *target, const struct unseen_sums *unseen_sums)
{
	struct gg_seen *seen = gg_ingest_seen(target, unseen_sums->node, unseen_sums->thread);

	gg_sums_add(&target->seen_sums, &unseen_sums->sums);
	if (seen != NULL)
		gg_sums_add(&seen->sums, &unseen_sums->sums);
	else
		target->seen_is_full = true;
}

/*
 * Writes the unseen sums of one stack, one aggregate for each thread.  When site totals run out,
 * the region counts several threads in one row (folding).  Then single threads have negative
 * differences, and only the sum over all threads is right: it becomes one aggregate without a
 * thread.
 */
static void write_unseen(struct gg_target *target, const struct unseen_sums *unseen, uint32_t count,
                         const struct gg_span *span)
{
	struct gg_sums sum = { 0 };
	int64_t sample_count = 0;
	bool is_folded = false;

	gg_assert(count > 0);
	for (uint32_t i = 0; i < count; i++) {
		is_folded |= unseen[i].sample_count < 0;
		sample_count += unseen[i].sample_count;
		gg_sums_add(&sum, &unseen[i].sums);
	}
	if (is_folded && sample_count > 0 && add_aggregate(target, unseen[0].node, 0, &sum, span))
		for (uint32_t i = 0; i < count; i++)
			mark_seen(target, &unseen[i]);
	for (uint32_t i = 0; i < count && !is_folded; i++)
		if (unseen[i].sample_count > 0 &&
		    add_aggregate(target, unseen[i].node, unseen[i].thread, &unseen[i].sums, span))
			mark_seen(target, &unseen[i]);
}

/* True if the totals are of blocks that an ancestor allocated, whose samples stand for them. */
static bool is_ancestors(const struct gg_target *target, const struct gg_region_site_total *total)
{
	return target->tells_inherited && total->is_inherited == 1;
}

static struct gg_sums allocated_by(const struct gg_target *target,
                                   const struct gg_region_view *view)
{
	struct gg_sums sums = { 0 };

	for (uint32_t i = 0; i < view->site_total_count; i++)
		if (!is_ancestors(target, &view->site_totals[i]))
			gg_sums_add(&sums, &view->site_totals[i].allocated);
	return sums;
}

/*
 * Writes one aggregate for all stacks.  Once `seen` is full, no stack's own difference is known,
 * but the sums over all stacks still are.
 */
static int put_aggregate_sum(struct gg_target *target, const struct gg_region_view *view,
                             const struct gg_span *span)
{
	struct gg_sums rest = allocated_by(target, view);

	gg_sums_subtract(&rest, &target->seen_sums);
	if ((int64_t)rest.sample_count <= 0)
		return 0;
	if (add_aggregate(target, GG_STACK_EMPTY, 0, &rest, span))
		gg_sums_add(&target->seen_sums, &rest);
	return target->writer->status;
}

int gg_aggregates_write(struct gg_target *target, const struct gg_region_view *view,
                        const struct gg_span *span)
{
	static const struct gg_sums nothing;
	uint32_t most = view->site_total_count + target->seen.count, count = 0;
	struct unseen_sums *unseen = calloc(most > 0 ? most : 1, sizeof(*unseen));
	uint8_t *used = calloc(target->seen.count + 1, 1);

	if (target->seen_is_full) {
		free(unseen);
		free(used);
		return put_aggregate_sum(target, view, span);
	}
	if (unseen == NULL || used == NULL) {
		free(unseen);
		free(used);
		return gg_profile_writer_keep(target->writer, -ENOMEM);
	}
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *row = &view->site_totals[i];
		uint64_t key = (uint64_t)row->stack << 16 | (row->thread & 0xffff);
		uint64_t seen = gg_map_get(&target->seen_map, key);
		bool is_first = seen != GG_MAP_NONE && !used[seen];

		if (is_ancestors(target, row))
			continue;
		if (is_first)
			used[seen] = 1;
		unseen[count] = unseen_sums_of(row->stack, row->thread, &row->allocated,
		                               is_first ? &target->seen.items[seen].sums
		                                        : &nothing);
		count += unseen[count].sample_count != 0 || unseen[count].sums.size_bytes != 0;
	}
	for (uint32_t i = 0; i < target->seen.count; i++)
		if (!used[i])
			unseen[count++] = unseen_sums_of(target->seen.items[i].node,
			                                 target->seen.items[i].thread, &nothing,
			                                 &target->seen.items[i].sums);
	gg_assert(count <= most);
	qsort(unseen, count, sizeof(*unseen), compare_unseen);
	for (uint32_t i = 0, end; i < count; i = end) {
		if (i % 1024 == 0)
			gg_profile_writer_progress(target->writer);
		for (end = i + 1; end < count && unseen[end].node == unseen[i].node;)
			end++;
		write_unseen(target, unseen + i, end - i, span);
	}
	free(unseen);
	free(used);
	return target->writer->status;
}

uint64_t gg_aggregates_inherited_unseen(const struct gg_target *target,
                                        const struct gg_region_view *view)
{
	uint64_t count = view->header.counters[GG_COUNT_INHERITED];

	if (target->tells_inherited)
		return 0;
	return count > target->inherited_count ? count - target->inherited_count : 0;
}

bool gg_aggregates_rest_is_inherited(const struct gg_target *target,
                                     const struct gg_region_view *view)
{
	struct gg_sums rest = gg_region_view_totals(view).allocated;
	uint64_t freed_count;

	if (target->reader.header.inherited_below_id == 0)
		return false;
	freed_count = gg_aggregates_inherited_unseen(target, view);
	gg_sums_subtract(&rest, &target->seen_sums);
	return freed_count > 0 && rest.sample_count == freed_count;
}

bool gg_aggregates_has_only_inherited(struct gg_target *target, const struct gg_region_view *view)
{
	if (gg_aggregates_rest_is_inherited(target, view))
		return true;
	if (target->reader.header.inherited_below_id == 0 ||
	    gg_aggregates_inherited_unseen(target, view) == 0)
		return false;
	target->is_shared = true;
	target->writer->counts.shared_count++;
	return false;
}

int gg_aggregates_leave_out(struct gg_target *target, const struct gg_region_view *view)
{
	const struct gg_span span = { 0 };
	int status;

	target->leaves_out = true;
	status = gg_aggregates_write(target, view, &span);
	target->leaves_out = false;
	return status;
}
