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

/*
 * Returns a key of a sample as the profile has it, which lacks the number.  No thread allocates two
 * blocks at one address at one nanosecond.
 */
static uint64_t found_key(int64_t alloc_ns, uint64_t bytes, uint64_t address)
{
	return gg_hash_integer((uint64_t)alloc_ns,
	                       gg_hash_integer(address, gg_hash_integer(bytes, 0)));
}

/* Returns the id of a sample that gg_forgotten_search() has found. */
static uint64_t find_found(const struct gg_target *target, const struct gg_region_sample *sample)
{
	if (target->set->found.used_count == 0)
		return GG_PROFILE_WRITER_NO_ORIGIN;
	return gg_map_get(&target->set->found,
	                  found_key(gg_profile_writer_time(target->writer, sample->time_ns),
	                            sample->size_bytes, gg_target_address(sample)));
}

int gg_origins_add_found(struct gg_target_set *set, const struct gg_profile_sample *sample)
{
	return gg_map_put(&set->found,
	                  found_key(sample->alloc_ns, sample->size_bytes, sample->address),
	                  sample->origin != 0 ? sample->origin : sample->id);
}

uint64_t gg_origins_find(const struct gg_target *target, const struct gg_region_sample *sample)
{
	uint64_t origin = gg_map_get(&target->set->orphans, gg_origins_key(sample));

	if (origin == GG_MAP_NONE)
		origin = find_in_ancestors(target, sample);
	if (origin == GG_PROFILE_WRITER_NO_ORIGIN)
		origin = find_found(target, sample);
	return origin != GG_MAP_NONE ? origin : GG_PROFILE_WRITER_NO_ORIGIN;
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
