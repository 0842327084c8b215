/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_thread_slots - shows that a thread gets a slot and gives it back. */
#include "region_fixture.h"
#include "test.h"

TEST(a_thread_that_ends_leaves_its_row_and_gives_its_slot_back)
{
	struct gg_region_thread other;

	if (!begin_small())
		return;
	for (uint32_t i = 0; i < 30; i++) {
		gg_region_thread_begin(&region, &other, 100 + i, "worker", i);
		CHECK_EQ_U64(other.slot_plus_1, 2);
		CHECK_EQ_U64(other.thread, i < 14 ? i + 2 : 0);
		struct gg_allocation sample = region_sample(0x1000 + i * 16, 10, 0);
		CHECK(gg_region_record_alloc(&region, &other, &sample) != 0);
		gg_region_thread_end(&region, &other, 50 + i);
	}
	CHECK_EQ_U64(counted(GG_COUNT_DROP_THREADS), 16);
	CHECK(region_is_valid(&region));

	struct gg_region_view view;
	if (CHECK(region_view(&region, &view))) {
		CHECK(view.threads[3].tid == 101 && view.threads[3].end_ns == 51);
		CHECK_EQ_STR(view.threads[3].name, "worker");
		gg_region_view_done(&view);
	}
	end();
}

TEST(too_many_threads_at_once_record_nothing_and_are_counted)
{
	struct gg_region_thread others[8];
	struct gg_allocation sample = region_sample(0x1000, 10, 0);

	if (!begin_small())
		return;
	for (int i = 0; i < 8; i++)
		gg_region_thread_begin(&region, &others[i], 1, NULL, 0);
	CHECK(others[6].slot_plus_1 == 8 && others[7].slot_plus_1 == 0);
	CHECK_EQ_U64(gg_region_record_alloc(&region, &others[7], &sample), 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_SLOTS_FULL), 1);
	end();
}

TEST(a_call_that_interrupts_its_own_thread_is_dropped_and_counted)
{
	uint64_t pc = 1;

	if (!begin_small())
		return;
	CHECK(record(0x1000, 10, 0) != 0);
	thread.busy = 1; /* as a signal handler in the middle of a call finds it */
	CHECK_EQ_U64(record(0x2000, 10, 0), 0);
	CHECK(!release(0x1000));
	CHECK_EQ_U64(gg_region_intern(&region, &thread, &pc, 1), GG_STACK_OVERFLOW);
	CHECK_EQ_I64(thread.busy, 1);
	thread.busy = 0;
	CHECK_EQ_U64(counted(GG_COUNT_DROP_BUSY), 2);
	CHECK(release(0x1000));
	end();
}
