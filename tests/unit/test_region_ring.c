/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_ring - shows that the ring keeps events until they are read or it is full. */
#include <errno.h>

#include "region/reader/view.h"
#include "region/ring.h"
#include "region_fixture.h"
#include "test.h"

TEST(the_ring_keeps_each_event_until_it_is_read)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[40];

	if (!begin_small())
		return;
	CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 40, false), 0);
	for (uint64_t round = 0; round < 10; round++) {
		for (uint64_t i = 1; i <= 10; i++) {
			record(i * 16 + round * 0x1000, i, 0);
			gg_region_record_free(&region, &thread, at(i * 16 + round * 0x1000), 0,
			                      9000 + i, 3);
		}
		int got = gg_ring_read(&reader, events, 40, false);

		if (got < 20) /* up to the end of the ring, then from its start */
			got += gg_ring_read(&reader, events + got, 40 - got, false);
		if (!CHECK_EQ_I64(got, 20))
			break;
		CHECK(events[18].kind == GG_EVENT_ALLOC && events[18].sample.size_bytes == 10);
		CHECK(events[19].kind == GG_EVENT_FREE && events[19].sample.size_bytes == 10);
		CHECK(events[19].time_ns == 9010 && events[19].free_stack == 3);
		CHECK_EQ_U64(events[19].sample.address, 160 + round * 0x1000);
		CHECK_EQ_U64(events[19].thread, 1);
	}
	CHECK(counted(GG_COUNT_DROP_EVENTS) == 0 && counted(GG_COUNT_EVENTS) == 200);
	end();
}

TEST(a_full_ring_drops_events_and_never_state)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[100];

	if (!begin_small())
		return;
	for (uint64_t i = 1; i <= 100; i++)
		CHECK(record(i * 16, i, 0) != 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_EVENTS), 36);
	CHECK(region_is_valid(&region));
	CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 100, false), 64);
	CHECK_EQ_U64(events[63].sample.size_bytes, 64);
	CHECK(record(16 * 200, 1, 0) != 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 100, false), 1);
	end();
}

TEST(a_reader_stops_at_its_end_which_a_view_names)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[40];
	struct gg_region_view view;

	if (!begin_small())
		return;
	for (uint64_t i = 1; i <= 10; i++)
		record(i * 16, i, 0);
	CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 4, false), 4);
	REQUIRE(gg_region_view_read(&view, region.map.fd, "the region", NULL) == 0);
	CHECK(!view.torn);
	CHECK_EQ_U64(view.ring_head, 10);
	reader.end = view.ring_head;
	for (uint64_t i = 11; i <= 15; i++)
		record(i * 16, i, 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 40, false), 6);
	CHECK_EQ_U64(events[5].sample.size_bytes, 10);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 40, false), 0);
	reader.end = 3; /* before what was read already */
	CHECK_EQ_I64(gg_ring_read(&reader, events, 40, false), 0);
	reader.end = UINT64_MAX;
	CHECK_EQ_I64(gg_ring_read(&reader, events, 40, false), 5);
	gg_region_view_done(&view);
	end();
}

TEST(the_space_of_the_ring_grows_with_its_use_and_all_of_it_is_used)
{
	enum { EVENTS = 4096 };
	static struct gg_region_event events[EVENTS];
	struct gg_ring_reader reader;

	gg_region_options_default(&options);
	if (!begin())
		return;
	for (uint64_t i = 1; i <= EVENTS + 1; i++)
		CHECK(record(i * 16, i, 0) != 0);
	CHECK(counted(GG_COUNT_EVENTS) == EVENTS && counted(GG_COUNT_DROP_EVENTS) == 1);
	CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, EVENTS, false), EVENTS);
	for (uint64_t i = 0; i < EVENTS; i++)
		CHECK_EQ_U64(events[i].sample.size_bytes, i + 1);
	end();
}

TEST(a_ring_without_space_drops_events_and_never_state)
{
	if (!begin_small())
		return;
	CHECK(record(16, 1, 0) != 0);
	region.map.bytes = 0; /* no request for space is granted */
	region.tables[GG_TABLE_RING].reserved_bytes = sizeof(struct gg_region_event);
	for (uint64_t i = 2; i <= 50; i++)
		CHECK(record(i * 16, i, 0) != 0);
	CHECK(counted(GG_COUNT_EVENTS) == 1 && counted(GG_COUNT_DROP_EVENTS) == 49);
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_writer_that_died_in_the_ring_does_not_hold_up_its_reader_for_ever)
{
	struct gg_ring_reader reader;
	struct gg_region_event events[8];

	if (!begin_small())
		return;
	record(16, 1, 0);
	region.header->ring_head++; /* claimed, never published */
	record(32, 2, 0);
	CHECK_EQ_I64(gg_ring_open(&reader, region.map.fd), 0);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 8, false), 1);
	CHECK_EQ_I64(gg_ring_read(&reader, events, 8, false), 0);
	CHECK(gg_ring_read(&reader, events, 8, true) == 1 && events[0].sample.size_bytes == 2);
	CHECK_EQ_U64(reader.lost_count, 1);
	region.header->ring_head += 1000;
	CHECK_EQ_I64(gg_ring_read(&reader, events, 8, true), -EBADMSG);
	end();
}
