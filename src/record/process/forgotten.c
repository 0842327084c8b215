/* SPDX-License-Identifier: Apache-2.0 */
/* forgotten - compares inherited blocks with ended samples of the profile (process/forgotten.h). */
#include "record/process/forgotten.h"

#include <errno.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "record/process/origins.h"

enum { SEARCH_PART = 10 };

/* Workers that wake up together search at once, for 200 ms of time that comes later. */
#define BURST_NS (2 * GG_NS_PER_S)

struct forgotten_search {
	struct gg_target *target;
	const struct gg_region_view *view;
	struct gg_map blocks; /* of unknown samples: from key_of() to the index in the view */
	int64_t last_ns;      /* their latest allocation */
};

static uint64_t key_of(int64_t alloc_ns, uint64_t bytes, uint64_t address)
{
	return gg_hash_integer((uint64_t)alloc_ns,
	                       gg_hash_integer(address, gg_hash_integer(bytes, 0)));
}

static int64_t time_of(const struct gg_target *target, const struct gg_region_sample *sample)
{
	return gg_profile_writer_time(target->writer, sample->time_ns);
}

/* Fills in the blocks to search for. */
static int list_unknown(struct forgotten_search *search)
{
	const struct gg_target *target = search->target;

	for (uint32_t i = 0; i < search->view->live_count; i++) {
		const struct gg_region_sample *sample = &search->view->live[i];
		int64_t alloc_ns;

		if (!gg_target_is_inherited(target, sample) ||
		    gg_origins_find(target, sample) != GG_PROFILE_WRITER_NO_ORIGIN)
			continue;
		alloc_ns = time_of(target, sample);
		if (alloc_ns > search->last_ns)
			search->last_ns = alloc_ns;
		if (gg_map_put(&search->blocks,
		               key_of(alloc_ns, sample->size_bytes, gg_target_address(sample)),
		               i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare(const struct gg_profile_sample *freed, void *context)
{
	struct forgotten_search *search = context;
	uint64_t index = gg_map_get(&search->blocks,
	                            key_of(freed->alloc_ns, freed->size_bytes, freed->address));
	const struct gg_region_sample *sample;

	if (index == GG_MAP_NONE)
		return 0;
	sample = &search->view->live[index];
	if (time_of(search->target, sample) != freed->alloc_ns ||
	    sample->size_bytes != freed->size_bytes || gg_target_address(sample) != freed->address)
		return 0;
	return gg_origins_add_orphan(search->target, sample,
	                             freed->origin != 0 ? freed->origin : freed->id);
}

void gg_forgotten_search(struct gg_target *target, const struct gg_region_view *view,
                         int64_t fork_ns)
{
	struct gg_profile_writer *writer = target->writer;
	struct forgotten_search search = { .target = target, .view = view };
	uint64_t start_ns = gg_clock_monotonic_ns();

	if (list_unknown(&search) < 0)
		gg_profile_writer_keep(writer, -ENOMEM);
	if (search.blocks.used_count == 0 || writer->status < 0)
		goto out;
	if (target->set->next_search_ns > start_ns + BURST_NS)
		goto out;
	if (gg_profile_writer_flush(writer) == 0)
		gg_profile_writer_keep(writer, gg_profile_each_freed_sample(
						       writer->profile, search.last_ns, fork_ns,
						       compare, &search, writer->error));
	if (target->set->next_search_ns < start_ns)
		target->set->next_search_ns = start_ns;
	target->set->next_search_ns += SEARCH_PART * (gg_clock_monotonic_ns() - start_ns);
out:
	gg_map_done(&search.blocks);
}
