/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_totals - adds up live and allocated memory by stack and thread, from this process's own
 * region.
 *
 *   struct gg_dump_totals totals;
 *
 *   status = gg_dump_totals_make(&totals, &region, base, 0);
 *   entry = gg_dump_totals_find(&totals, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL);      all of it
 *   ...
 *   gg_dump_totals_done(&totals);
 *
 * Each amount is added to four entries: the stack in its thread, the stack, the thread, and the sum
 * of all.  So the line of a stack in a dump is the sum of the lines of its threads.  A sample
 * counts in the thread that allocated it, whichever thread frees it.
 *
 * Moment   Each record is read whole; all of them within the milliseconds that it takes
 *          (region/writer/scan.h).  Live memory counts as allocated even if the record of its
 *          allocation was not seen yet.
 * Memory   one mapping, 64 bytes for each pair of stack and thread.
 * Full     Stacks that appear meanwhile and find no entry are added to GG_STACK_OVERFLOW.
 * Threads  one owner; other threads record meanwhile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "dump/heap_text.h"
#include "region/writer/region.h"

#define GG_DUMP_TOTALS_ALL UINT32_MAX

struct gg_dump_totals_entry {
	uint32_t stack, thread;
	uint32_t next_in_bucket; /* the next entry in the same bucket, + 1 */
	uint32_t of_stack; /* in a stack: its first thread; in its thread: the next one; + 1 */
	struct gg_dump_sums sums;
	uint64_t live_samples; /* number of live samples */
};

struct gg_dump_totals {
	struct gg_dump_totals_entry *entries;
	uint32_t count, capacity;
	uint32_t *buckets; /* entry + 1, by hash */
	uint32_t bucket_count;
	void *memory;
	size_t bytes;
};

/*
 * `base`, if it is not NULL, has the allocated amounts to subtract; live samples with ids below
 * `from_id` are left out.  0 or -ENOMEM.
 */
GG_MUST_CHECK int gg_dump_totals_make(struct gg_dump_totals *ret_totals,
                                      const struct gg_region *region,
                                      const struct gg_dump_totals *base, uint64_t from_id);
void gg_dump_totals_done(struct gg_dump_totals *totals);

/* Finds the entry of a pair; either may be GG_DUMP_TOTALS_ALL.  NULL: no entry. */
const struct gg_dump_totals_entry *gg_dump_totals_find(const struct gg_dump_totals *totals,
                                                       uint32_t stack, uint32_t thread);

/*
 * Visits the threads of a stack: `entry` is the stack's entry at first, then the last result.
 * NULL: no more threads.
 */
static inline const struct gg_dump_totals_entry *gg_dump_totals_next(
	const struct gg_dump_totals *totals, const struct gg_dump_totals_entry *entry)
{
	return entry->of_stack == 0 ? NULL : &totals->entries[entry->of_stack - 1];
}
