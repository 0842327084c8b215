/* SPDX-License-Identifier: Apache-2.0 */
/* test_region_hostile - shows that damaged regions mislead neither the reader nor the writer. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"
#include "region/ring.h"
#include "test.h"

static struct gg_region region;
static struct gg_region_thread thread;

static void fill(void)
{
	const struct gg_region_range range = { 1, 2, 3 };
	struct gg_module_info info = {
		.path = "/a", .path_bytes = 2, .range_count = 1, .ranges = &range
	};

	gg_region_add_name(&region, GG_TABLE_HEAPS, "heap", 4);
	gg_region_add_name(&region, GG_TABLE_TYPES, "type", 4);
	gg_region_add_module(&region, &info);
	for (uint64_t i = 1; i <= 60; i++) {
		const struct gg_frame_info frame = { .function = "f",
			                             .file = "x.py",
			                             .function_bytes = 1,
			                             .file_bytes = 4,
			                             .line = (uint32_t)i / 9 };
		uint64_t pcs[] = { i, gg_region_intern_frame(&region, &frame), i / 9 + 200, 300 };
		struct gg_allocation sample = region_sample(
			i * 16, i * 100, gg_region_intern(&region, &thread, pcs, 4));

		gg_region_record_alloc(&region, &thread, &sample);
		if (i % 3 == 0)
			gg_region_record_free(&region, &thread, (void *)(uintptr_t)(i * 16), 0,
			                      5000, 0);
	}
}

static bool begin(void)
{
	struct gg_region_options options;

	region_small_options(&options);
	if (!CHECK(region_make(&region, &options)))
		return false;
	gg_region_thread_begin(&region, &thread, 1, "main", 0);
	fill();
	return true;
}

/* Uses all that a view offers. */
static void use(const struct gg_region_view *view)
{
	uint64_t pcs[16], sum = 0;

	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];

		sum += gg_region_view_stack(view, sample->stack, pcs, 16);
		sum += view->threads[sample->thread].tid;
		sum += view->heaps[sample->heap].bytes + view->types[sample->type].bytes;
	}
	for (uint32_t i = 0; i < view->node_count; i++)
		sum += gg_region_view_stack(view, i, pcs, 16);
	for (uint32_t i = 0; i < view->heap_count; i++)
		for (uint32_t j = 0; j < view->heaps[i].bytes; j++)
			sum += (uint8_t)gg_region_view_string(view, view->heaps[i].offset)[j];
	for (uint32_t i = 0; i < view->frame_count; i++) {
		const struct gg_region_frame *frame = &view->frames[i];

		for (uint32_t j = 0; j < frame->function_bytes; j++)
			sum += (uint8_t)gg_region_view_string(view, frame->function_offset)[j];
		for (uint32_t j = 0; j < frame->file_bytes; j++)
			sum += (uint8_t)gg_region_view_string(view, frame->file_offset)[j];
	}
	for (uint32_t i = 0; i < view->module_count; i++)
		for (uint32_t j = 0; j < view->modules[i].path_bytes; j++)
			sum += (uint8_t)gg_region_view_string(view,
			                                      view->modules[i].path_offset)[j];
	gg_region_view_totals(view);
	CHECK(gg_region_view_check(view, NULL) != -ENOMEM);
	CHECK(sum != 1);
}

static int read_bytes(int fd, const uint8_t *bytes, size_t size)
{
	struct gg_region_view view;
	struct gg_ring_reader reader;
	struct gg_region_event events[8];
	struct gg_error error = { 0 };
	int status;

	if (ftruncate(fd, (off_t)size) < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		return -EIO;
	status = gg_region_view_read(&view, fd, "spoilt", &error);
	if (status == 0) {
		use(&view);
		gg_region_view_done(&view);
	} else {
		CHECK(error.message[0] != '\0' && error.status == status);
	}
	if (gg_ring_open(&reader, fd) == 0)
		CHECK(gg_ring_read(&reader, events, 8, true) <= 8);
	return status;
}

/* A value that is likely to break something. */
static uint64_t evil(uint64_t *random)
{
	static const uint64_t values[] = { 0,
		                           1,
		                           2,
		                           3,
		                           255,
		                           65535,
		                           0x7fffffff,
		                           0x80000000,
		                           0xffffffff,
		                           UINT64_MAX,
		                           UINT64_MAX / 2,
		                           4096,
		                           1 << 20 };
	uint64_t r = region_random(random);

	return r % 3 == 0 ? r >> 8 : values[(r >> 8) % GG_COUNT(values)];
}

TEST(no_spoilt_region_leads_the_reader_astray)
{
	const char *text = getenv("GG_TEST_MUTATIONS");
	int rounds = text != NULL ? atoi(text) : 2000;
	uint64_t random = 4711, read_count = 0;
	int fd = memfd_create("spoilt", MFD_CLOEXEC);
	uint8_t *original, *spoilt;
	size_t size;

	if (!begin())
		return;
	size = region.map.bytes;
	original = malloc(size);
	spoilt = malloc(size);
	CHECK_EQ_I64(pread(region.map.fd, original, size, 0), (ssize_t)size);
	for (int i = 0; i < rounds && !test_failed; i++) {
		int changes = 1 + (int)(region_random(&random) % 20);

		memcpy(spoilt, original, size);
		for (int j = 0; j < changes; j++) {
			int table = (int)(region_random(&random) % (GG_TABLE_COUNT + 1));
			/* The header as often as a table, and there what is in use. */
			size_t start = table == GG_TABLE_COUNT ? 8 : region.tables[table].offset;
			size_t bytes = table == GG_TABLE_COUNT ? 1000 : 2048;
			size_t at = start + region_random(&random) % bytes;
			uint64_t value = evil(&random);

			if (at + 8 > size)
				continue;
			if (region_random(&random) % 2 == 0)
				spoilt[at] = (uint8_t)value;
			else
				memcpy(spoilt + at / 4 * 4, &value, 4 + 4 * (value & 1));
		}
		read_count += read_bytes(fd, spoilt, size) == 0;
	}
	/* Enough regions pass the header's check that their tables are read as well. */
	CHECK(read_count > (uint64_t)rounds / 4);
	free(original);
	free(spoilt);
	close(fd);
	gg_region_done(&region, true);
}

TEST(an_announcement_that_names_what_does_not_exist_is_left_out)
{
	const struct gg_region_redo_slot spoilt[] = {
		{ .state = 4 | GG_REDO_ALLOC, .live_index = 0x7fffffff },
		{ .state = 4 | GG_REDO_ALLOC, .site_total = 0x7fffffff },
		{ .state = 4 | GG_REDO_FREE,
		  .live_index = 511 }, /* a place that is not in use yet */
		{ .state = 4 | GG_REDO_FREE, .lifetime = GG_REGION_LIFETIME_COUNT },
		{ .state = 4 | GG_REDO_MASK },
	};
	struct gg_region_view view;
	struct gg_error error;

	if (!begin())
		return;
	for (size_t i = 0; i < GG_COUNT(spoilt); i++) {
		memcpy(gg_region_at(&region, GG_TABLE_SLOTS, 0), &spoilt[i], sizeof(spoilt[i]));
		if (!CHECK_EQ_I64(gg_region_view_read(&view, region.map.fd, "spoilt", &error), 0))
			continue;
		CHECK_EQ_U64(view.damaged_count, 1);
		CHECK_EQ_U64(view.finished_count, 0);
		CHECK_EQ_I64(gg_region_view_check(&view, NULL), 0);
		gg_region_view_done(&view);
	}
	gg_region_done(&region, true);
}

TEST(a_region_that_is_cut_short_is_refused)
{
	int fd = memfd_create("short", MFD_CLOEXEC);
	uint8_t *bytes;
	size_t size;

	if (!begin())
		return;
	size = region.map.bytes;
	bytes = malloc(size);
	CHECK_EQ_I64(pread(region.map.fd, bytes, size, 0), (ssize_t)size);
	CHECK_EQ_I64(read_bytes(fd, bytes, size), 0);
	for (size_t cut = 0; cut < size; cut = cut * 2 + 1)
		CHECK_EQ_I64(read_bytes(fd, bytes, cut), -EBADMSG);
	bytes[8]++; /* the version */
	CHECK_EQ_I64(read_bytes(fd, bytes, size), -EBADMSG);
	free(bytes);
	close(fd);
	gg_region_done(&region, true);
}

TEST(what_is_not_a_file_is_refused)
{
	struct gg_region_view view;
	struct gg_error error;

	CHECK_EQ_I64(gg_region_view_open(&view, "/dev/null", &error), -EBADMSG);
	CHECK_EQ_I64(gg_region_view_open(&view, "/", &error), -EBADMSG);
	CHECK_EQ_I64(gg_region_view_open(&view, "/nowhere/at/all", &error), -ENOENT);
}

TEST(a_file_that_others_write_into_does_not_lead_the_writer_astray)
{
	uint64_t random = 815, recorded = 0;

	if (!begin())
		return;
	for (int round = 0; round < 300; round++) {
		uint64_t *words = (uint64_t *)(void *)region.map.base;

		/* Whatever has space, anywhere. */
		for (int i = 0; i < 200; i++) {
			const struct gg_region_space *table =
				&region.tables[region_random(&random) % GG_TABLE_RING];
			uint64_t bytes = table->reserved_bytes;

			memset(table->base + region_random(&random) % bytes / 8 * 8,
			       (int)region_random(&random), 8);
			words[region_random(&random) % 512] = evil(&random);
		}
		for (uint64_t i = 1; i <= 60; i++) {
			uint64_t pcs[] = { region_random(&random) % 50, i, 7 };
			struct gg_allocation sample = region_sample(
				i * 16, i, gg_region_intern(&region, &thread, pcs, 3));

			recorded += gg_region_record_alloc(&region, &thread, &sample) != 0;
			if (i % 2 == 0)
				gg_region_record_free(&region, &thread, (void *)(uintptr_t)(i * 16),
				                      0, 5, 0);
		}
		gg_region_add_name(&region, GG_TABLE_TYPES, "other", 5);
	}
	/* It goes on recording, also if nobody can read it any more. */
	CHECK(recorded > 1000);
	gg_region_done(&region, true);
}
