/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited - the samples that a forked process inherited from its parent.
 *
 * A block that several processes hold counts once.  So each inherited sample refers to the sample
 * that the ancestor allocated.  Three things can hide that sample:
 *
 *   1. Events of the ancestor may still wait in its ring.  So its ring is read first.
 *   2. Events of the ancestor may be lost.  So its region is read first; its live samples become
 *      samples of the ancestor.
 *   3. The ancestor may have freed the block before the recorder saw it.  Then the block has no
 *      sample, and an aggregate counts it.  The first process that reports the block stands for it
 *      (an "orphan"), and all processes that inherited the block refer to that process's sample.
 *   4. The ancestor may have freed the block long ago, while the child was idle and had no region.
 *      Then the profile is searched for the sample (process/forgotten.h).
 *
 * In the last case the child alone held the block from that free on.  So a forked process begins
 * with its fork, and not with its region.
 */
#include "record/process/inherited.h"

#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/forgotten.h"
#include "record/process/ingest.h"
#include "record/process/origins.h"
#include "record/process/reconcile.h"
#include "region/reader/view.h"

enum { COMPARED_MAX = 16 }; /* inherited samples that are compared with each process */

#define IDLE_NS (100 * GG_NS_PER_MS) /* a child that takes longer to its region was idle */

/* Finds the nearest ancestor in the set by what the regions tell; NULL: all are forgotten. */
static struct gg_target *find_told_ancestor(const struct gg_target *target)
{
	const struct gg_lineage *lineage = &target->set->lineage;
	uint32_t number = gg_lineage_at(lineage, target->lineage)->ancestor;

	for (; number != 0; number = gg_lineage_at(lineage, number)->ancestor)
		for (struct gg_target *other = target->set->first; other != NULL;
		     other = other->next)
			if (other->lineage == number)
				return other;
	return NULL;
}

/*
 * Finds the process whose samples a forked process inherited, if its region does not tell.  That
 * is usually its parent; but the parent may have had no region or have executed another program.
 * So a process scores by how many of the inherited samples it held, and being the parent decides
 * only between equals.
 */
static struct gg_target *guess_ancestor(const struct gg_target *target,
                                        const struct gg_region_view *view)
{
	struct gg_target *best = NULL;
	uint32_t best_score = 0;

	for (struct gg_target *other = target->set->first; other != NULL; other = other->next) {
		uint32_t score = other->pid == target->reader.header.parent_pid, compared = 0;

		if (other == target)
			continue;
		for (uint32_t i = 0; i < view->live_count && compared < COMPARED_MAX; i++) {
			if (!gg_target_is_inherited(target, &view->live[i]))
				continue;
			compared++;
			score += gg_origins_holds(other, &view->live[i]) ? 2 : 0;
		}
		if (score > best_score) {
			best = other;
			best_score = score;
		}
	}
	return best;
}

static struct gg_target *find_ancestor(const struct gg_target *target,
                                       const struct gg_region_view *view)
{
	return gg_lineage_is_told(&target->reader.header) ? find_told_ancestor(target)
	                                                  : guess_ancestor(target, view);
}

static bool has_all_origins(const struct gg_target *target, const struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (gg_target_is_inherited(target, &view->live[i]) &&
		    gg_origins_find(target, &view->live[i]) == GG_PROFILE_WRITER_NO_ORIGIN)
			return false;
	return true;
}

static bool is_ancestor(const struct gg_target *target, const struct gg_target *other)
{
	const struct gg_target *ancestor = target->ancestor;

	while (ancestor != NULL && ancestor != other)
		ancestor = ancestor->ancestor;
	return ancestor != NULL;
}

/*
 * True if the region of `other` must be read because its history may hide inherited samples.
 * `has_all`: each inherited sample already has an origin.
 */
static bool needs_reconciling(const struct gg_target *target, const struct gg_target *other,
                              bool has_all)
{
	if (gg_reconcile_is_lossy(other))
		return !has_all || target->ancestor == NULL || is_ancestor(target, other);
	/* A thread of the ancestor may have recorded a sample whose event it has not put yet. */
	return !has_all && is_ancestor(target, other);
}

/* Reads the regions that may have inherited samples which their histories lack. */
static void reconcile_ancestors(struct gg_target *target, const struct gg_region_view *view)
{
	bool has_all = has_all_origins(target, view);

	for (struct gg_target *other = target->set->first; other != NULL; other = other->next)
		if (other != target && needs_reconciling(target, other, has_all))
			gg_reconcile(other);
}

/*
 * Returns the time of the fork by the kernel on CLOCK_MONOTONIC, up to a tick of 10 ms too early;
 * 0: unknown, or so shortly before the region's start that the tick would make children overlap
 * that were forked in turn.  The kernel counts ticks from the start of the machine, with the time
 * in which it slept.
 */
static uint64_t fork_ns_by_kernel(const struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t suspended_ns = gg_clock_suspended_ns(), fork_ns;

	if (header->process_start_ticks == 0 || ticks_per_second <= 0)
		return 0;
	fork_ns = header->process_start_ticks * (GG_NS_PER_S / (uint64_t)ticks_per_second);
	fork_ns = fork_ns > suspended_ns ? fork_ns - suspended_ns : 0;
	/* The ticks of a region from before a restart of the machine are of another time. */
	return fork_ns + IDLE_NS < header->start_monotonic_ns ? fork_ns : 0;
}

/*
 * Returns the time of the fork on CLOCK_MONOTONIC as the agent noted it, or by the kernel; or 0.
 */
static uint64_t fork_ns_of(const struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;

	if (header->fork_ns == 0 || header->fork_ns > header->start_monotonic_ns)
		return fork_ns_by_kernel(target);
	return header->fork_ns;
}

/* True if the sample of an ancestor stands for each inherited block. */
static bool has_all_ancestors(const struct gg_target *target, const struct gg_region_view *view)
{
	if (!has_all_origins(target, view))
		return false;
	for (uint32_t i = 0; target->writer->counts.orphan_count > 0 && i < view->live_count; i++)
		if (gg_target_is_inherited(target, &view->live[i]) &&
		    gg_origins_is_orphan(target, &view->live[i]))
			return false;
	return true;
}

/* Notes once that blocks may count twice, because the recorder does not know their samples. */
static void tell_forgotten(struct gg_target *target)
{
	struct gg_target_set *set = target->set;

	if (set->told_forgotten)
		return;
	set->told_forgotten = true;
	gg_profile_writer_note(
		target->writer,
		"Process %u was forked, and took so long to create its region that "
		"the recorder had forgotten which blocks its parent held or freed meanwhile: "
		"figures of that time may count blocks twice, or lack them.",
		target->pid);
}

/*
 * Lets the process begin with its fork, if each block that it inherited has a sample of the
 * ancestor, or none because the ancestor's events were lost: then the ancestor counts it in upper
 * ends alone.  Otherwise what its own samples stand for would count twice, until the ancestor's
 * free.
 */
static void begin_at_fork(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;
	uint64_t fork_ns = fork_ns_of(target);
	bool is_searched, has_all, may_be_compacted;
	int64_t start_ns;

	/*
	 * A process that was killed may have ended until its successor's region appeared.  So
	 * children that were forked in turn seem to overlap if they begin with their forks, which
	 * is of no use if they inherited nothing.
	 */
	if (view->header.counters[GG_COUNT_INHERITED] == 0 &&
	    fork_ns + IDLE_NS > target->reader.header.start_monotonic_ns)
		return;

	if (fork_ns == 0)
		return;
	start_ns = gg_profile_writer_time(writer, fork_ns);
	if (start_ns < 0)
		start_ns = 0;
	is_searched = gg_forgotten_search(target, view, start_ns);
	has_all = has_all_ancestors(target, view);
	may_be_compacted = writer->now_ns - start_ns >= gg_compaction_rule_default.keep_ns;
	if (!is_searched || (!has_all && may_be_compacted))
		tell_forgotten(target);
	if (!gg_lineage_is_told(&target->reader.header))
		may_be_compacted = true; /* nobody knows where it searched */
	if (target->reader.header.control.active == 0 || start_ns >= target->record.start_ns ||
	    (!has_all && (!is_searched || may_be_compacted)))
		return;
	target->record.start_ns = start_ns;
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, target->id,
	                                                         &target->record, writer->error));
}

/*
 * The parent is the process of the ancestor's region if it has that pid.  Another process with
 * that pid comes later, or has executed another program.  A parent that never had a region, and is
 * gone, leaves the ancestor.
 */
static void find_parent(struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;
	const struct gg_lineage *lineage = &target->set->lineage;
	const struct gg_lineage_process *ancestor = gg_lineage_at(
		lineage, gg_lineage_at(lineage, target->lineage)->ancestor);

	if (ancestor != NULL && (target->parent == 0 || ancestor->pid == header->parent_pid))
		target->record.parent = target->parent = ancestor->id;
	else if (target->parent == 0 && target->ancestor != NULL)
		target->record.parent = target->parent = target->ancestor->id;
}

int gg_inherited_take(struct gg_target *target, struct gg_error *error)
{
	uint64_t orphans_before_count = target->writer->counts.orphan_count;
	struct gg_region_view view;
	int status;

	if (target->reader.header.inherited_below_id == 0)
		return 0;
	/* Events in an unread ring may have the inherited samples. */
	for (struct gg_target *other = target->set->first; other != NULL; other = other->next)
		if (other != target)
			gg_ingest_drain(other, false);
	status = gg_region_view_read(&view, target->reader.fd, "the region", error);
	if (status < 0)
		return status;
	target->tells_inherited = gg_region_view_tells_inherited(&view);
	/* The end of the process writes it as well, but nobody writes that if the recorder dies. */
	if (view.header.counters[GG_COUNT_INHERITED] > 0)
		gg_profile_writer_keep(
			target->writer,
			gg_profile_put_counter(target->writer->profile, target->id,
		                               gg_region_counter_name(GG_COUNT_INHERITED),
		                               view.header.counters[GG_COUNT_INHERITED],
		                               target->writer->error));
	/* Reconciling may add samples to the processes, so the best ancestor may change. */
	target->ancestor = find_ancestor(target, &view);
	reconcile_ancestors(target, &view);
	target->ancestor = find_ancestor(target, &view);
	gg_assert(target->ancestor != target);
	gg_target_use_ancestors(target);
	begin_at_fork(target, &view);
	find_parent(target);
	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	for (uint32_t i = 0; i < view.live_count && target->writer->status == 0; i++)
		if (gg_target_is_inherited(target, &view.live[i]))
			gg_ingest_sample(target, &view.live[i]);
	if (target->set->forgot_early && target->writer->counts.orphan_count > orphans_before_count)
		tell_forgotten(target);
	gg_region_view_done(&view);
	return 0;
}
