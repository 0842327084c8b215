/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_totals - the totals of each stack in each thread, which live in the file.
 *
 *   index = gg_region_site_total_find(region, stack, thread);
 *   if (index != GG_INDEX_NONE && gg_region_site_total_own(region, index, slot)) {
 *           ... changes the sums through the redo log ...
 *           gg_region_site_total_disown(region, index);
 *   }
 *
 * The word of a stack (struct gg_region.stack_words) names its first site total, which is the only
 * one of most stacks.  Further threads that meet the stack have totals of their own, which the site
 * index finds by stack and thread.
 *
 * Owner     one thread at a time changes a site total.  Its owner word is private, and taken by a
 *           CAS that nearly always succeeds, because a thread uses its own totals.  The thread
 *           tries a bounded number of times and never waits.
 * Full      The thread counts in the first site total of the stack, and GG_COUNT_ROWS_FOLDED
 *           counts how often.  A stack without a total cannot get one.
 * Inherited blocks have site totals of their own, which only the adoption of a region changes.
 *           So a reader can tell the blocks that a forked process freed from those that it
 *           allocated, although the frees of both are in the same totals.
 * Threads   any; also in signal handlers.
 */
#pragma once

#include "region/writer/region.h"

/* The site total of that stack and thread, made or shared if need be; GG_INDEX_NONE: none. */
GG_COLD uint32_t gg_region_site_total_search(struct gg_region *region, uint32_t stack,
                                             uint32_t thread);

/*
 * Makes site total 0, of GG_STACK_OVERFLOW in thread 0, before a thread records its first sample.
 * Repeated calls do no harm.  False: there is no space for it.
 */
bool gg_region_open(struct gg_region *region);

/*
 * The site total of what was live at the fork, of that stack and the parent's thread, made if need
 * be.  GG_INDEX_NONE: it has no space.  For gg_region_record_inherited() alone.
 */
uint32_t gg_region_site_total_inherited(struct gg_region *region, uint32_t stack, uint32_t thread);

/*
 * Finds a site total of inherited blocks of that stack.  The total counts their frees once the
 * table is full, and never an allocation.  GG_INDEX_NONE: the stack has no such total.
 */
uint32_t gg_region_site_total_of_inherited(const struct gg_region *region, uint32_t stack);

/*
 * The site total of that stack and thread, or of a key's thread; GG_INDEX_NONE: nobody has made it.
 */
uint32_t gg_region_site_total_lookup(const struct gg_region *region, uint32_t stack,
                                     uint32_t thread);

/* Makes the caller its owner.  False: another thread has kept it for too long. */
bool gg_region_site_total_own(struct gg_region *region, uint32_t index, uint32_t slot);

/* The first site total of a stack, or GG_INDEX_NONE. */
static inline uint32_t gg_region_site_total_first(const struct gg_region *region, uint32_t stack)
{
	/* Acquire: pairs with the CAS in set_first(), so the key of the site total is set. */
	uint64_t word = gg_load_acquire(&region->stack_words[stack]);

	return (uint32_t)(word & GG_REGION_STACK_TOTAL_MASK) - 1;
}

/*
 * Returns the site total that counts for the stack in that thread: the thread's own, or the first
 * of the stack.  GG_INDEX_NONE: the stack has no total, and the table is full.
 */
static inline uint32_t gg_region_site_total_find(struct gg_region *region, uint32_t stack,
                                                 uint32_t thread)
{
	uint32_t first = gg_region_site_total_first(region, stack);
	const struct gg_region_site_total *total;

	/* The thread is compared in the file, because the site total is needed soon and its private
	 * key is not.  Another process may have written anything there.  That moves a count to
	 * another thread at most: `first` belongs to this stack in any case. */
	if (gg_likely(first != GG_INDEX_NONE)) {
		total = gg_region_at(region, GG_TABLE_SITE_TOTALS, first);
		if (gg_likely(gg_load_relaxed(&total->thread) == thread))
			return first;
	}
	return gg_region_site_total_search(region, stack, thread);
}

static inline uint32_t *gg_region_site_owner(struct gg_region *region, uint32_t index)
{
	return &region->site_owners[index % GG_REGION_OWNERS];
}

static inline void gg_region_site_total_disown(struct gg_region *region, uint32_t index)
{
	/* Release: pairs with the CAS of the next owner, and with scan.c: the sums are written. */
	gg_store_release(gg_region_site_owner(region, index), 0);
}

/*
 * Fetches the totals of a stack, which are needed soon and far away: the processor misses once or
 * twice for each stack that is not hot.
 */
static inline void gg_region_site_total_prefetch(const struct gg_region *region, uint32_t stack)
{
	uint64_t word = gg_load_relaxed(&region->stack_words[stack]);
	uint32_t index = (uint32_t)(word & GG_REGION_STACK_TOTAL_MASK) - 1;
	const uint8_t *total;

	if (index == GG_INDEX_NONE)
		return;
	total = gg_region_at(region, GG_TABLE_SITE_TOTALS, index);
	/* The last cache line holds the longest lifetimes only, so it stays where it is. */
	for (size_t at = 0; at < sizeof(struct gg_region_site_total) - 64; at += 64)
		__builtin_prefetch(total + at, 1);
}
