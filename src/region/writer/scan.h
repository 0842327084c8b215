/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan - the profiled program reads its own region, while all its threads go on recording.
 *
 *   gg_region_scan_begin(&region, &scan);
 *   for (uint32_t i = 0; i < scan.live_count; i++)
 *           if (gg_region_scan_live(&region, i, &sample)) ...
 *   for (uint32_t i = 0; i < scan.row_count; i++)
 *           if (gg_region_scan_row(&region, i, &row)) ...
 *   count = gg_region_scan_stack(&region, row.stack, pcs, GG_COUNT(pcs));
 *
 * Each record is read whole, as it was at some moment; records are not of one moment.  Where nothing
 * is recorded meanwhile they are exact.  Live first, then rows: so that what is live has been allocated,
 * but for records that are on their way right now.
 *
 * Trust    indices that come from the file are checked: whatever somebody has written there, a number is
 *          wrong at most.
 * Threads  any; nobody waits for a scan, and a scan waits for nobody.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/writer/region.h"

struct gg_region_scan {
	uint32_t live_count, row_count, thread_count; /* records ever in use */
};

struct gg_region_scan_row {
	uint32_t stack, thread;
	struct gg_sums allocated, freed;
};

void gg_region_scan_begin(const struct gg_region *region, struct gg_region_scan *ret_scan);

/* False: the place is free, or changes hands all the time. */
bool gg_region_scan_live(const struct gg_region *region, uint32_t live,
                         struct gg_region_sample *ret_sample);

/* False: the row is not made yet. */
bool gg_region_scan_row(const struct gg_region *region, uint32_t index,
                        struct gg_region_scan_row *ret_row);

/* As gg_region_view_stack(). */
uint32_t gg_region_scan_stack(const struct gg_region *region, uint32_t stack, uint64_t *pcs,
                              uint32_t max);

/* With its 0 byte; "": it has none. */
void gg_region_scan_thread_name(const struct gg_region *region, uint32_t thread, char name[17]);
