/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_looks - reads from a region what its agent saw of the allocator (region/layout.h).
 *
 *   struct gg_region_allocator_looks looks;
 *
 *   if (gg_region_allocator_looks_read(&looks, fd, path, error) < 0)
 *           return error->status;
 *   block = gg_region_allocator_looks_find(&looks, sample);
 *   gg_region_allocator_looks_done(&looks);
 *
 * The process may be dead, stopped or running.  The last complete look is read; one that is under
 * way is not, because it has seen only a part of the samples.
 *
 * Hostile   the file may hold anything; records that no agent writes are left out and counted.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "region/layout.h"

struct gg_region_allocator_looks {
	enum gg_region_allocator allocator;
	uint32_t flags;           /* GG_ALLOCATOR_LOOK_* */
	uint64_t postponed_count; /* samples at which the agent could not call the allocator */
	uint64_t totals_ns;       /* when the totals were read, monotonic; 0: never */
	uint64_t totals_span_ns;
	uint64_t totals[GG_ALLOCATOR_TOTAL_CAPACITY]; /* or GG_ALLOCATOR_TOTAL_UNKNOWN */

	/* The last complete look; number 0: no look is complete.  A stride of 0 means that the look
	 * saw no blocks, because the allocator does not tell their slabs. */
	struct gg_region_allocator_look look;
	struct gg_region_allocator_block *blocks; /* sorted by `sample`; owned */
	size_t block_count;
	uint64_t damaged_count; /* records left out */
};

/*
 * 0, or -Exxx with error filled and nothing to free; -EBADMSG: the file is no region.  A region of
 * an older version has no look.
 */
GG_MUST_CHECK int gg_region_allocator_looks_read(struct gg_region_allocator_looks *ret_looks,
                                                 int fd, const char *place, struct gg_error *error);
void gg_region_allocator_looks_done(struct gg_region_allocator_looks *looks);

/* The look at the block of that sample; NULL: the look has not seen it. */
const struct gg_region_allocator_block *gg_region_allocator_looks_find(
	const struct gg_region_allocator_looks *looks, uint64_t sample);

/*
 * The free resident bytes of the slab, in equal shares among the blocks that hold it.
 *
 * Bytes of the slab that are not resident are free ones or those of blocks that hold it.  Those of
 * this block are known, and count as its own.  So the shares of all blocks of a slab add up to its
 * free resident bytes.  A share is limited to what is possible, from 0 to all free bytes.
 */
double gg_region_allocator_block_share(const struct gg_region_allocator_block *block,
                                       uint64_t slab_resident_bytes, uint64_t block_resident_bytes);

/* The name of a total in profiles, such as "jemalloc.active". */
const char *gg_region_allocator_total_name(enum gg_region_allocator_total total);

/* "jemalloc", "tcmalloc", "mimalloc", "geiger-malloc"; NULL: unknown. */
const char *gg_region_allocator_name(enum gg_region_allocator allocator);
