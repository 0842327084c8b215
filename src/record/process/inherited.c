/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited - the samples of its parent with which a forked process begins (record/process/target.h).
 *
 * A block that several processes hold counts once.  So each inherited sample gets the id of the sample that
 * the ancestor allocated.  Three things can hide that sample:
 *
 *   events of the ancestor wait in its ring   the ring is read first
 *   events of the ancestor were lost          its region is read first: what it still holds becomes a
 *                                             sample there
 *   the ancestor freed the block before that  the block has no sample of its own, and a coarse row has it.
 *                                             The first process that tells of it stands for it, and all
 *                                             processes that inherited it share that block
 */
#include "base/hash.h"
#include "record/process/target.h"
#include "region/reader/view.h"

enum { COMPARED_MAX = 16 }; /* inherited samples that are looked for in each process */

/* Numbers of samples ascend in each process, so those of siblings overlap; times tell them apart. */
static uint64_t key_of(const struct gg_region_sample *sample)
{
	return gg_hash_integer(sample->time_ns, gg_hash_integer(sample->id, 0));
}

static bool holds(const struct gg_target *target, const struct gg_region_sample *sample)
{
	const struct gg_live_set_sample *known = gg_live_set_find(&target->live_set, sample->id);

	return known != NULL && (known->time_ns & ~GG_LIVE_SET_ENDED) == sample->time_ns;
}

/* The profile's id of the sample that an ancestor allocated. */
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
	return gg_map_put(&target->set->orphans, key_of(sample), id);
}

bool gg_target_is_orphan(const struct gg_target *target, const struct gg_region_sample *sample)
{
	return gg_map_get(&target->set->orphans, key_of(sample)) != GG_MAP_NONE;
}

/* Whose samples a forked process inherited: its parent's, or those of who had the same ones. */
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

/* has_all: every inherited sample was found so far. */
static bool needs_reconciling(const struct gg_target *target, const struct gg_target *other,
                              bool has_all)
{
	if (gg_target_is_lossy(other))
		return !has_all || target->ancestor == NULL || is_ancestor(target, other);
	/* A thread there may stand between a sample and its event. */
	return !has_all && is_ancestor(target, other);
}

/* Reads the regions that may know more of the inherited samples than their histories tell. */
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

	/* What it inherited may be in an ancestor's history that nobody has looked at yet. */
	for (struct gg_target *other = target->set->first; other != NULL; other = other->next)
		if (other != target)
			gg_target_drain(other, false);
	status = gg_region_view_read(&view, target->reader.fd, "the region", error);
	if (status < 0)
		return status;
	target->ancestor = find_ancestor(target, &view);
	reconcile_ancestors(target, &view);
	target->ancestor = find_ancestor(target, &view);
	gg_target_use_ancestors(target);
	/* Its parent may have ended before it made a region. */
	if (target->parent == 0 && target->ancestor != NULL)
		target->record.parent = target->parent = target->ancestor->id;
	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	for (uint32_t i = 0; i < view.live_count && target->writer->status == 0; i++)
		if (gg_target_is_inherited(target, &view.live[i]))
			gg_target_ensure_sample(target, &view.live[i]);
	gg_region_view_done(&view);
	return 0;
}
