/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_slab_shares - what blocks pin of slabs, by made-up page tables. */
#include "record/look/slab_shares.h"

#include <errno.h>
#include <math.h>

#include "test.h"

enum { PAGE = 4096, PAGES = 64, REGIONS_MOST = 64 };

static const uint64_t base = UINT64_C(0x7f0000000000);

/* Serves the pages from `base` on. */
static int read_pages(void *context, uint64_t first, size_t count, uint64_t *ret_words)
{
	const bool *is_resident = context;

	if (is_resident == NULL)
		return -EIO;
	for (size_t i = 0; i < count; i++) {
		uint64_t page = first + i - base / PAGE;

		ret_words[i] = page < PAGES && is_resident[page] ? UINT64_C(1) << 63 : 0;
	}
	return 0;
}

/* A slab of `pages` pages at `base`, and a block in it. */
static struct gg_region_allocator_block slab_of(uint64_t pages, uint32_t region_count,
                                                uint32_t free_count, uint32_t region)
{
	uint64_t bytes = pages * PAGE;

	return (struct gg_region_allocator_block){ .address = base + bytes / region_count * region,
		                                   .slab_bytes = bytes,
		                                   .region_count = region_count,
		                                   .free_count = free_count,
		                                   .slab_address = base };
}

static double share_of(const struct gg_region_allocator_block *slab, const bool *is_resident)
{
	const struct gg_memory_source source = { (void *)(uintptr_t)is_resident, read_pages, NULL };
	double pinned = -2;
	struct gg_slab_block block = { slab, &pinned };
	int status = gg_slab_shares_find(&block, 1, &source, PAGE);

	CHECK_EQ_I64(status, is_resident != NULL ? 0 : -EIO);
	return pinned;
}

TEST(free_memory_that_is_not_resident_is_not_pinned)
{
	bool is_resident[PAGES] = { true, true, false, false, true };
	struct gg_region_allocator_block slab = slab_of(5, 64, 62, 0);

	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), (62 * 320 - 2 * PAGE) / 2.0);
	is_resident[2] = is_resident[3] = true;
	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), 62 * 320 / 2.0);
	slab.slab_address = 0; /* unknown: it counts as resident */
	is_resident[2] = false;
	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), 62 * 320 / 2.0);
}

TEST(a_block_alone_in_its_slab_pins_nothing)
{
	bool is_resident[PAGES] = { false };
	struct gg_region_allocator_block slab = slab_of(4, 1, 0, 0);

	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), 0);
}

TEST(a_share_is_at_least_nothing_and_at_most_all_free_bytes)
{
	bool is_resident[PAGES] = { false };
	struct gg_region_allocator_block slab = slab_of(2, 4, 1, 0);

	/* Nothing is resident, so nothing is pinned. */
	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), 0);
	/* Three blocks of half a page: one page is absent, and only half a page is free. */
	is_resident[0] = true;
	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), 0);
	/* This block is on the absent page, so what is absent may be blocks alone. */
	slab.address = base + PAGE;
	CHECK(share_of(&slab, is_resident) <= 2048 / 3.0);
	CHECK(share_of(&slab, is_resident) > 0);
}

TEST(shares_add_up_to_the_free_resident_bytes_of_a_slab)
{
	uint64_t state = 22;

	for (int round = 0; round < 2000; round++) {
		bool is_resident[PAGES] = { false }, is_used[REGIONS_MOST] = { false };
		uint32_t region_count = 64, used_count = 0;
		uint64_t pages = 5, free_resident = 0;
		double sum = 0;

		/* Blocks in use are resident, free regions only where such a block is. */
		for (uint32_t i = 0; i < region_count; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			is_used[i] = state >> 60 == 0;
			used_count += is_used[i];
			if (is_used[i])
				is_resident[i * 320 / PAGE] = is_resident[(i * 320 + 319) / PAGE] =
					true;
		}
		for (uint64_t byte = 0; byte < pages * PAGE; byte++)
			free_resident += is_resident[byte / PAGE] && !is_used[byte / 320];
		for (uint32_t i = 0; i < region_count; i++) {
			struct gg_region_allocator_block slab = slab_of(
				pages, region_count, region_count - used_count, i);

			if (is_used[i])
				sum += share_of(&slab, is_resident);
		}
		if (used_count > 0)
			CHECK(fabs(sum - (double)free_resident) < 1e-6);
	}
}

TEST(without_a_page_table_all_shares_are_unknown)
{
	struct gg_region_allocator_block slab = slab_of(1, 64, 63, 0);

	CHECK_EQ_DOUBLE(share_of(&slab, NULL), -1);
}

TEST(a_hostile_slab_takes_no_time)
{
	bool is_resident[PAGES] = { true };
	struct gg_region_allocator_block slab = slab_of(UINT64_C(1) << 35, 64, 63, 0);

	CHECK_EQ_DOUBLE(share_of(&slab, is_resident), (double)(slab.slab_bytes / 64 * 63));
}
