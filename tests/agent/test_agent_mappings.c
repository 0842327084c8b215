/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_mappings - shows how mmap() and its relatives are recorded with GEIGER_MMAP=1. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/inside.h"
#include "agent/place.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=512k", "GEIGER_MMAP=1")

static void *map(size_t bytes, int protection, int flags)
{
	return mmap(NULL, bytes, protection, MAP_PRIVATE | flags, -1, 0);
}

TEST(an_anonymous_mapping_is_a_certain_sample_until_it_is_unmapped)
{
	void *p = map(10000, PROT_READ | PROT_WRITE, MAP_ANONYMOUS);
	struct gg_region_sample sample = inside_live(p);

	CHECK_EQ_U64(sample.size_bytes, 10000);
	CHECK_EQ_DOUBLE(sample.sampling_interval, 1);
	CHECK((sample.flags & GG_REGION_SAMPLE_MAPPING) != 0);
	CHECK_EQ_I64(munmap(p, 10000), 0);
	CHECK(!inside_is_live(p));
}

TEST(a_mapping_that_grows_or_moves_is_closed_and_recorded_anew)
{
	char *p = map(1 << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS);
	char *place = map(4 << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS);
	char *moved = mremap(p, 1 << 20, 2 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, place);

	CHECK_EQ_PTR(moved, place);
	CHECK(!inside_is_live(p));
	CHECK_EQ_U64(inside_live(moved).size_bytes, 2 << 20);
	CHECK_EQ_I64(munmap(moved, 4 << 20), 0);
	CHECK(!inside_is_live(moved));
}

TEST(what_fails_changes_nothing)
{
	void *p = map(8192, PROT_READ | PROT_WRITE, MAP_ANONYMOUS);

	if (place_is_emulated())
		SKIP("the emulator's mremap takes a size of 0");
	errno = 0;
	CHECK(munmap(p, 0) == -1 && errno == EINVAL);
	CHECK_EQ_U64(inside_live(p).size_bytes, 8192);
	errno = 0;
	CHECK(mremap(p, 8192, 0, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
	CHECK_EQ_U64(inside_live(p).size_bytes, 8192);
	CHECK(map(0, PROT_READ, MAP_ANONYMOUS) == MAP_FAILED && errno == EINVAL);
	CHECK_EQ_I64(munmap(p, 8192), 0);
}

TEST(reserved_addresses_are_no_memory)
{
	void *p = map(1 << 30, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE);

	CHECK(p != MAP_FAILED && !inside_is_live(p));
	CHECK_EQ_I64(munmap(p, 1 << 30), 0);
}

TEST(the_allocators_own_mappings_do_not_count_twice)
{
	struct gg_region_view view;
	void *p = malloc(64 << 20); /* a mapping of its own in every allocator */
	int mappings = 0;

	view = inside_view();
	for (uint32_t i = 0; i < view.live_count; i++)
		mappings += (view.live[i].flags & GG_REGION_SAMPLE_MAPPING) != 0 &&
		            view.live[i].size_bytes >= 64 << 20;
	CHECK_EQ_I64(mappings, 0);
	gg_region_view_done(&view);
	CHECK(inside_is_live(p));
	free(p);
}
