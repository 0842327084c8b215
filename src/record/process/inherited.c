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

#include <time.h>
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

/*
 * Finds the process whose samples a forked process inherited.  That is usually its parent; but the
 * parent may have had no region or have executed another program.  So a process scores by how many
 * of the inherited samples it held, and being the parent decides only between equals.
 */
static struct gg_target *find_ancestor(const struct gg_target *target,
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
 * Returns the time of the fork on CLOCK_MONOTONIC, up to a tick of 10 ms too early; 0: unknown, or
 * so shortly before the region's start that the tick would make children overlap that were forked
 * in turn.  The kernel counts ticks from the start of the machine, with the time in which it slept.
 */
static uint64_t fork_ns_of(const struct gg_target *target)
{
	const struct gg_region_header *header = &target->reader.header;
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t now_ns = gg_clock_monotonic_ns(), boot_ns, fork_ns;
	struct timespec boot;

	if (header->process_start_ticks == 0 || ticks_per_second <= 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &boot) < 0)
		return 0;
	boot_ns = (uint64_t)boot.tv_sec * GG_NS_PER_S + (uint64_t)boot.tv_nsec;
	fork_ns = header->process_start_ticks * (GG_NS_PER_S / (uint64_t)ticks_per_second);
	/* The two clocks are read one after the other, so less than a millisecond is no sleep. */
	if (boot_ns > now_ns + GG_NS_PER_MS)
		fork_ns = fork_ns > boot_ns - now_ns ? fork_ns - (boot_ns - now_ns) : 0;
	/* The ticks of a region from before a restart of the machine are of another time. */
	return fork_ns + IDLE_NS < header->start_monotonic_ns ? fork_ns : 0;
}

/*
 * True if the sample of an ancestor stands for each inherited block.  Once there was an orphan, the
 * map of them does not tell those from samples that the search has found.
 */
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

/*
 * Lets the process begin with its fork, if each block that it inherited has a sample of the
 * ancestor.  Otherwise what its own samples stand for would count twice, until the ancestor's free.
 */
static void begin_at_fork(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;
	uint64_t fork_ns = fork_ns_of(target);
	int64_t start_ns;

	if (fork_ns == 0 || target->reader.header.control.active == 0)
		return;
	start_ns = gg_profile_writer_time(writer, fork_ns);
	if (start_ns < 0)
		start_ns = 0;
	gg_forgotten_search(target, view, start_ns);
	if (!has_all_ancestors(target, view) || start_ns >= target->record.start_ns)
		return;
	target->record.start_ns = start_ns;
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, target->id,
	                                                         &target->record, writer->error));
}

/* Notes once that blocks may count twice, if the ends that this child needs may be forgotten. */
static void tell_if_forgotten(struct gg_target *target, uint64_t orphans_before_count)
{
	struct gg_target_set *set = target->set;

	if (!set->forgot_early || set->told_early ||
	    target->writer->counts.orphan_count == orphans_before_count)
		return;
	set->told_early = true;
	gg_profile_writer_note(
		target->writer,
		"Process %u was forked, and took so long to create its region that "
		"the recorder had forgotten which blocks its parent freed meanwhile: "
		"until these frees, blocks may count twice.",
		target->pid);
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
	/* Reconciling may add samples to the processes, so the best ancestor may change. */
	target->ancestor = find_ancestor(target, &view);
	reconcile_ancestors(target, &view);
	target->ancestor = find_ancestor(target, &view);
	gg_assert(target->ancestor != target);
	gg_target_use_ancestors(target);
	begin_at_fork(target, &view);
	/* The process between the two may have ended before it created a region. */
	if (target->parent == 0 && target->ancestor != NULL)
		target->record.parent = target->parent = target->ancestor->id;
	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	for (uint32_t i = 0; i < view.live_count && target->writer->status == 0; i++)
		if (gg_target_is_inherited(target, &view.live[i]))
			gg_ingest_sample(target, &view.live[i]);
	tell_if_forgotten(target, orphans_before_count);
	gg_region_view_done(&view);
	return 0;
}
