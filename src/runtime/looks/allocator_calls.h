/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_calls - asks the allocator underneath for numbers of its heap and of slabs.
 *
 * The caller makes sure that the allocator may be called now (allocator_look.c).
 *
 * Threads  one at a time.
 * Locks    gg_allocator_calls_totals() takes locks of the allocator, one after the other: of
 *          jemalloc those of its control functions, arenas and bins.  gg_allocator_calls_slabs()
 *          takes none; the first call takes that of jemalloc's control functions, to find the name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/layout.h"

enum { GG_ALLOCATOR_CALLS_SLABS_MOST = 64 /* pointers of one call */ };

/* The slab of a block, in the order in which jemalloc states these numbers. */
struct gg_allocator_slab {
	size_t free_count, region_count; /* 0 regions: the allocator does not know the block */
	size_t bytes;
};

/* Finds the names of numbers.  Before the first of the calls below, and not timed. */
void gg_allocator_calls_prepare(void);

/* Sets the totals that the allocator states, and leaves the others. */
void gg_allocator_calls_totals(uint64_t totals[GG_ALLOCATOR_TOTAL_CAPACITY]);

/* True if the allocator tells the slabs of blocks. */
bool gg_allocator_calls_has_slabs(void);

/*
 * Returns the address of a block's slab.  0: unknown, because the slab is not of the size that
 * jemalloc chooses without options of its user.
 */
uint64_t gg_allocator_calls_slab_address(const void *block, const struct gg_allocator_slab *slab);

/*
 * Reads the slabs of up to GG_ALLOCATOR_CALLS_SLABS_MOST blocks.  Each must be a block of the
 * allocator, or must have been one.  False: the allocator refuses.
 */
bool gg_allocator_calls_slabs(const void *const *blocks, size_t count,
                              struct gg_allocator_slab *ret_slabs);
