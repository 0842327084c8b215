/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origins - finds the sample that stands for an inherited block (record/process/origins.h).
 */
#include "record/process/origins.h"

#include "base/assert.h"
#include "base/hash.h"

uint64_t gg_origins_key(const struct gg_region_sample *sample)
{
	return gg_hash_integer(sample->time_ns, gg_hash_integer(sample->id, 0));
}

bool gg_origins_holds(const struct gg_target *target, const struct gg_region_sample *sample)
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

		gg_assert(ancestor != target);
		if (!gg_origins_holds(ancestor, sample))
			continue;
		return origin != GG_MAP_NONE
		               ? origin
		               : gg_live_set_find(&ancestor->live_set, sample->id)->id;
	}
	return GG_PROFILE_WRITER_NO_ORIGIN;
}

uint64_t gg_origins_find(const struct gg_target *target, const struct gg_region_sample *sample)
{
	uint64_t origin = gg_map_get(&target->set->orphans, gg_origins_key(sample));

	return origin != GG_MAP_NONE ? origin : find_in_ancestors(target, sample);
}

int gg_origins_add_orphan(struct gg_target *target, const struct gg_region_sample *sample,
                          uint64_t id)
{
	gg_assert(id != 0);
	return gg_map_put(&target->set->orphans, gg_origins_key(sample), id);
}

bool gg_origins_is_orphan(const struct gg_target *target, const struct gg_region_sample *sample)
{
	return gg_map_get(&target->set->orphans, gg_origins_key(sample)) != GG_MAP_NONE;
}
