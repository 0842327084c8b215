/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_block_looks - shows what a look sees of the blocks of this process. */
#include "record/look/block_looks.h"

#include <errno.h>
#include <sys/mman.h>

#include "heap_child.h"

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static char *map_pages(size_t count)
{
	void *memory = mmap(NULL, count * page_bytes(), PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(memory != MAP_FAILED);
	madvise(memory, count * page_bytes(), MADV_NOHUGEPAGE);
	return memory;
}

TEST(resident_bytes_are_those_on_touched_pages)
{
	enum { PAGES = 2000 };
	char *memory = map_pages(PAGES);
	struct gg_block_place places[] = {
		{ .sample = 9, .address = (uintptr_t)memory, .usable_bytes = PAGES * page_bytes() },
		{ .sample = 7, .address = (uintptr_t)memory + 100, .usable_bytes = page_bytes() },
		{ .sample = 8, .address = (uintptr_t)memory + page_bytes(), .usable_bytes = 64 },
		{ .sample = 6, .address = (uintptr_t)memory + 32, .usable_bytes = 0 },
	};
	struct gg_block_looks looks;

	for (size_t page = 0; page < PAGES; page += 2)
		memory[page * page_bytes()] = 1;
	take_looks(&looks, getpid(), places, GG_COUNT(places));
	REQUIRE(looks.blocks.count == GG_COUNT(places));
	for (size_t i = 0; i < GG_COUNT(places); i++) {
		CHECK_EQ_U64(looks.blocks.items[i].sample, places[i].sample);
		CHECK_EQ_I64(looks.blocks.items[i].swapped_bytes, 0);
	}
	CHECK_EQ_I64(looks.blocks.items[0].resident_bytes, (int64_t)(PAGES / 2 * page_bytes()));
	CHECK_EQ_I64(looks.blocks.items[1].resident_bytes, (int64_t)page_bytes() - 100);
	CHECK_EQ_I64(looks.blocks.items[2].resident_bytes, 0);
	CHECK_EQ_I64(looks.blocks.items[3].resident_bytes, 0);
	gg_block_looks_done(&looks);
	munmap(memory, PAGES * page_bytes());
}

TEST(places_outside_of_the_address_space_hold_nothing)
{
	struct gg_block_place places[] = {
		{ .sample = 1, .address = UINT64_MAX - 10, .usable_bytes = UINT64_MAX },
		{ .sample = 2, .address = 0, .usable_bytes = 4096 },
	};
	struct gg_block_looks looks;

	take_looks(&looks, getpid(), places, GG_COUNT(places));
	CHECK_EQ_I64(looks.blocks.items[0].resident_bytes, 0);
	CHECK_EQ_I64(looks.blocks.items[1].resident_bytes, 0);
	gg_block_looks_done(&looks);
}

TEST(no_places_are_no_error_and_no_process_is_one)
{
	const struct gg_block_looks_options options = { 0 };
	struct gg_block_looks looks;
	struct gg_error error;

	take_looks(&looks, getpid(), NULL, 0);
	CHECK_EQ_U64(looks.blocks.count, 0);
	gg_block_looks_done(&looks);
	CHECK(gg_block_looks_take(&looks, 0x7fffffff, NULL, 0, &options, &error) == -ENOENT);
	CHECK_CONTAINS(error.place, "/proc/");
}
