/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dump_heap_text - shows that dumps have their format, and that readers find the estimates
 * again.
 */
#include "dump/heap_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

static int collect(void *context, const char *bytes, size_t length)
{
	gg_buf_append(context, bytes, length);
	return 0;
}

static const struct gg_dump_sums small = { .live = { 640, 10 }, .allocated = { 6400, 100 } };
static const uint64_t addresses[] = { 0x401000, 0x7fff12345678 };

static void write_heap_v2(struct gg_dump *dump)
{
	gg_dump_heap_v2(dump, 1, &small);
	gg_dump_thread(dump, 7, &small, "a\nb");
	gg_dump_stack(dump, addresses, GG_COUNT(addresses));
	gg_dump_total(dump, &small);
	gg_dump_thread(dump, 7, &small, NULL);
	gg_dump_mappings(dump);
	gg_dump_mapping(dump, 0x400000, 0x402000, "r-xp", 0x1000, "/usr/bin/x");
	gg_dump_mapping(dump, 0x500000, 0x502000, "r-xp", 0, "/tmp/a\n0-f r-xp 0 00:00 0 /x\x7f");
}

static const char heap_v2[] = "heap_v2/1\n"
			      "  t*: 10: 640 [100: 6400]\n"
			      "  t7: 10: 640 [100: 6400] a?b\n"
			      "@ 0x401000 0x7fff12345678\n"
			      "  t*: 10: 640 [100: 6400]\n"
			      "  t7: 10: 640 [100: 6400]\n"
			      "\nMAPPED_LIBRARIES:\n"
			      "00400000-00402000 r-xp 00001000 00:00 0    /usr/bin/x\n"
			      "00500000-00502000 r-xp 00000000 00:00 0    "
			      "/tmp/a\\0120-f r-xp 0 00:00 0 /x\\177\n";

TEST(heap_v2_is_written_as_its_readers_expect_it_through_a_buffer_of_any_size)
{
	char buffer[4096] = { 0 };

	for (size_t capacity = 1; capacity < sizeof(buffer); capacity = capacity * 3 + 1) {
		GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
		struct gg_dump dump = { buffer, capacity, .flush = collect, .context = &out };

		write_heap_v2(&dump);
		CHECK_EQ_I64(gg_dump_end(&dump), 0);
		CHECK_MSG(strcmp(gg_buf_text(&out), heap_v2) == 0, "%s", gg_buf_text(&out));
	}
}

TEST(gperftools_text_has_its_columns)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	char buffer[256];
	struct gg_dump dump = { buffer, sizeof(buffer), .flush = collect, .context = &out };

	gg_dump_gperftools(&dump, &small);
	gg_dump_record(&dump, &small, addresses, GG_COUNT(addresses));
	CHECK_EQ_I64(gg_dump_end(&dump), 0);
	CHECK_MSG(strcmp(gg_buf_text(&out),
	                 "heap profile:     10:      640 [   100:     6400] @ heapprofile\n"
	                 "    10:      640 [   100:     6400] @ 0x401000 0x7fff12345678\n") == 0,
	          "%s", gg_buf_text(&out));
}

static int fail(void *context, const char *bytes, size_t length)
{
	(void)bytes;
	(void)length;
	++*(int *)context;
	return -ENOSPC;
}

TEST(the_first_failure_ends_the_writing_and_is_returned)
{
	int calls = 0;
	char buffer[GG_DUMP_LEAST];
	struct gg_dump dump = { buffer, sizeof(buffer), .flush = fail, .context = &calls };

	write_heap_v2(&dump);
	CHECK_EQ_I64(gg_dump_end(&dump), -ENOSPC);
	CHECK_EQ_I64(calls, 1);
}

/* As readers do it. */
static struct gg_dump_amount read_back(struct gg_dump_number number, double interval)
{
	double mean = (double)number.bytes / (double)number.count;
	double scale = 1 / -expm1(-mean / interval);

	return (struct gg_dump_amount){ (double)number.bytes * scale,
		                        (double)number.count * scale };
}

/* c is rounded by 1/2 at most, b likewise: 1/(2c) of the whole, and 1/(2b) beside it. */
TEST(readers_of_heap_v2_find_the_estimates_again)
{
	for (double interval = 1; interval < 1e8; interval *= 37)
		for (double size = 1; size < 1e9; size *= 3.7)
			for (double count = 1; count < 1e9; count *= 17) {
				struct gg_dump_amount amount = { count * size, count };
				struct gg_dump_number number = gg_dump_number_of(&amount, interval);
				struct gg_dump_amount got = read_back(number, interval);
				double bound = 0.5 / (count * -expm1(-size / interval)) +
				               0.5 / (double)number.bytes + 1e-9;
				double expected = count * -expm1(-size / interval);

				CHECK(number.count >= 1 && number.bytes >= 1);
				if (expected < 1)
					continue; /* fewer than a sample: no sampler makes that */
				CHECK_MSG(fabs(got.bytes / amount.bytes - 1) <= bound * 1.01,
				          "R %g, %g of %g bytes: %g bytes", interval, count, size,
				          got.bytes);
				CHECK_MSG(fabs(got.count / count - 1) <= bound * 1.01,
				          "R %g, %g of %g bytes: %g", interval, count, size,
				          got.count);
			}
}

TEST(samples_of_one_size_come_back_exactly)
{
	for (uint64_t samples = 1; samples < 100; samples++) {
		double count = (double)samples / -expm1(-4096.0 / 524288);
		struct gg_dump_amount amount = { count * 4096, count };
		struct gg_dump_number number = gg_dump_number_of(&amount, 524288);

		CHECK(number.count == samples && number.bytes == samples * 4096);
	}
}

TEST(nothing_and_empty_blocks_alone_are_written_as_nothing)
{
	struct gg_dump_number none = gg_dump_number_of(&(struct gg_dump_amount){ 0, 0 }, 512);
	struct gg_dump_number empty = gg_dump_number_of(&(struct gg_dump_amount){ 0, 5 }, 512);
	struct gg_dump_number as_is = gg_dump_number_of(&(struct gg_dump_amount){ 0, 5 }, 0);

	CHECK_EQ_U64(none.count, 0);
	CHECK_EQ_U64(none.bytes, 0);
	CHECK_EQ_U64(empty.count, 0);
	CHECK_EQ_U64(empty.bytes, 0);
	CHECK_EQ_U64(as_is.count, 5);
	CHECK_EQ_U64(as_is.bytes, 0);
}
