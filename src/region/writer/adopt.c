/* SPDX-License-Identifier: Apache-2.0 */
/* adopt - makes the region that a forked child inherited one of its own, in a new file. */
#include "region/writer/adopt.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "region/writer/private_live_table.h"
#include "region/writer/private_memory.h"
#include "region/writer/record.h"
#include "region/writer/site_totals.h"
#include "region/writer/space.h"

/*
 * Copies the records of a table, so that they keep their ids.  The parent may be adding some
 * meanwhile, but the records that this process took before the fork do not change any more.
 */
static int copy_table(struct gg_region *region, const struct gg_region_inherited *inherited,
                      enum gg_region_table_id id)
{
	uint32_t count = inherited->tables[id].used_count;
	/* A new table already has the records with a meaning of their own, such as stack 0. */
	uint32_t first_count = region->tables[id].used_count;

	if (count <= first_count)
		return 0;
	if (gg_region_space_take_run(region, id, count - first_count) == GG_INDEX_NONE)
		return -ENOSPC;
	memcpy(region->tables[id].base, inherited->tables[id].base,
	       (size_t)count * region->tables[id].record_bytes);
	return 0;
}

static int copy_tables(struct gg_region *region, const struct gg_region_inherited *inherited)
{
	static const enum gg_region_table_id copied[] = {
		GG_TABLE_THREADS, GG_TABLE_HEAPS,   GG_TABLE_TYPES,  GG_TABLE_STACKS,
		GG_TABLE_MODULES, GG_TABLE_STRINGS, GG_TABLE_FRAMES,
	};
	uint64_t now_ns = gg_clock_monotonic_ns();
	int status = 0;

	for (size_t i = 0; status == 0 && i < GG_COUNT(copied); i++)
		status = copy_table(region, inherited, copied[i]);
	/* No thread of the parent runs here: those that ran at the fork ended with it. */
	for (uint32_t i = 1; status == 0 && i < region->tables[GG_TABLE_THREADS].used_count; i++) {
		struct gg_region_thread_record *record = gg_region_at(region, GG_TABLE_THREADS, i);

		record->end_ns = record->end_ns == 0 ? now_ns : record->end_ns;
	}
	return status;
}

/*
 * Another thread may have been in the middle of an adoption when this process was forked.  Then the
 * private tables are half made, and this adoption begins again from what that one began with.  (The
 * new file of that one stays mapped here, untouched.)
 */
static const struct gg_region_inherited *begin_adoption(struct gg_region *region)
{
	struct gg_region_inherited *inherited = &region->inherited;

	/* A fork copies a thread's stores in their order: a child that finds the flag set finds
	 * the rest. */
	if (gg_load_acquire(&inherited->is_set) == 0) {
		memcpy(inherited->tables, region->tables, sizeof(inherited->tables));
		inherited->map = region->map;
		gg_store_release(&inherited->is_set, 1);
	}
	return inherited;
}

/* The flag goes before the parent's file: a child that is forked from now on has all it needs in
 * the tables. */
static void end_adoption(struct gg_region *region)
{
	gg_store_release(&region->inherited.is_set, 0);
	gg_region_file_done(&region->inherited.map, false);
}

int gg_region_adopt(struct gg_region *region, const struct gg_region_file *map,
                    const struct gg_region_options *options)
{
	const struct gg_region_inherited *inherited = begin_adoption(region);
	const struct gg_region_header *parents = (const void *)inherited->map.base;
	uint32_t live_count = inherited->tables[GG_TABLE_LIVE].used_count;
	/* The child keeps the private memory, so the capacities stay as they are. */
	struct gg_region_options same = *options;
	int status;

	GG_REGION_INIT_VIEW(region);
	same.max_frames = region->max_frames;
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		same.capacities[i] = inherited->tables[i].capacity;
	gg_store_relaxed(&region->is_open, 0);
	status = gg_region_init_shared(region, map, &same);
	if (status == 0)
		status = copy_tables(region, inherited);
	if (status == 0 && !gg_region_space_reserve(region, GG_TABLE_SITE_TOTALS, 1))
		status = -ENOSPC;
	if (status == 0 && live_count > 0 &&
	    gg_region_space_take_run(region, GG_TABLE_LIVE, live_count) == GG_INDEX_NONE)
		status = -ENOSPC;
	if (status < 0) {
		region->map = inherited->map; /* the new one stays the caller's */
		return status;
	}
	gg_region_private_forget(region);
	gg_region_open(region); /* cannot fail: its space was reserved above */
	region->live_bytes = 0;
	for (uint32_t i = 0; i < live_count; i++) {
		if (region->records[i].id != 0)
			gg_region_record_inherited(region, i);
		else
			gg_region_live_give_shared(region, i);
	}
	region->header->inherited_below_id = region->next_id;
	region->header->ancestor_pid = parents->pid;
	region->header->ancestor_start_ns = parents->start_monotonic_ns;
	end_adoption(region);
	gg_store_release(&region->header->magic, GG_REGION_MAGIC);
	return 0;
}
