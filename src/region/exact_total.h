/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_total - a site total of a process in which every allocation is counted.
 *
 * A region with exact counts has no samples.  Its site totals have the same size and key as those
 * of other regions, but plain counters instead of estimates.  Only the thread of a record writes
 * it, without any atomic operation, so a count costs a few stores.
 *
 * Killed    An operation changes a number and its bytes.  The number is stored last, and its lowest
 *           bit tells which of two words has the bytes: so one store makes the operation valid.
 *           The word of frees also names the lifetime and says if the block was temporary.  The
 *           writer changes these counters after that word, and a reader finds out if it did:
 *           the lifetimes add up to one less than the frees, or the parities differ.
 * Peak      Before a thread changes a record for the first time after a peak, it saves the state of
 *           the record.  So a reader can tell the state of all records at that peak: the saved one
 *           if `mark` is the number of the peak, else the present one.
 * Threads   One thread writes; any process reads.  Two threads that share a record (thread 0, the
 *           special stack) take a lock of their process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "region/layout.h"

/*
 * Numbers of allocations or frees, and their requested bytes.  Temporary blocks are those that were
 * freed before their thread allocated the next one.
 */
struct gg_exact_sums {
	uint64_t allocated_count, allocated_bytes;
	uint64_t freed_count, freed_bytes;
	uint64_t temporary_count, temporary_bytes; /* of the freed ones */
};

struct gg_exact_total {
	uint32_t stack;
	uint32_t thread;
	uint64_t ready; /* 1: stack and thread are set */
	uint64_t mark;  /* number of the peak whose state is saved */
	uint64_t allocated_count;
	uint64_t allocated_bytes[2]; /* the element allocated_count & 1 is valid */
	/* Frees by this thread of blocks that the process inherited by fork. */
	uint64_t inherited_freed_count;
	uint64_t inherited_freed_bytes[2];
	/* count << GG_EXACT_FREED_SHIFT | GG_EXACT_FREED_TEMPORARY | lifetime, of the last free */
	uint64_t freed_word;
	uint64_t freed_bytes[2]; /* the element freed_count & 1 is valid */
	/* Each << 1, and below it the lowest bit of the freed count that they include. */
	uint64_t temporary_word, temporary_bytes_word;
	struct gg_exact_sums saved; /* at the peak `mark` */
	uint64_t reserved[2];
	uint32_t lifetimes[GG_REGION_LIFETIME_COUNT]; /* modulo 2^32 */
	uint64_t reserved2[2];
};

enum {
	GG_EXACT_FREED_LIFETIME_MASK = GG_REGION_LIFETIME_COUNT - 1,
	GG_EXACT_FREED_TEMPORARY = GG_REGION_LIFETIME_COUNT,
	GG_EXACT_FREED_SHIFT = 6,
};

_Static_assert(sizeof(struct gg_exact_total) == sizeof(struct gg_region_site_total),
               "in the same table");
GG_LAYOUT(gg_exact_total, ready, offsetof(struct gg_region_site_total, ready));
GG_LAYOUT(gg_exact_total, lifetimes, offsetof(struct gg_region_site_total, lifetimes));
GG_LAYOUT(gg_exact_total, freed_word, 72);
GG_LAYOUT(gg_exact_total, saved, 112);

/*
 * The present sums of a record, of a copy or by its own thread.  A killed writer may have stored
 * the word of a free alone, or that and the word of temporary blocks.
 */
static inline struct gg_exact_sums gg_exact_total_sums(const struct gg_exact_total *total)
{
	uint64_t word = gg_load_acquire(&total->freed_word), number = word >> GG_EXACT_FREED_SHIFT;
	bool was_temporary = (word & GG_EXACT_FREED_TEMPORARY) != 0;
	bool has_count = ((number ^ total->temporary_word) & 1) == 0;
	bool has_bytes = ((number ^ total->temporary_bytes_word) & 1) == 0;
	struct gg_exact_sums sums = {
		.allocated_count = gg_load_acquire(&total->allocated_count),
		.freed_count = number,
		.freed_bytes = gg_load_relaxed(&total->freed_bytes[number & 1]),
		.temporary_count = total->temporary_word >> 1,
		.temporary_bytes = total->temporary_bytes_word >> 1,
	};

	sums.allocated_bytes = gg_load_relaxed(&total->allocated_bytes[sums.allocated_count & 1]);
	if (was_temporary && !has_count)
		sums.temporary_count++;
	if (was_temporary && !has_bytes)
		sums.temporary_bytes += sums.freed_bytes - total->freed_bytes[~number & 1];
	return sums;
}

/* The sums at the peak of that number. */
static inline struct gg_exact_sums gg_exact_total_at_peak(const struct gg_exact_total *total,
                                                          uint64_t peak)
{
	return total->mark == peak ? total->saved : gg_exact_total_sums(total);
}
