/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space - gives out records of the region's tables, and asks the file system for their bytes.
 *
 *   index = gg_region_space_take(region, GG_TABLE_LIVE);
 *   if (index != GG_INDEX_NONE)
 *           record = gg_region_at(region, GG_TABLE_LIVE, index);
 *
 * The file is sparse: a table has address space for its capacity, and disk blocks as far as it is
 * in use and a little ahead.  This module allocates the blocks before any thread writes there, so a
 * full disk is an error here, and never a SIGBUS at a store.
 *
 * Threads   Any thread, also in signal handlers.  One thread allocates ahead of the need while the
 *           other threads go on; no thread waits.
 * Full      If the capacity is used up or the disk is full, there is no record.  Each try on a full
 *           disk is a system call, so this module tries again only once in a while.
 */
#pragma once

#include "region/writer/region.h"

/* The next record of a table that only grows, with space to write it; GG_INDEX_NONE: full. */
uint32_t gg_region_space_take(struct gg_region *region, enum gg_region_table_id id);

/* The first of `count` successive new records; GG_INDEX_NONE: full. */
uint32_t gg_region_space_take_run(struct gg_region *region, enum gg_region_table_id id,
                                  uint32_t count);

/*
 * Allocates space for the first `count` records unless they have it.  False: the disk is full.  The
 * event ring needs this, because its records are claimed in the file.
 */
GG_COLD bool gg_region_space_reserve(struct gg_region *region, enum gg_region_table_id id,
                                     uint32_t count);

/*
 * Makes readers look at a record that the caller found instead of taking it.  The thread that took
 * it may not have raised the count in the file yet.
 */
void gg_region_space_show(struct gg_region *region, enum gg_region_table_id id, uint32_t index);
