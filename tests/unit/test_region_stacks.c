/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_stacks - shows that equal stacks share one id, and that frames are shared. */
#include <string.h>

#include "region_fixture.h"
#include "test.h"

TEST(equal_stacks_have_one_id_and_share_their_outer_frames)
{
	uint64_t a[] = { 1, 2, 3, 4 }, b[] = { 9, 2, 3, 4 };

	if (!begin_small())
		return;
	uint32_t id = gg_region_intern(&region, &thread, a, 4);
	uint32_t used = region.tables[GG_TABLE_STACKS].used_count;
	uint32_t other = gg_region_intern(&region, &thread, b, 4);

	CHECK(id >= GG_STACK_FIRST && other != id);
	CHECK_EQ_U64(used, GG_STACK_FIRST + 4);
	CHECK_EQ_U64(region.tables[GG_TABLE_STACKS].used_count, used + 1);
	CHECK_EQ_U64(gg_region_intern(&region, &thread, a, 4), id);
	CHECK_EQ_U64(gg_region_intern(&region, &thread, b, 4), other);
	/* The caller's stack is the node above; the order of frames matters. */
	CHECK_EQ_U64(gg_region_intern(&region, &thread, a + 1, 3), id - 1);
	CHECK(gg_region_intern(&region, &thread, a, 3) != id);
	CHECK_EQ_U64(gg_region_intern(&region, &thread, a, 0), GG_STACK_EMPTY);
	end();
}

TEST(frames_that_are_known_to_be_the_last_ones_need_not_be_compared)
{
	enum { DEPTH = 200 };
	struct gg_region_thread other;
	uint64_t pcs[DEPTH], random = 5;
	uint32_t last_count = 0;

	if (!begin_small())
		return;
	gg_region_thread_begin(&region, &other, 2, "other", 0);
	for (int i = 0; i < DEPTH; i++)
		pcs[i] = 1000 + (uint64_t)i;
	/* pcs[DEPTH - 1] is the outermost; each stack keeps some of the last one's outer frames. */
	for (int i = 0; i < 300; i++) {
		uint32_t known = last_count == 0
		                         ? 0
		                         : (uint32_t)(region_random(&random) % (last_count + 1));
		uint32_t count = known + (uint32_t)(region_random(&random) % (DEPTH - known)) + 1;
		const uint64_t *stack = pcs + (DEPTH - count);

		count = count > DEPTH ? DEPTH : count;
		for (uint32_t j = 0; j < count - known; j++)
			pcs[DEPTH - count + j] = region_random(&random) % 2 + 10 * j + 1;
		CHECK_EQ_U64(gg_region_intern_next(&region, &thread, stack, count, known),
		             gg_region_intern(&region, &other, stack, count));
		last_count = count;
	}
	end();
}

TEST(a_deep_stack_loses_its_outer_end)
{
	uint64_t pcs[300], read_pcs[300];
	struct gg_region_view view;

	region_small_options(&options);
	options.max_frames = 200;
	if (!begin())
		return;
	for (int i = 0; i < 300; i++)
		pcs[i] = 1000 + (uint64_t)i;
	uint32_t id = gg_region_intern(&region, &thread, pcs, 300);
	CHECK_EQ_U64(id, gg_region_intern(&region, &thread, pcs, 200));
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(gg_region_view_stack(&view, id, read_pcs, 300), 200);
		CHECK_EQ_I64(memcmp(read_pcs, pcs, 200 * sizeof(pcs[0])), 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_stack_without_a_place_is_the_overflow_stack)
{
	if (!begin_small())
		return;
	for (uint64_t i = 1; i <= 300; i++) {
		uint64_t pc = i;
		uint32_t id = gg_region_intern(&region, &thread, &pc, 1);

		CHECK_EQ_I64(id == GG_STACK_OVERFLOW, i > 254);
	}
	CHECK_EQ_U64(counted(GG_COUNT_STACKS_OVERFLOWED), 46);
	CHECK(record(0x1000, 10, GG_STACK_OVERFLOW) != 0);
	CHECK(region_is_valid(&region));
	end();
}
