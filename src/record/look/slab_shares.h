/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab_shares - what blocks pin of the slabs in which they lie, by the pages that are resident.
 *
 *   struct gg_slab_block blocks[] = { { .slab = seen, .pinned = &bytes } };
 *
 *   status = gg_slab_shares_find(blocks, GG_COUNT(blocks), &memory.source, page_bytes);
 *
 * The agent knows how many regions of a slab are free, and the kernel knows which of its pages are
 * resident.  Both together tell the free resident bytes (region/reader/allocator_looks.h).  A slab
 * whose address is unknown counts as resident.
 *
 * Hostile  the program writes what the agent saw: a slab of more than a MiB counts as resident.
 * Threads  any; one call at a time for each list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "record/look/process_memory.h"
#include "region/layout.h"

struct gg_slab_block {
	const struct gg_region_allocator_block *slab; /* what the agent saw */
	double *pinned;                               /* gets the bytes */
};

/*
 * Sorts the list by address, and fills in all shares.  0, or a negative errno value; then all are
 * -1, which is unknown.
 */
GG_MUST_CHECK int gg_slab_shares_find(struct gg_slab_block *blocks, size_t count,
                                      const struct gg_memory_source *source, uint64_t page_bytes);
