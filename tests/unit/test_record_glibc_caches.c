/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_glibc_caches - shows that forged tables of caches cannot hold up a look.
 *
 * Each list of a made-up process goes in a circle of two blocks, so it is torn after as many blocks
 * as its table states.
 */
#include "record/look/glibc_caches.h"

#include "test.h"

#define HEAP      UINT64_C(0x7f0000000000)
#define KEY       UINT64_C(0x1122334455667788)
#define READS_MAX ((uint64_t)3 << 20)

enum {
	TABLES = 6,
	PAGE_BYTES = 4096,
	LIST_BYTES = 2 * PAGE_BYTES, /* a block on each of two pages */
	BLOCK_PLACE = 32,
	PRESENT_BIT = 63,
};

struct forged {
	uint64_t block_count; /* that were read */
};

static int read_pages(void *context, uint64_t first, size_t count, uint64_t *ret_words)
{
	(void)context;
	(void)first;
	for (size_t i = 0; i < count; i++)
		ret_words[i] = UINT64_C(1) << PRESENT_BIT;
	return 0;
}

static uint64_t block_of(size_t list)
{
	return HEAP + list * LIST_BYTES + BLOCK_PLACE;
}

/* The first word of a block leads to the other one of its list.  Its head lies before it. */
static uint64_t word_at(uint64_t address)
{
	size_t list = (address - HEAP) / LIST_BYTES;

	switch (address % PAGE_BYTES) {
	case BLOCK_PLACE - 8:
		return ((list + 2) * 16) | 1;
	case BLOCK_PLACE:
		return (2 * block_of(list) + PAGE_BYTES - address) ^ (address >> 12);
	case BLOCK_PLACE + 8:
		return KEY;
	default:
		return 0;
	}
}

static ssize_t read_ranges(void *context, const struct gg_memory_range *ranges, size_t count)
{
	struct forged *forged = context;

	for (size_t i = 0; i < count; i++) {
		uint64_t *words = ranges[i].to;

		if (ranges[i].address == KEY)
			continue; /* the table is as it was */
		for (size_t at = 0; at < ranges[i].bytes; at += sizeof(*words)) {
			words[at / sizeof(*words)] = word_at(ranges[i].address + at);
			forged->block_count += (ranges[i].address + at) % PAGE_BYTES == BLOCK_PLACE;
		}
	}
	return (ssize_t)count;
}

static struct gg_glibc_cache_table forged_table(uint16_t count)
{
	struct gg_glibc_cache_table table;

	for (size_t i = 0; i < GG_GLIBC_CACHE_LISTS; i++) {
		table.counts[i] = count;
		table.blocks[i] = block_of(i);
	}
	return table;
}

/* Counts that many tables, each list of which states `count` blocks. */
static struct gg_glibc_cache_sums count_forged(struct forged *forged, uint64_t tables,
                                               uint16_t count)
{
	const struct gg_memory_source source = { forged, read_pages, read_ranges };
	struct gg_residency residency;
	struct gg_glibc_heaps heaps = { 0 };
	const struct gg_glibc_view view = { .heaps = &heaps, .residency = &residency };
	struct gg_glibc_caches caches = { .has_layout = true };
	struct gg_glibc_cache_sums sums = { 0 };

	gg_residency_init(&residency, &source, PAGE_BYTES);
	CHECK(gg_array_push(&heaps.items,
	                    (struct gg_glibc_heap){ HEAP, HEAP + (1 << 20), 0, false }));
	for (uint64_t i = 0; i < tables; i++)
		CHECK(gg_array_push(&caches.tables,
		                    (struct gg_glibc_cache){ KEY, forged_table(count) }));
	CHECK_EQ_I64(gg_glibc_caches_count(&sums, &caches, &view, 0), 0);
	gg_glibc_caches_done(&caches);
	gg_glibc_heaps_done(&heaps);
	return sums;
}

TEST(forged_tables_end_at_a_limit_over_all_of_them_which_the_sums_tell)
{
	struct forged forged = { 0 };
	struct gg_glibc_cache_sums sums = count_forged(&forged, TABLES, UINT16_MAX);

	CHECK(!sums.is_known);
	CHECK(sums.uncounted_bytes > 0);
	CHECK_MSG(forged.block_count <= READS_MAX, "%llu blocks were read",
	          (unsigned long long)forged.block_count);
}

TEST(tables_whose_lists_are_torn_are_unknown_without_a_limit)
{
	struct forged forged = { 0 };
	struct gg_glibc_cache_sums sums = count_forged(&forged, 1, 7);

	CHECK(!sums.is_known);
	CHECK_EQ_I64(sums.uncounted_bytes, 0);
}
