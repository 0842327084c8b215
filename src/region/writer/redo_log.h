/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redo_log - changes a live sample and a site total in the file as one step.
 *
 *   gg_region_redo_alloc(region, thread, live_index, total_index, &sample);
 *   gg_region_redo_free(region, thread, live_index, total_index, &sample, now_ns);
 *
 * A sample that appears or disappears changes two records of the file.  The process may be killed
 * between any two stores, and a reader must not find half of the change.  So the thread
 *
 *   1. writes all new values into its slot of the redo log (struct gg_region_redo_slot);
 *   2. publishes the slot by one release store to its state;
 *   3. applies the values to the mirror of the live table and to the site total;
 *   4. retires the slot by another release store to its state.
 *
 * A reader that finds a published slot applies it again.  The slot holds values, not differences,
 * so it does not matter how much of step 3 had happened.
 *
 * Threads   the caller owns the site total (site_totals.h), and either has taken the live record
 *           or has claimed its sample (private_live_table.h).  A slot belongs to one thread.
 */
#pragma once

#include "region/writer/region.h"

void gg_region_redo_alloc(struct gg_region *region, struct gg_region_thread *thread,
                          uint32_t live_index, uint32_t total_index,
                          const struct gg_region_sample *sample);

void gg_region_redo_free(struct gg_region *region, struct gg_region_thread *thread,
                         uint32_t live_index, uint32_t total_index,
                         const struct gg_region_sample *sample, uint64_t now_ns);
