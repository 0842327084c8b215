/* SPDX-License-Identifier: Apache-2.0 */
/* test_region - shows that readers find in a region exactly what writers recorded. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region.h"
#include "region/ring.h"
#include "region/writer/scan.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread thread;
static struct gg_region_options options;

static bool begin(void)
{
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	return true;
}

static bool begin_small(void)
{
	region_small_options(&options);
	return begin();
}

static void end(void)
{
	gg_region_done(&region, true);
}

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static uint64_t counted(enum gg_region_counter counter)
{
	struct gg_region_view view;
	uint64_t value;

	if (!CHECK(region_view(&region, &view)))
		return UINT64_MAX;
	value = view.header.counters[counter];
	gg_region_view_done(&view);
	return value;
}

static uint64_t record(uint64_t address, uint64_t size_bytes, uint32_t stack)
{
	struct gg_allocation sample = region_sample(address, size_bytes, stack);

	return gg_region_record_alloc(&region, &thread, &sample);
}

static bool release(uint64_t address)
{
	return gg_live_maybe(&region, at(address)) &&
	       gg_region_record_free(&region, &thread, at(address), 0, address + 5000, 0);
}

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

TEST(the_header_says_which_process_it_is)
{
	struct gg_region_view view;

	region_small_options(&options);
	options.command = "prog\0-x";
	options.command_bytes = 8;
	options.exe = "/bin/prog";
	options.exe_bytes = 9;
	options.parent_pid = 6;
	options.process_start_ticks = 99;
	if (!begin())
		return;
	gg_region_end(&region, 5555);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.header.pid, 7);
		CHECK_EQ_U64(view.header.parent_pid, 6);
		CHECK_EQ_U64(view.header.process_start_ticks, 99);
		CHECK(view.header.command_bytes == 8 &&
		      memcmp(view.header.command, "prog\0-x", 8) == 0);
		CHECK_EQ_U64(view.header.exe_bytes, 9);
		CHECK_EQ_U64(view.header.end_monotonic_ns, 5555);
		CHECK(view.header.start_wall_ns > UINT64_C(1704067200000000000));
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

TEST(names_are_interned_until_they_are_full)
{
	if (!begin_small())
		return;
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "", 0), 0);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "a", 1), 1);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "b", 1), 2);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "a", 1), 1);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "c", 1), 3);
	CHECK_EQ_U64(gg_region_add_name(&region, GG_TABLE_TYPES, "d", 1), 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_NAMES), 1);
	end();
}

TEST(modules_are_read_back_and_dropped_when_full)
{
	const uint8_t build_id[] = { 1, 2, 3 };
	const struct gg_region_range ranges[] = { { 0x1000, 0x2000, 0 },
		                                  { 0x3000, 0x4000, 0x1000 } };
	struct gg_module_info info = {
		.path = "/lib/libm.so",
		.path_bytes = 12,
		.build_id = build_id,
		.build_id_bytes = 3,
		.bias = 0x1000,
		.load_ns = 5,
		.generation = 2,
		.range_count = 2,
		.ranges = ranges,
	};
	struct gg_region_view view;

	if (!begin_small())
		return;
	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ_U64(gg_region_add_module(&region, &info), i);
	CHECK_EQ_U64(gg_region_add_module(&region, &info), GG_INDEX_NONE);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_MODULES), 1);
	gg_region_unload_module(&region, 1, 77);
	if (CHECK(region_view(&region, &view)) && CHECK_EQ_U64(view.module_count, 4)) {
		const struct gg_region_module *module = &view.modules[1];

		CHECK_EQ_I64(memcmp(gg_region_view_string(&view, module->path_offset),
		                    "/lib/libm.so", 12),
		             0);
		CHECK(module->range_count == 2 && module->ranges[1].end == 0x4000);
		CHECK(module->build_id_bytes == 3 && module->build_id[2] == 3);
		CHECK(module->unload_ns == 77 && view.modules[0].unload_ns == 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(another_process_may_write_the_control_word)
{
	if (!begin_small())
		return;
	struct gg_region_request request = gg_region_control(&region);
	CHECK(request.active && request.interval_bytes == 512 * 1024);
	struct gg_region_control control = { .change_count = 2, .interval_bytes = 4096 };
	CHECK_EQ_U64(pwrite(region.map.fd, &control, sizeof(control),
	                    offsetof(struct gg_region_header, control)),
	             sizeof(control));
	request = gg_region_control(&region);
	CHECK_EQ_U64(request.change_count, 2);
	CHECK(!request.active);
	CHECK_EQ_U64(request.interval_bytes, 4096);
	end();
}

TEST(a_full_disk_drops_and_counts)
{
	uint64_t dropped = 0;

	region_small_options(&options);
	options.capacities[GG_TABLE_LIVE] = 1 << 16;
	options.capacities[GG_TABLE_SITE_TOTALS] = 1 << 16;
	if (!begin())
		return;
	CHECK(record(16, 10, 0) != 0);
	/* From now on no request for space is granted. */
	region.map.bytes = 0;
	for (uint64_t i = 2; i < 5000; i++)
		dropped += record(i * 16, 10, 0) == 0;
	CHECK(dropped > 2000 && counted(GG_COUNT_GROW_FAILED) > 0);
	CHECK_EQ_U64(counted(GG_COUNT_DROP_LIVE_FULL), dropped);
	/* It does not ask each time: twice in 1024 samples, of two tables. */
	CHECK(counted(GG_COUNT_GROW_FAILED) <= 2 * 2 * 5000 / 1024 + 2);
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_thread_that_stands_still_while_it_asks_for_space_holds_up_nobody)
{
	enum { SAMPLES = 20000 };

	gg_region_options_default(&options);
	if (!begin())
		return;
	/* As another thread leaves it, that was interrupted before its system call. */
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		region.tables[i].growing = 1;
	for (uint64_t i = 0; i < SAMPLES; i++) {
		const uint64_t pc = 0x1000 + i;

		record(0x10000 + i * 64, 48, gg_region_intern(&region, &thread, &pc, 1));
	}
	CHECK_MSG(counted(GG_COUNT_SAMPLES) == SAMPLES, "%lu",
	          (unsigned long)counted(GG_COUNT_SAMPLES));
	CHECK(counted(GG_COUNT_STACKS_OVERFLOWED) == 0 && counted(GG_COUNT_ROWS_FOLDED) == 0);
	CHECK(region_is_valid(&region));
	end();
}

/* The bytes of the file that have space, by the tables' own counts. */
static uint64_t reserved_bytes(void)
{
	uint64_t reserved = GG_REGION_PAGE_BYTES;

	for (int i = 0; i < GG_TABLE_COUNT; i++)
		reserved += region.tables[i].reserved_bytes;
	return reserved;
}

/* The bytes that the file system has allocated for the file. */
static uint64_t disk_bytes(void)
{
	struct stat status;

	return fstat(region.map.fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : UINT64_MAX;
}

TEST(a_small_program_needs_little_space)
{
	gg_region_options_default(&options);
	if (!begin())
		return;
	for (uint64_t i = 1; i <= 2000; i++) {
		uint64_t pcs[] = { i, i / 10 + 100000, i / 100 + 200000 };

		record(i * 16, 100, gg_region_intern(&region, &thread, pcs, 3));
	}
	/* 2000 live samples on as many stacks are much for a small program. */
	CHECK_MSG(reserved_bytes() <= 2 << 20, "%llu bytes", (unsigned long long)reserved_bytes());
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_program_that_ends_at_once_takes_a_page_without_a_sample_and_a_dozen_with_one)
{
	struct gg_region_view view;
	struct gg_region_scan scan;

	gg_region_options_default(&options);
	options.capacities[GG_TABLE_RING] = 1 << 20;
	if (!CHECK(region_make(&region, &options)))
		return;
	CHECK_MSG(disk_bytes() <= 4 << 10, "%llu bytes", (unsigned long long)disk_bytes());
	/* Readers find what there is at the start: names and a thread, and no row. */
	gg_region_scan_begin(&region, &scan);
	CHECK_EQ_U64(scan.site_total_count, 0);
	CHECK_EQ_U64(scan.live_count, 0);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.site_total_count, 0);
		CHECK_EQ_U64(view.thread_count, 1);
		CHECK_EQ_U64(view.heap_count, 1);
		gg_region_view_done(&view);
	}
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	record(16, 100, GG_STACK_OVERFLOW);
	CHECK_MSG(reserved_bytes() <= 48 << 10, "%llu bytes", (unsigned long long)reserved_bytes());
	CHECK_MSG(disk_bytes() <= 48 << 10, "%llu bytes", (unsigned long long)disk_bytes());
	if (CHECK(region_view(&region, &view))) {
		/* Row 0 is thread 0's. */
		CHECK(view.site_total_count == 2 && view.site_totals[1].stack == GG_STACK_OVERFLOW);
		CHECK(view.site_totals[1].thread == 1 &&
		      view.site_totals[1].allocated.sample_count == 1);
		gg_region_view_done(&view);
	}
	end();
}

TEST(without_space_for_the_first_row_nothing_is_recorded_and_that_is_counted)
{
	uint64_t bytes;

	region_small_options(&options);
	if (!CHECK(region_make(&region, &options)))
		return;
	/* No request for space is granted. */
	bytes = region.map.bytes;
	region.map.bytes = 0;
	gg_region_thread_begin(&region, &thread, 42, "main", 1000);
	CHECK(record(16, 100, GG_STACK_OVERFLOW) == 0 && !gg_live_maybe(&region, at(16)));
	CHECK(counted(GG_COUNT_GROW_FAILED) > 0 && counted(GG_COUNT_DROP_SLOTS_FULL) == 1);
	region.map.bytes = bytes;
	CHECK(region_is_valid(&region));
	end();
}

TEST(what_is_wiped_in_a_child_is_whole_pages_however_large_they_are)
{
	enum { LARGEST_PAGE_BYTES = 64 * 1024 };

	if (!begin_small())
		return;
	const void *const parts[] = { region.records,
		                      region.homes,
		                      region.stack_words,
		                      region.site_keys,
		                      region.slot_owners,
		                      region.address_index.levels[0],
		                      region.stack_index.levels[0],
		                      region.site_index.levels[0],
		                      region.filter.memory };

	for (size_t i = 0; i < GG_COUNT(parts); i++) {
		size_t at = (size_t)((const uint8_t *)parts[i] - region.memory);

		CHECK_MSG(at % LARGEST_PAGE_BYTES == 0 && at < region.memory_bytes,
		          "part %zu begins at %zu", i, at);
	}
	end();
}

TEST(capacities_are_halved_until_they_fit)
{
	struct gg_region_options standard, fit;

	gg_region_options_default(&standard);
	fit = standard;
	gg_region_options_fit(&fit, UINT64_MAX);
	CHECK_EQ_I64(memcmp(&fit, &standard, sizeof(fit)), 0);
	for (uint64_t bytes = UINT64_C(1) << 30; bytes >= 4 << 20; bytes /= 2) {
		fit = standard;
		gg_region_options_fit(&fit, bytes);
		CHECK_MSG(gg_region_options_file_bytes(&fit) > 0 &&
		                  gg_region_options_file_bytes(&fit) < bytes,
		          "%lu bytes", (unsigned long)bytes);
		options = fit;
		if (!begin())
			return;
		CHECK_MSG(gg_region_options_file_bytes(&fit) + region.memory_bytes <= bytes,
		          "%lu bytes", (unsigned long)bytes);
		CHECK(record(0x1000, 48, GG_STACK_EMPTY) != 0 && region_is_valid(&region));
		end();
	}
	/* Not below what is of use. */
	gg_region_options_fit(&fit, 0);
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		CHECK(fit.capacities[i] >= 256);
}

static bool has_flag(const void *mapping, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[600];
	bool is_it = false, has = false;
	unsigned long begin, end;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_it = (uintptr_t)mapping >= begin && (uintptr_t)mapping < end;
		has |= is_it && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag) != NULL;
	}
	if (file != NULL)
		fclose(file);
	return has;
}

TEST(sparse_tables_are_not_filled_by_huge_pages)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		SKIP("this kernel has no huge pages");
	if (getenv("TEST_EMULATOR") != NULL)
		SKIP("the emulator does not pass on what it is told of huge pages");
	if (!begin_small())
		return;
	CHECK(has_flag(region.memory, " nh"));
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
