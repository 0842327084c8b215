/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_tables - a process's totals, threads, counters, and moved objects, as its region has
 * them.
 *
 * Each function returns 0 or the writer's first failure.
 */
#pragma once

#include "record/process/target.h"

/* Writes the totals of each stack and thread.  Sorting brings the rows of one total together. */
int gg_process_tables_totals(struct gg_target *target, const struct gg_region_view *view);

/*
 * Updates the threads in the profile: their last names and ends.  Skips threads that no sample
 * named, since the profile does not have them.  Threads that still ran get `end_ns`.
 */
int gg_process_tables_threads(struct gg_target *target, const struct gg_region_view *view,
                              int64_t end_ns);

int gg_process_tables_counters(struct gg_target *target, const struct gg_region_view *view);

/* Updates the addresses of live objects: garbage collectors have moved them without any event. */
int gg_process_tables_moved(struct gg_target *target, const struct gg_region_view *view);
