/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_site_totals - shows that totals stay exact when rows are full, held or folded. */
#include <string.h>

#include "region_fixture.h"
#include "test.h"

TEST(without_room_for_rows_stacks_fold_and_stay_exact)
{
	struct gg_region_thread others[6];
	uint32_t stacks[60];

	if (!begin_small())
		return;
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t pc = i + 1;

		stacks[i] = gg_region_intern(&region, &thread, &pc, 1);
	}
	/*
	 * 127 rows serve 7 threads on 60 stacks.  The last 20 stacks come when all rows are taken.
	 */
	for (int t = 0; t < 6; t++) {
		gg_region_thread_begin(&region, &others[t], 100, NULL, 0);
		for (uint64_t i = 0; i < 40; i++) {
			struct gg_allocation sample = region_sample(
				0x10000 + (uint64_t)t * 0x1000 + i * 16, i * 1000, stacks[i]);

			CHECK(gg_region_record_alloc(&region, &others[t], &sample) != 0);
		}
	}
	for (uint64_t i = 40; i < 60; i++)
		CHECK(record(0x100000 + i * 16, i, stacks[i]) != 0);
	CHECK(counted(GG_COUNT_ROWS_FOLDED) > 0);
	CHECK(region_is_valid(&region));
	for (uint64_t i = 0; i < 40; i++)
		for (uint64_t t = 0; t < 6; t += 2)
			CHECK(release(0x10000 + t * 0x1000 + i * 16));
	CHECK(release(0x100000 + 40 * 16));
	CHECK(region_is_valid(&region));

	struct gg_region_view view;
	if (CHECK(region_view(&region, &view))) {
		uint32_t overflowed = 0;

		for (uint32_t i = 0; i < view.live_count; i++)
			overflowed += view.live[i].stack == GG_STACK_OVERFLOW;
		CHECK_EQ_U64(overflowed, 19);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_row_that_is_held_drops_the_sample_and_defers_the_free)
{
	if (!begin_small())
		return;
	CHECK(record(0x1000, 10, 0) != 0);
	region.site_owners[1] = 5; /* a thread that is preempted in the middle */
	CHECK_EQ_U64(record(0x2000, 10, 0), 0);
	CHECK(!release(0x1000));
	CHECK(counted(GG_COUNT_DROP_ROW_HELD) == 1 && counted(GG_COUNT_FREE_DEFERRED) == 1);
	CHECK(region_is_consistent(&region));
	region.site_owners[1] = 0;
	CHECK(record(0x1000, 20, 0) != 0); /* closes the deferred one */
	CHECK_EQ_U64(counted(GG_COUNT_MISSED_FREES), 1);
	CHECK(region_is_valid(&region));
	end();
}

TEST(sums_are_exact_in_any_order)
{
	const double values[] = {
		1, 0.3, 1e-9, 12345.678, 0x1p31 + 0.1, 0x1p33, 0x1p52 + 0.125, 0x1.8p80, 0x1p100
	};
	struct gg_fixed up = { 0 }, down = { 0 };

	for (size_t i = 0; i < GG_COUNT(values); i++) {
		double rounded = gg_fixed_value(gg_fixed_from(values[i]));
		double error = rounded - values[i];

		/* Half a unit, and half a unit in the last place of a double. */
		CHECK(error <= 0x1p-21 + values[i] * 0x1p-53 &&
		      error >= -0x1p-21 - values[i] * 0x1p-53);
		up = gg_fixed_add(up, gg_fixed_from(values[i]));
		down = gg_fixed_add(down, gg_fixed_from(values[GG_COUNT(values) - 1 - i]));
	}
	CHECK_EQ_I64(memcmp(&up, &down, sizeof(up)), 0);
	for (size_t i = 0; i < GG_COUNT(values); i++)
		up = gg_fixed_sub(up, gg_fixed_from(values[i]));
	CHECK_EQ_U64(up.low, 0);
	CHECK_EQ_U64(up.high, 0);
	CHECK(gg_fixed_from(-1).low == 0 && gg_fixed_from(0.0 / 0.0).low == 0);
	CHECK_EQ_DOUBLE(gg_fixed_value(gg_fixed_from(0x1p200)), 0x1p100);
}

TEST(lifetimes_have_the_edges_that_are_documented)
{
	CHECK(gg_lifetime_index(0) == 0 && gg_lifetime_index(1023) == 0);
	CHECK(gg_lifetime_index(1024) == 1 && gg_lifetime_index(2047) == 1);
	CHECK_EQ_U64(gg_lifetime_index(UINT64_C(1) << 40), 31);
	CHECK_EQ_U64(gg_lifetime_index(UINT64_MAX), 31);
	for (uint32_t i = 1; i < GG_REGION_LIFETIME_COUNT; i++) {
		CHECK_EQ_U64(gg_lifetime_index(gg_lifetime_from_ns(i)), i);
		CHECK_EQ_U64(gg_lifetime_index(gg_lifetime_from_ns(i) - 1), i - 1);
	}
}
