/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited - the samples that a forked process inherited from its parent (process/target.h).
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
 */
#include "base/assert.h"
#include "base/hash.h"
#include "record/process/target.h"
#include "region/reader/view.h"

enum { COMPARED_MAX = 16 }; /* inherited samples that are compared with each process */

/*
 * Each process numbers its samples from where its parent stopped, so the numbers of siblings
 * overlap.  The time makes the key unique.
 */
static uint64_t key_of(const struct gg_region_sample *sample)
{
	return gg_hash_integer(sample->time_ns, gg_hash_integer(sample->id, 0));
}

static bool holds(const struct gg_target *target, const struct gg_region_sample *sample)
{
	const struct gg_live_set_sample *known = gg_live_set_find(&target->live_set, sample->id);

	return known != NULL && (known->time_ns & ~GG_LIVE_SET_ENDED) == sample->time_ns;
}

/* Returns the profile's id of the sample that an ancestor allocated. */
static uint64_t find_in_ancestors(const struct gg_target *target,
                                  const struct gg_region_sample *sample)
{
	const struct gg_target *ancestor = target->ancestor;

	for (; ancestor != NULL; ancestor = ancestor->ancestor) {
		uint64_t origin = gg_map_get(&ancestor->origins, sample->id);

		if (!holds(ancestor, sample))
			continue;
		return origin != GG_MAP_NONE
		               ? origin
		               : gg_live_set_find(&ancestor->live_set, sample->id)->id;
	}
	return GG_PROFILE_WRITER_NO_ORIGIN;
}

uint64_t gg_target_find_origin(const struct gg_target *target,
                               const struct gg_region_sample *sample)
{
	uint64_t origin = gg_map_get(&target->set->orphans, key_of(sample));

	return origin != GG_MAP_NONE ? origin : find_in_ancestors(target, sample);
}

int gg_target_add_orphan(struct gg_target *target, const struct gg_region_sample *sample,
                         uint64_t id)
{
	gg_assert(id != 0);
	return gg_map_put(&target->set->orphans, key_of(sample), id);
}

bool gg_target_is_orphan(const struct gg_target *target, const struct gg_region_sample *sample)
{
	return gg_map_get(&target->set->orphans, key_of(sample)) != GG_MAP_NONE;
}

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
			score += holds(other, &view->live[i]) ? 2 : 0;
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
		    gg_target_find_origin(target, &view->live[i]) == GG_PROFILE_WRITER_NO_ORIGIN)
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
	if (gg_target_is_lossy(other))
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
			gg_target_reconcile(other);
}

int gg_target_take_inherited(struct gg_target *target, struct gg_error *error)
{
	struct gg_region_view view;
	int status;

	/* Events in an unread ring may have the inherited samples. */
	for (struct gg_target *other = target->set->first; other != NULL; other = other->next)
		if (other != target)
			gg_target_drain(other, false);
	status = gg_region_view_read(&view, target->reader.fd, "the region", error);
	if (status < 0)
		return status;
	/* Reconciling may add samples to the processes, so the best ancestor may change. */
	target->ancestor = find_ancestor(target, &view);
	reconcile_ancestors(target, &view);
	target->ancestor = find_ancestor(target, &view);
	gg_assert(target->ancestor != target);
	gg_target_use_ancestors(target);
	/* The process between the two may have ended before it created a region. */
	if (target->parent == 0 && target->ancestor != NULL)
		target->record.parent = target->parent = target->ancestor->id;
	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	for (uint32_t i = 0; i < view.live_count && target->writer->status == 0; i++)
		if (gg_target_is_inherited(target, &view.live[i]))
			gg_target_ensure_sample(target, &view.live[i]);
	gg_region_view_done(&view);
	return 0;
}
