/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_totals - what is live and what was allocated, by stack and by thread, from this process's own region.
 *
 *   struct gg_dump_totals gather;
 *   status = gg_dump_totals_make(&gather, &region, base, 0);
 *   entry = gg_dump_totals_find(&gather, GG_DUMP_TOTALS_ALL, GG_DUMP_TOTALS_ALL);         the total
 *   ...
 *   gg_dump_totals_done(&gather);
 *
 * Each amount is added to four entries: its stack in its thread, the stack, the thread, and all; so what
 * a dump prints of a stack is what its threads have together.  A sample is live in the thread that
 * allocated it, whoever frees it.
 *
 * Moment   as src/region/writer/scan.h reads: each record whole, all of them within the milliseconds that it takes.
 *          What is live is counted as allocated, also where the record of that was not seen yet.
 * Memory   one mapping, 64 bytes for each pair of stack and thread, as they are in use.
 * Full     stacks that come while it is made and find no place are added to GG_STACK_OVERFLOW.
 * Threads  one owner; others record meanwhile.
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
	uint32_t same_place; /* the next entry of the same hash, + 1 */
	uint32_t of_stack;   /* of a stack: its first thread; of a thread in it: the next; + 1 */
	struct gg_dump_sums sums;
	uint64_t live_samples; /* how many there are */
};

struct gg_dump_totals {
	struct gg_dump_totals_entry *entries;
	uint32_t count, capacity;
	uint32_t *places; /* by hash: entry + 1 */
	uint32_t place_count;
	void *memory;
	size_t bytes;
};

/*
 * base: amounts that were allocated before and do not count any more, or NULL; from_id: samples
 * before that one do not count.  0, or -ENOMEM.
 */
GG_MUST_CHECK int gg_dump_totals_make(struct gg_dump_totals *ret_gather,
                                      const struct gg_region *region,
                                      const struct gg_dump_totals *base, uint64_t from_id);
void gg_dump_totals_done(struct gg_dump_totals *gather);

/* NULL: there is none. */
const struct gg_dump_totals_entry *gg_dump_totals_find(const struct gg_dump_totals *gather,
                                                       uint32_t stack, uint32_t thread);

/* The threads of a stack, one after the other: entry is the stack's, later the last one.  NULL: no more. */
static inline const struct gg_dump_totals_entry *gg_dump_totals_next(
	const struct gg_dump_totals *gather, const struct gg_dump_totals_entry *entry)
{
	return entry->of_stack == 0 ? NULL : &gather->entries[entry->of_stack - 1];
}
