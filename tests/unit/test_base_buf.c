/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_buf - shows that buffers grow, end in a 0 byte, and survive impossible sizes. */
#include "base/buf.h"

#include <inttypes.h>
#include <stdint.h>

#include "test.h"

TEST(an_empty_buffer_is_the_empty_text)
{
	struct gg_buf buf = { 0 };

	CHECK_EQ_STR(gg_buf_text(&buf), "");
	gg_buf_append(&buf, NULL, 0);
	CHECK_EQ_U64(buf.length, 0);
	CHECK_EQ_U64(buf.capacity, 0);
	CHECK(!buf.failed);
	gg_buf_done(&buf);
}

TEST(appends_add_up_and_stay_terminated)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };

	for (int i = 0; i < 1000; i++) {
		gg_buf_printf(&buf, "%d,", i);
		CHECK_EQ_I64(buf.data[buf.length], '\0');
	}
	CHECK_EQ_U64(buf.length, 10 * 2 + 90 * 3 + 900 * 4);
	CHECK_EQ_I64(strncmp(buf.data, "0,1,2,3,", 8), 0);
	CHECK_EQ_STR(buf.data + buf.length - 8, "998,999,");
}

TEST(zero_bytes_are_bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };

	gg_buf_append(&buf, "a\0b", 3);
	gg_buf_append_text(&buf, "c");
	CHECK(buf.length == 4 && memcmp(buf.data, "a\0bc", 5) == 0);
}

TEST(clearing_keeps_the_memory)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	size_t capacity;

	gg_buf_append_text(&buf, "text");
	capacity = buf.capacity;
	gg_buf_clear(&buf);
	CHECK_EQ_U64(buf.length, 0);
	CHECK_EQ_U64(buf.capacity, capacity);
	CHECK_EQ_STR(gg_buf_text(&buf), "");
}

TEST(room_that_was_reserved_is_there)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };
	char *data;

	CHECK(gg_buf_reserve(&buf, 1000));
	data = buf.data;
	for (int i = 0; i < 1000; i++)
		gg_buf_append(&buf, "x", 1);
	CHECK_EQ_PTR(buf.data, data);
	CHECK_EQ_U64(buf.length, 1000);
}

TEST(an_impossible_size_fails_and_keeps_what_is_there)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };

	gg_buf_append_text(&buf, "kept");
	CHECK(!gg_buf_reserve(&buf, SIZE_MAX));
	CHECK(buf.failed);
	gg_buf_append_text(&buf, "lost");
	gg_buf_printf(&buf, "lost");
	CHECK_EQ_STR(gg_buf_text(&buf), "kept");
	gg_buf_clear(&buf);
	CHECK(!buf.failed && gg_buf_reserve(&buf, 1));
}

TEST(numbers_are_those_of_printf)
{
	const uint64_t numbers[] = { 0, 7, 10, UINT32_MAX, UINT64_MAX };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 }, expected = { 0 };

		gg_buf_append_number(&buf, numbers[i]);
		gg_buf_printf(&expected, "%" PRIu64, numbers[i]);
		CHECK_EQ_STR(gg_buf_text(&buf), gg_buf_text(&expected));
	}
}

/* Prometheus refuses a whole file in which one label is no UTF-8. */
TEST(values_of_labels_are_valid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf buf = { 0 };

	gg_buf_append_label(&buf, "a\"\\\n\xc3\xa4");
	CHECK_EQ_STR(gg_buf_text(&buf), "a\\\"\\\\\\n\xc3\xa4");
	gg_buf_clear(&buf);
	gg_buf_append_label(&buf, "b\xff\xc3");
	CHECK_EQ_STR(gg_buf_text(&buf), "b\xef\xbf\xbd\xef\xbf\xbd");
}
