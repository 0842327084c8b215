/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_heaps - tests what a region has of a program's own heaps.
 *
 * Objects move and become old, and stacks have frames of runtimes.
 */
#include <stdlib.h>
#include <unistd.h>

#include "region.h"
#include "region/writer/prefetch.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread thread;

static bool begin(void)
{
	struct gg_region_options options;

	region_small_options(&options);
	options.capacities[GG_TABLE_FRAMES] = 8;
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &thread, 11, "test", 1);
	return true;
}

static void end(void)
{
	gg_region_done(&region, true);
}

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static uint64_t record(uint64_t address, uint64_t size_bytes)
{
	struct gg_allocation sample = region_sample(address, size_bytes, 0);

	return gg_region_record_alloc(&region, &thread, &sample);
}

static bool move(uint64_t from, uint64_t to)
{
	return gg_region_record_move(&region, &thread, at(from), at(to), 0, 1000);
}

static uint64_t live_at(uint64_t address)
{
	struct gg_region_sample found;

	return gg_region_find(&region, at(address), &found) ? found.id : 0;
}

/* The live samples of the file, by their sizes: each address, or 0. */
static bool read_addresses(uint64_t addresses[4])
{
	struct gg_region_view view;
	bool done = region_view(&region, &view);

	memset(addresses, 0, 4 * sizeof(*addresses));
	for (uint32_t i = 0; done && i < view.live_count; i++)
		if (CHECK(view.live[i].size_bytes < 4))
			addresses[view.live[i].size_bytes] = view.live[i].address;
	if (done) {
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	return CHECK(done);
}

TEST(what_is_expected_is_fetched_and_nothing_is_changed)
{
	uint64_t addresses[4], expected[40];

	if (!begin())
		return;
	/* Nothing is there yet; and what comes is not what was expected. */
	gg_region_prefetch_alloc(&region, &thread, 0x1000);
	gg_region_prefetch_free(&region, expected, 0);
	uint64_t id = record(0x2000, 1);

	for (uint64_t i = 0; i < GG_COUNT(expected); i++)
		expected[i] = 0x1000 * i;
	gg_region_prefetch_alloc(&region, &thread, 0x2000);
	gg_region_prefetch_free(&region, expected, GG_COUNT(expected));
	CHECK(live_at(0x2000) == id && live_at(0x1000) == 0);
	CHECK(record(0x3000, 2) != 0);
	CHECK(gg_region_record_free(&region, &thread, at(0x2000), id, 5, GG_STACK_EMPTY));
	gg_region_prefetch_alloc(&region, &thread, 0x2000);
	gg_region_prefetch_free(&region, expected, GG_COUNT(expected));
	CHECK(read_addresses(addresses) && addresses[1] == 0 && addresses[2] == 0x3000);
	end();
}

TEST(an_object_that_moved_is_found_at_its_new_address_alone)
{
	uint64_t addresses[4];

	if (!begin())
		return;
	uint64_t id = record(0x1000, 1);

	CHECK(move(0x1000, 0x9000));
	CHECK(live_at(0x9000) == id && live_at(0x1000) == 0);
	CHECK(gg_live_maybe(&region, at(0x9000)) && !gg_live_maybe(&region, at(0x1000)));
	if (read_addresses(addresses))
		CHECK_EQ_U64(addresses[1], 0x9000);
	CHECK(!move(0x1000, 0x9000));
	CHECK(gg_region_record_free(&region, &thread, at(0x9000), 0, 2000, 0));
	CHECK(region_is_valid(&region));
	end();
}

TEST(an_object_that_moves_to_where_one_is_live_closes_that_one_as_missed)
{
	uint64_t addresses[4];

	if (!begin())
		return;
	uint64_t first = record(0x1000, 1);

	record(0x2000, 2);
	CHECK(move(0x1000, 0x2000));
	CHECK(live_at(0x2000) == first && live_at(0x1000) == 0);
	CHECK_EQ_U64(region.header->counters[GG_COUNT_MISSED_FREES], 1);
	if (read_addresses(addresses))
		CHECK(addresses[1] == 0x2000 && addresses[2] == 0);
	end();
}

TEST(an_object_may_move_to_where_it_is_and_only_if_it_is_the_one_that_is_meant)
{
	if (!begin())
		return;
	uint64_t id = record(0x1000, 1);

	CHECK(move(0x1000, 0x1000) && live_at(0x1000) == id);
	CHECK(!gg_region_record_move(&region, &thread, at(0x1000), at(0x2000), id + 1, 0));
	CHECK(!gg_region_record_move(&region, &thread, at(0x1000), NULL, 0, 0));
	CHECK(live_at(0x1000) == id && region_is_valid(&region));
	end();
}

TEST(objects_that_move_again_and_again_stay_what_they_are)
{
	enum { OBJECTS = 100, ROUNDS = 300 };
	uint64_t state = 5, where[OBJECTS], ids[OBJECTS];

	if (!begin())
		return;
	for (int i = 0; i < OBJECTS; i++) {
		where[i] = 0x100000 + (uint64_t)i * 16;
		ids[i] = record(where[i], (uint64_t)i + 1);
	}
	for (int round = 1; round <= ROUNDS; round++)
		for (int i = 0; i < OBJECTS; i++) {
			uint64_t to = (uint64_t)(round + 1) * 0x100000 +
			              (region_random(&state) % 64) * 16 + (uint64_t)i * 0x1000;

			if (!CHECK(move(where[i], to)))
				return;
			where[i] = to;
		}
	for (int i = 0; i < OBJECTS; i++)
		CHECK_EQ_U64(live_at(where[i]), ids[i]);
	CHECK_EQ_U64(region.header->counters[GG_COUNT_MISSED_FREES], 0);
	CHECK(region_is_valid(&region));
	for (int i = 0; i < OBJECTS; i++)
		CHECK(gg_region_record_free(&region, &thread, at(where[i]), 0, 5000, 0));
	CHECK(region_is_valid(&region));
	end();
}

TEST(a_sample_that_grew_old_says_so_in_the_file_and_to_who_frees_it)
{
	struct gg_region_view view;
	struct gg_region_sample found;

	if (!begin())
		return;
	uint64_t id = record(0x1000, 1);

	CHECK(!gg_region_record_promote(&region, &thread, at(0x2000), 0));
	CHECK(!gg_region_record_promote(&region, &thread, at(0x1000), id + 1));
	CHECK(gg_region_record_promote(&region, &thread, at(0x1000), id));
	CHECK(gg_region_find(&region, at(0x1000), &found) && found.flags == GG_REGION_SAMPLE_OLD);
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_I64(view.live[0].flags, GG_REGION_SAMPLE_OLD);
		CHECK(view.live[0].scheme == GG_SCHEME_POISSON && view.live[0].offset_bytes == 0);
		gg_region_view_done(&view);
	}
	end();
}

static uint64_t intern(const char *function, const char *file, uint32_t line)
{
	const struct gg_frame_info info = { .function = function,
		                            .file = file,
		                            .function_bytes = strlen(function),
		                            .file_bytes = strlen(file),
		                            .line = line };

	return gg_region_intern_frame(&region, &info);
}

static bool frame_is(const struct gg_region_view *view, uint64_t pc, const char *function,
                     const char *file, uint32_t line)
{
	const struct gg_region_frame *frame = &view->frames[(uint32_t)pc];

	return gg_pc_is_frame(pc) && (uint32_t)pc < view->frame_count && frame->ready == 1 &&
	       frame->line == line && frame->function_bytes == strlen(function) &&
	       frame->file_bytes == strlen(file) &&
	       memcmp(gg_region_view_string(view, frame->function_offset), function,
	              frame->function_bytes) == 0 &&
	       memcmp(gg_region_view_string(view, frame->file_offset), file, frame->file_bytes) ==
	               0;
}

TEST(equal_frames_have_one_pc_and_their_texts_are_read_back)
{
	struct gg_region_view view;

	if (!begin())
		return;
	uint64_t first = intern("eval", "a.scm", 3), other = intern("eval", "a.scm", 4);
	uint64_t nameless = intern("", "", 0);
	uint32_t strings = region.tables[GG_TABLE_STRINGS].used_count;

	CHECK(first != other && first != nameless && other != nameless);
	CHECK(intern("eval", "a.scm", 3) == first && intern("", "", 0) == nameless);
	/* Texts are not put twice. */
	CHECK_EQ_U64(strings, strlen("evala.scm"));
	CHECK(intern("evala", ".scm", 3) != first);
	if (CHECK(region_view(&region, &view))) {
		CHECK(frame_is(&view, first, "eval", "a.scm", 3));
		CHECK(frame_is(&view, other, "eval", "a.scm", 4));
		CHECK(frame_is(&view, nameless, "", "", 0));
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_frame_without_a_place_is_counted_and_left_out)
{
	uint64_t last = 1;
	int count = 0;

	if (!begin())
		return;
	for (uint32_t line = 1; last != 0; line++, count++)
		last = intern("f", "g", line);
	CHECK_EQ_I64(count, 8); /* number 0 means no frame */
	CHECK_EQ_U64(region.header->counters[GG_COUNT_DROP_NAMES], 1);
	CHECK(intern("f", "g", 1) != 0);
	CHECK(region_is_valid(&region));
	end();
}

TEST(frames_of_runtimes_are_in_stacks_like_others)
{
	struct gg_region_view view;
	uint64_t pcs[3] = { 0x1234, 0, 0x5678 }, read[4];

	if (!begin())
		return;
	pcs[1] = intern("eval", "a.scm", 3);
	uint32_t stack = gg_region_intern(&region, &thread, pcs, 3);

	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(gg_region_view_stack(&view, stack, read, 4), 3);
		CHECK_EQ_I64(memcmp(read, pcs, sizeof(pcs)), 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_file_of_version_1_is_read_as_one_without_frames)
{
	const uint32_t version = 1, bytes = offsetof(struct gg_region_header, more_tables);
	const struct gg_region_table none = { 0 };
	struct gg_region_view view;

	if (!begin())
		return;
	record(0x1000, 1);
	static_assert(offsetof(struct gg_region_header, more_tables) == 3672, "its length");
	memcpy(&region.header->version, &version, sizeof(version));
	memcpy(&region.header->header_bytes, &bytes, sizeof(bytes));
	region.header->more_tables[0] = none;
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.live_count, 1);
		CHECK_EQ_U64(view.frame_count, 0);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_file_of_version_4_is_read_as_one_without_an_age_at_the_attach)
{
	const uint32_t version = 4, bytes = 4040;
	struct gg_region_view view;

	if (!begin())
		return;
	static_assert(offsetof(struct gg_region_header, attach.age_ns) == 4040, "its length");
	region.header->attach.attached_ns = 5;
	region.header->attach.older_bytes = 6;
	region.header->attach.age_ns = 7;
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.header.attach.age_ns, 7);
		gg_region_view_done(&view);
	}
	memcpy(&region.header->version, &version, sizeof(version));
	memcpy(&region.header->header_bytes, &bytes, sizeof(bytes));
	if (CHECK(region_view(&region, &view))) {
		CHECK_EQ_U64(view.header.attach.attached_ns, 5);
		CHECK_EQ_I64(view.header.attach.older_bytes, 6);
		CHECK_EQ_U64(view.header.attach.age_ns, 0);
		gg_region_view_done(&view);
	}
	end();
}

TEST(a_forked_child_keeps_frames_and_where_objects_are)
{
	struct gg_region_options options;
	struct gg_region_file map;
	struct gg_region_view view;

	if (!begin())
		return;
	uint64_t pc = intern("eval", "a.scm", 3);

	record(0x1000, 1);
	CHECK(move(0x1000, 0x3000));
	CHECK(gg_region_record_promote(&region, &thread, at(0x3000), 0));
	region_small_options(&options);
	options.capacities[GG_TABLE_FRAMES] = 8;
	if (!CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "child",
	                                                  gg_region_options_file_bytes(&options)),
	                  0) ||
	    !CHECK_EQ_I64(gg_region_adopt(&region, &map, &options), 0))
		return;
	memset(&thread, 0, sizeof(thread));
	gg_region_thread_begin(&region, &thread, 12, "child", 1);
	CHECK_EQ_U64(intern("eval", "a.scm", 3), pc);
	CHECK(intern("eval", "a.scm", 9) != pc);
	CHECK(live_at(0x3000) != 0);
	if (CHECK(region_view(&region, &view))) {
		CHECK(frame_is(&view, pc, "eval", "a.scm", 3));
		CHECK(view.live_count == 1 && view.live[0].flags == GG_REGION_SAMPLE_OLD);
		gg_region_view_done(&view);
	}
	end();
}
