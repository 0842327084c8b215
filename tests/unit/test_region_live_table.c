/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_live_table - shows that readers find each sample as recorded until it is closed. */
#include <string.h>

#include "region_fixture.h"
#include "test.h"

TEST(a_sample_is_read_back_with_all_that_was_recorded)
{
	const uint64_t pcs[] = { 0x1111, 0x2222, 0x3333 };
	struct gg_region_view view;
	uint64_t read_pcs[8];

	if (!begin_small())
		return;
	uint32_t heap = gg_region_add_name(&region, GG_TABLE_HEAPS, "arena", 5);
	uint32_t type = gg_region_add_name(&region, GG_TABLE_TYPES, "int[]", 5);
	struct gg_allocation sample = {
		.address = 0x7f0012345670,
		.time_ns = 123456789,
		.size_bytes = (UINT64_C(1) << 47) + 5,
		.usable_bytes = (UINT64_C(1) << 47) + 4096,
		.draw = { .sampling_interval = 524288.5,
		          .offset_bytes = 77,
		          .sample_point_count = 3,
		          .scheme = GG_SCHEME_STRIDE },
		.stack = gg_region_intern(&region, &thread, pcs, 3),
		.heap = (uint16_t)heap,
		.type = (uint16_t)type,
		.flags = GG_REGION_SAMPLE_MAPPING,
	};
	CHECK_EQ_U64(gg_region_record_alloc(&region, &thread, &sample), 1);
	if (CHECK(region_view(&region, &view)) && CHECK_EQ_U64(view.live_count, 1)) {
		const struct gg_region_sample *read = &view.live[0];

		CHECK_EQ_U64(read->id, 1);
		CHECK_EQ_U64(read->address, sample.address);
		CHECK_EQ_U64(read->time_ns, sample.time_ns);
		CHECK_EQ_U64(read->size_bytes, sample.size_bytes);
		CHECK_EQ_U64(read->slack_bytes, 4091);
		CHECK(read->sampling_interval == 524288.5 && read->offset_bytes == 77);
		CHECK_EQ_U64(read->sample_point_count, 3);
		CHECK_EQ_I64(read->scheme, GG_SCHEME_STRIDE);
		CHECK_EQ_I64(read->flags, GG_REGION_SAMPLE_MAPPING);
		CHECK(read->thread == 1 && view.threads[1].tid == 42);
		CHECK_EQ_STR(view.threads[1].name, "main");
		CHECK_EQ_I64(memcmp(gg_region_view_string(&view, view.heaps[read->heap].offset),
		                    "arena", 5),
		             0);
		CHECK_EQ_U64(view.types[read->type].bytes, 5);
		CHECK_EQ_U64(gg_region_view_stack(&view, read->stack, read_pcs, 8), 3);
		CHECK_EQ_I64(memcmp(read_pcs, pcs, sizeof(pcs)), 0);
		CHECK_EQ_U64(gg_region_view_stack(&view, read->stack, read_pcs, 1), 3);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_freed_sample_moves_from_live_to_freed)
{
	struct gg_region_view view;
	uint64_t pc = 5;

	if (!begin_small())
		return;
	uint32_t stack = gg_region_intern(&region, &thread, &pc, 1);
	CHECK(record(0x1000, 100, stack) != 0);
	CHECK(record(0x2000, 200000, stack) != 0);
	CHECK(gg_live_maybe(&region, at(0x1000)));
	CHECK(release(0x1000));
	CHECK(!gg_live_maybe(&region, at(0x1000)));
	CHECK(!release(0x1000));
	if (CHECK(region_view(&region, &view))) {
		struct gg_region_totals totals = gg_region_view_totals(&view);

		CHECK_EQ_U64(totals.allocated.sample_count, 2);
		CHECK_EQ_U64(totals.freed.sample_count, 1);
		CHECK_EQ_U64(totals.allocated.size_bytes, 200100);
		CHECK_EQ_U64(totals.freed.size_bytes, 100);
		CHECK_EQ_U64(totals.live.size_bytes, 200000);
		CHECK_EQ_U64(view.live_count, 1);
		/* Lived 4999 ns: [2^12, 2^13). */
		CHECK_EQ_U64(view.site_totals[1].lifetimes[3], 1);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(an_address_that_is_new_again_closes_its_old_sample)
{
	if (!begin_small())
		return;
	uint64_t first = record(0x1000, 100, 0), second = record(0x1000, 300, 0);
	struct gg_region_sample found;

	CHECK_EQ_U64(first, 1);
	CHECK_EQ_U64(second, 2);
	CHECK(counted(GG_COUNT_MISSED_FREES) == 1 && counted(GG_COUNT_FREES) == 0);
	CHECK(gg_region_find(&region, at(0x1000), &found) && found.id == 2);
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_sample_is_closed_by_its_id_only_while_it_is_that_one)
{
	struct gg_region_sample found;

	if (!begin_small())
		return;
	record(0x1000, 100, 0);
	CHECK(gg_region_find(&region, at(0x1000), &found));
	/* realloc moved it, and another thread got the address before we could close it. */
	record(0x1000, 200, 0);
	CHECK(!gg_region_record_free(&region, &thread, at(0x1000), found.id, 1, 0));
	CHECK(gg_region_find(&region, at(0x1000), &found) && found.size_bytes == 200);
	CHECK(gg_region_record_free(&region, &thread, at(0x1000), found.id, 1, 0));
	CHECK(!gg_region_find(&region, at(0x1000), &found));
	CHECK(region_is_valid(&region));
	end();
}

TEST(who_closes_a_sample_is_told_what_it_was)
{
	struct gg_region_sample found, freed;
	struct gg_region_live_hit first, second;

	if (!begin_small())
		return;
	record(0x1000, 100, 0);
	record(0x2000, 200, 0);
	CHECK(gg_region_find(&region, at(0x2000), &found));
	CHECK(gg_region_look_up(&region, at(0x1000), &first));
	CHECK(gg_region_look_up(&region, at(0x2000), &second));
	CHECK(gg_region_record_close(&region, &thread, &second, 0, 1, 0, &freed));
	CHECK_EQ_I64(memcmp(&freed, &found, sizeof(found)), 0);
	CHECK(gg_region_record_close(&region, &thread, &first, 0, 1, 0, &freed));
	CHECK_EQ_U64(freed.size_bytes, 100);
	CHECK(counted(GG_COUNT_FREES) == 2 && region_is_valid(&region));
	end();
}

TEST(what_was_looked_up_and_is_gone_or_another_one_is_not_closed)
{
	struct gg_region_sample freed;
	struct gg_region_live_hit place, other;

	if (!begin_small())
		return;
	CHECK(!gg_region_look_up(&region, at(0x2000), &place));
	record(0x2000, 200, 0);
	CHECK(gg_region_look_up(&region, at(0x2000), &place));
	CHECK(!gg_region_record_close(&region, &thread, &place, 99, 1, 0, &freed));
	CHECK(gg_region_record_close(&region, &thread, &place, 0, 1, 0, &freed));
	CHECK(!gg_region_look_up(&region, at(0x2000), &other));
	CHECK(!gg_region_record_close(&region, &thread, &place, 0, 1, 0, &freed));
	/* The next sample has its place among the live ones. */
	record(0x3000, 300, 0);
	CHECK(gg_region_look_up(&region, at(0x3000), &other) &&
	      other.live_index == place.live_index);
	CHECK(!gg_region_record_close(&region, &thread, &place, 0, 1, 0, &freed));
	CHECK(counted(GG_COUNT_FREES) == 1 && region_is_valid(&region));
	end();
}

/* As a block of an allocator that keeps the place beside it. */
TEST(a_sample_is_closed_by_its_place_and_no_look_up_finds_it)
{
	void *p = (void *)0x7000;
	struct gg_region_place place = { 0 }, stale;
	struct gg_allocation sample = { .address = 0x7000,
		                        .size_bytes = 64,
		                        .draw = { .sampling_interval = 100,
		                                  .sample_point_count = 1 } };
	struct gg_region_live_hit hit;
	struct gg_region_sample closed;

	if (!begin_small())
		return;
	sample.stack = gg_region_intern(&region, &thread, (const uint64_t[]){ 0x1111 }, 1);
	for (int round = 0; round < 3; round++) {
		uint64_t id = gg_region_record_alloc_at(&region, &thread, &sample, &place);

		CHECK(id != 0 && place.id == id);
		CHECK(!gg_live_maybe(&region, p));
		CHECK(!gg_region_find(&region, p, &closed));
		CHECK(gg_region_find_at(&region, p, &place, &closed) && closed.id == id);
		CHECK_EQ_PTR(gg_region_validate(&region), NULL);
		REQUIRE(gg_region_look_up_at(&region, p, &place, &hit));
		CHECK(gg_region_record_close(&region, &thread, &hit, place.id, 5, 0, &closed));
		CHECK_EQ_U64(closed.id, id);
		stale = place;
		/* Once closed, the place leads to nothing, also while another sample is there. */
		CHECK(!gg_region_find_at(&region, p, &stale, &closed));
		CHECK(!gg_region_record_close(&region, &thread, &hit, stale.id, 6, 0, &closed));
		place.id = 0;
		CHECK_EQ_PTR(gg_region_validate(&region), NULL);
	}
	/* A free that was not recorded: the next sample of the place closes it. */
	CHECK(gg_region_record_alloc_at(&region, &thread, &sample, &place) != 0);
	CHECK(gg_region_record_alloc_at(&region, &thread, &sample, &place) != 0);
	CHECK_EQ_U64(region.header->counters[GG_COUNT_MISSED_FREES], 1);
	CHECK_EQ_PTR(gg_region_validate(&region), NULL);
	/* A place of a region that is gone, with more records. */
	stale = (struct gg_region_place){ .id = 1, .live_index = 1u << 30 };
	CHECK(!gg_region_look_up_at(&region, p, &stale, &hit));
	end();
}

TEST(a_sample_without_a_place_is_dropped_and_counted)
{
	if (!begin_small())
		return;
	for (uint64_t i = 1; i <= 600; i++)
		CHECK_EQ_I64(record(i * 16, i, 0) != 0, i <= 512);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_LIVE_FULL), 88);
	CHECK_EQ_U64(counted(GG_COUNT_SAMPLES), 512);
	CHECK(release(16));
	CHECK(record(601 * 16, 5, 0) != 0); /* the place is used again */
	CHECK(region_is_valid(&region));
	end();
}

TEST(what_cannot_be_a_sample_is_dropped_and_counted)
{
	if (!begin_small())
		return;
	struct gg_allocation sample = region_sample(0x1000, UINT64_C(1) << 48, 0);
	CHECK_EQ_U64(gg_region_record_alloc(&region, &thread, &sample), 0);
	sample = region_sample(0x1000, 10, 0);
	sample.draw.sampling_interval = 0;
	CHECK_EQ_U64(gg_region_record_alloc(&region, &thread, &sample), 0);
	CHECK_EQ_U64(record(0x1000, 10, 77), 0); /* no such stack */
	CHECK_EQ_U64(record(0, 10, 0), 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_SIZE), 4);
	end();
}

TEST(a_region_whose_file_or_private_state_was_changed_is_not_valid)
{
	struct gg_region_sample *mirror;
	struct gg_region_site_total *total;
	uint64_t saved;

	if (!begin_small())
		return;
	CHECK(record(0x1000, 10, 0) != 0);
	CHECK(gg_region_validate(&region) == NULL);
	mirror = gg_region_at(&region, GG_TABLE_LIVE, 0);
	mirror->time_ns++;
	CHECK(gg_region_validate(&region) != NULL);
	mirror->time_ns--;
	total = gg_region_at(&region, GG_TABLE_SITE_TOTALS, 1);
	total->allocated.size_bytes++;
	CHECK(gg_region_validate(&region) != NULL);
	total->allocated.size_bytes--;
	region.site_keys[1].thread++;
	CHECK(gg_region_validate(&region) != NULL);
	region.site_keys[1].thread--;
	saved = region.free_head;
	region.free_head = 1; /* leads to the live record */
	CHECK(gg_region_validate(&region) != NULL);
	region.free_head = saved;
	CHECK(gg_region_validate(&region) == NULL);
	end();
}
