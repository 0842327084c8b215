/* SPDX-License-Identifier: Apache-2.0 */
/* test_format_wire - shows that wire.h reads the protocol buffers that wire_writer.h writes. */
#include <stdlib.h>

#include "format/codec/wire.h"
#include "format/codec/wire_writer.h"
#include "test.h"

TEST(numbers_of_every_length_are_read_as_they_were_written)
{
	struct gg_buf out = { 0 };
	struct gg_wire wire;
	struct gg_wire_field field;

	gg_wire_put_number(&out, 1, 0);
	for (unsigned bit = 0; bit < 64; bit++)
		gg_wire_put_number(&out, bit + 2, UINT64_MAX >> bit);
	wire = gg_wire_of(out.data, out.length);
	CHECK(gg_wire_next(&wire, &field) == 1);
	CHECK(field.number == 1 && field.type == GG_WIRE_VARINT && field.value == 0);
	for (unsigned bit = 0; bit < 64; bit++) {
		CHECK(gg_wire_next(&wire, &field) == 1);
		CHECK_EQ_U64(field.number, bit + 2);
		CHECK_EQ_U64(field.value, UINT64_MAX >> bit);
	}
	CHECK(gg_wire_next(&wire, &field) == 0);
	gg_buf_done(&out);
}

/* One message inside another, with `length` bytes in the inner one and a number behind each. */
static void check_nested(size_t length)
{
	struct gg_buf out = { 0 };
	char *bytes = calloc(length + 1, 1);
	struct gg_wire wire, inner;
	struct gg_wire_field field;
	size_t outer_start, inner_start;

	memset(bytes, 'x', length);
	outer_start = gg_wire_begin(&out, 3);
	inner_start = gg_wire_begin(&out, 1000);
	gg_wire_put_bytes(&out, 7, bytes, length);
	gg_wire_end(&out, inner_start);
	gg_wire_put_number(&out, 4, length);
	gg_wire_end(&out, outer_start);
	gg_wire_put_number(&out, 5, 77);
	CHECK(!out.failed && out.data[out.length] == '\0');

	wire = gg_wire_of(out.data, out.length);
	CHECK(gg_wire_next(&wire, &field) == 1 && field.number == 3);
	inner = field.bytes;
	CHECK(gg_wire_next(&wire, &field) == 1 && field.number == 5 && field.value == 77);
	CHECK(gg_wire_next(&wire, &field) == 0);
	wire = inner;
	CHECK(gg_wire_next(&wire, &field) == 1 && field.number == 1000);
	inner = field.bytes;
	CHECK(gg_wire_next(&wire, &field) == 1 && field.number == 4 && field.value == length);
	CHECK(gg_wire_next(&wire, &field) == 0);
	CHECK(gg_wire_next(&inner, &field) == 1 && field.number == 7);
	CHECK_EQ_U64(gg_wire_length(&field.bytes), length);
	CHECK(memcmp(field.bytes.at, bytes, length) == 0);
	CHECK(gg_wire_next(&inner, &field) == 0);
	free(bytes);
	gg_buf_done(&out);
}

TEST(messages_of_every_length_of_a_length_are_read_as_they_were_written)
{
	static const size_t lengths[] = { 0,     1,     100,     120,     121,     122,    123,
		                          124,   125,   126,     127,     128,     129,    130,
		                          16370, 16375, 16378,   16379,   16380,   16381,  16382,
		                          16383, 16384, 2097140, 2097145, 2097150, 2097152 };

	for (size_t i = 0; i < GG_COUNT(lengths); i++)
		check_nested(lengths[i]);
}

TEST(packed_numbers_are_read_one_by_one)
{
	struct gg_buf out = { 0 };
	struct gg_wire wire;
	struct gg_wire_field field;
	uint64_t value;
	bool is_wrong = false;
	size_t start = gg_wire_begin(&out, 2);

	for (uint64_t i = 0; i < 1000; i++)
		gg_varint_append(&out, i * i * i);
	gg_wire_end(&out, start);
	wire = gg_wire_of(out.data, out.length);
	CHECK(gg_wire_next(&wire, &field) == 1);
	for (uint64_t i = 0; i < 1000; i++) {
		CHECK(gg_wire_numbers(&field, &value, &is_wrong));
		CHECK_EQ_U64(value, i * i * i);
	}
	CHECK(!gg_wire_numbers(&field, &value, &is_wrong) && !is_wrong);
	gg_buf_done(&out);
}

TEST(a_table_says_which_fields_fill_which_members)
{
	struct record {
		uint64_t number, missing, last;
		struct gg_wire text;
	} record = { .missing = 99 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct record, 1, number),
		GG_WIRE_NUMBER(struct record, 2, missing),
		GG_WIRE_NUMBER(struct record, 3, last),
		GG_WIRE_SPAN(struct record, 4, text),
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_wire wire;

	gg_wire_put_number(&out, 1, 7);
	gg_wire_put_text(&out, 2, "a text where a number belongs");
	gg_wire_put_number(&out, 3, 5);
	gg_wire_put_number(&out, 3, UINT64_MAX);
	gg_wire_put_text(&out, 4, "main");
	gg_wire_put_number(&out, 5, 1);
	wire = gg_wire_of(out.data, out.length);
	CHECK_EQ_I64(gg_wire_read(&wire, members, GG_COUNT(members), &record), 0);
	CHECK_EQ_U64(record.number, 7);
	CHECK_EQ_U64(record.missing, 99);
	CHECK_EQ_U64(record.last, UINT64_MAX);
	CHECK_EQ_U64(gg_wire_length(&record.text), 4);
	CHECK(memcmp(record.text.at, "main", 4) == 0);
	CHECK(wire.at == wire.end);
	/* Without its last byte, the message ends within field 5. */
	wire = gg_wire_of(out.data, out.length - 1);
	CHECK_EQ_I64(gg_wire_read(&wire, members, GG_COUNT(members), &record), -1);
	CHECK_EQ_I64(wire.end - wire.at, 1);
}

TEST(after_a_lack_of_memory_nothing_is_written)
{
	struct gg_buf out = { .failed = true };
	size_t start = gg_wire_begin(&out, 1);

	gg_wire_put_number(&out, 2, 3);
	gg_wire_put_text(&out, 4, "text");
	gg_wire_end(&out, start);
	CHECK(out.failed && out.length == 0 && out.data == NULL);
}
