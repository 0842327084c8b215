/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan - the profiled program reads its own region, while all its threads go on recording.
 *
 *   gg_region_scan_begin(&region, &scan);
 *   for (uint32_t i = 0; i < scan.live_count; i++)
 *           if (gg_region_scan_live(&region, i, &sample)) ...
 *   for (uint32_t i = 0; i < scan.site_total_count; i++)
 *           if (gg_region_scan_site_total(&region, i, &total)) ...
 *   count = gg_region_scan_stack(&region, total.stack, pcs, GG_COUNT(pcs));
 *
 * Each record is read whole, as it was at some moment, but different records are of different
 * moments.  While no thread records, all are exact.  Read live samples before site totals: then
 * every live sample is among the allocated ones, except for those that are being recorded.
 *
 * Trust    indexes that come from the file are checked.  Whatever another process has written
 *          there, at most a number is wrong.
 * Threads  any; no thread waits for a scan, and a scan waits for no thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/writer/region.h"

struct gg_region_scan {
	uint32_t live_count, site_total_count, thread_count; /* records ever in use */
};

struct gg_region_scan_site_total {
	uint32_t stack, thread;
	struct gg_sums allocated, freed;
};

void gg_region_scan_begin(const struct gg_region *region, struct gg_region_scan *ret_scan);

/* False: the record is free, or changed at every attempt. */
bool gg_region_scan_live(const struct gg_region *region, uint32_t live_index,
                         struct gg_region_sample *ret_sample);

/* False: its thread has not made the site total yet. */
bool gg_region_scan_site_total(const struct gg_region *region, uint32_t index,
                               struct gg_region_scan_site_total *ret_total);

/* Like gg_region_view_stack(). */
uint32_t gg_region_scan_stack(const struct gg_region *region, uint32_t stack, uint64_t *pcs,
                              uint32_t max);

/* Sets name to the thread's name with a 0 byte; "": the thread has no name. */
void gg_region_scan_thread_name(const struct gg_region *region, uint32_t thread, char name[17]);
