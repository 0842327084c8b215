/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab_shares - reads the page table for slabs in the order of addresses (look/slab_shares.h).
 */
#include "record/look/slab_shares.h"

#include <stdlib.h>

#include "record/look/residency.h"
#include "region/reader/allocator_looks.h"

/* The largest slab of jemalloc with pages of 64 KiB has half of that. */
enum { SLAB_BYTES_MOST = 1 << 20 };

static int compare_addresses(const void *left, const void *right)
{
	const struct gg_slab_block *first = left, *second = right;

	if (first->slab->address == second->slab->address)
		return 0;
	return first->slab->address < second->slab->address ? -1 : 1;
}

static int find_share(const struct gg_slab_block *block, struct gg_residency *residency)
{
	const struct gg_region_allocator_block *slab = block->slab;
	uint64_t region_bytes = slab->slab_bytes / slab->region_count;
	struct gg_residency_counts in_slab = { .resident_bytes = (int64_t)slab->slab_bytes };
	struct gg_residency_counts in_block = { .resident_bytes = (int64_t)region_bytes };
	int status = 0;

	/* The pages of a block alone in its slab matter to no share. */
	if (slab->slab_address != 0 && slab->free_count > 0 && slab->slab_bytes <= SLAB_BYTES_MOST)
		status = gg_residency_count(residency, slab->slab_address,
		                            slab->slab_address + slab->slab_bytes, &in_slab);
	if (status == 0 && in_slab.resident_bytes < (int64_t)slab->slab_bytes)
		status = gg_residency_count(residency, slab->address, slab->address + region_bytes,
		                            &in_block);
	if (status == 0)
		*block->pinned = gg_region_allocator_block_share(
			slab, (uint64_t)in_slab.resident_bytes, (uint64_t)in_block.resident_bytes);
	return status;
}

int gg_slab_shares_find(struct gg_slab_block *blocks, size_t count,
                        const struct gg_memory_source *source, uint64_t page_bytes)
{
	struct gg_residency residency;
	int status = 0;

	if (count > 0)
		qsort(blocks, count, sizeof(*blocks), compare_addresses);
	gg_residency_init(&residency, source, page_bytes);
	for (size_t i = 0; i < count && status == 0; i++)
		status = find_share(&blocks[i], &residency);
	for (size_t i = 0; i < count && status < 0; i++)
		*blocks[i].pinned = -1;
	return status;
}
