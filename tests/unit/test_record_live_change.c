/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_live_change - shows what two readings of the live samples tell about a time between.
 *
 * Blocks of 16 MiB are nearly always samples, so each represents itself.
 */
#include "record/look/live_change.h"

#include <math.h>

#include "record/look/look_samples.h"
#include "region_fixture.h"

#define BLOCK_BYTES (UINT64_C(16) << 20)

/* region_sample() takes the address as the time of the allocation, plus 1. */
static void allocate_at(uint64_t time_ns)
{
	CHECK(record(time_ns - 1, BLOCK_BYTES, 0) != 0);
}

static bool is_blocks(double bytes, int count)
{
	return fabs(bytes - count * (double)BLOCK_BYTES) < 1;
}

/* Something is read from 2000 to 3000, between both readings of the samples. */
TEST(blocks_that_came_while_something_was_read_are_unsure)
{
	struct gg_region_reader reader;
	struct gg_look_samples samples = { 0 };
	struct gg_live_difference difference;
	struct gg_error error;

	if (!begin_small())
		return;
	reader = (struct gg_region_reader){ .fd = region.map.fd };
	allocate_at(1001);
	allocate_at(1101);
	REQUIRE(gg_look_samples_read(&samples, &reader, NULL, &error) == 0);
	CHECK(release(1000));
	allocate_at(2000);
	for (uint64_t time_ns = 2100; time_ns <= 2300; time_ns += 100)
		allocate_at(time_ns);
	allocate_at(3001);
	allocate_at(3101);
	REQUIRE(gg_live_change_read(&samples.change, &reader, 2000, 3000, &difference, &error) ==
	        0);
	CHECK(is_blocks(difference.before_bytes, 2));
	CHECK(is_blocks(difference.stayed_bytes, 1));
	CHECK(is_blocks(difference.after_bytes, 7));
	CHECK(is_blocks(difference.new_bytes, 1));
	CHECK(is_blocks(difference.new_unsure_bytes, 3));
	CHECK(is_blocks(difference.unseen_bytes, 0));
	gg_look_samples_done(&samples);
	end();
}

/* The first reading as one that is late: it passes the place of this sample before that comes. */
static void read_without(struct gg_live_change *change, struct gg_region_reader *reader,
                         uint64_t time_ns)
{
	struct gg_error error;
	uint32_t end;

	REQUIRE(gg_region_reader_refresh(reader, &error) == 0);
	end = gg_region_reader_used(reader, GG_TABLE_LIVE);
	for (uint32_t i = 0; i < end; i++) {
		struct gg_region_sample sample;

		REQUIRE(gg_region_reader_read(reader, GG_TABLE_LIVE, i, 1, &sample));
		if (sample.time_ns == time_ns)
			sample = (struct gg_region_sample){ 0 };
		CHECK(gg_live_change_note(change, i, &sample));
	}
}

TEST(blocks_that_came_behind_the_first_reading_are_new)
{
	struct gg_region_reader reader;
	struct gg_live_change change = { 0 };
	struct gg_live_difference difference;
	struct gg_error error;

	if (!begin_small())
		return;
	reader = (struct gg_region_reader){ .fd = region.map.fd };
	gg_live_change_begin(&change, 1500);
	allocate_at(1001);
	allocate_at(1600);
	allocate_at(1650);
	CHECK(release(1649));
	allocate_at(1700);
	read_without(&change, &reader, 1600);
	REQUIRE(gg_live_change_read(&change, &reader, 2000, 3000, &difference, &error) == 0);
	CHECK(is_blocks(difference.before_bytes, 2));
	CHECK(is_blocks(difference.stayed_bytes, 2));
	CHECK(is_blocks(difference.after_bytes, 3));
	CHECK(is_blocks(difference.new_bytes, 1));
	CHECK(is_blocks(difference.new_unsure_bytes, 0));
	CHECK(is_blocks(difference.unseen_bytes, 1));
	gg_live_change_done(&change);
	end();
}
