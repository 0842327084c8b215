/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format_import_damaged - shows that damaged and inconsistent pprof files and Perfetto traces
 * are refused with an error that names the record, the fault and the offset.
 */
#include "base/buf.h"
#include "format/codec/wire_writer.h"
#include "format/import/import.h"
#include "test.h"

static struct gg_error error;

/* Imports a file, and checks that the error is "file: offset OFFSET" with this message. */
static void check_refused(const struct gg_importer *importer, const struct gg_buf *file,
                          uint64_t offset, const char *message)
{
	struct gg_import_options options = { .ignore_files = true };
	struct gg_import_result result;
	struct gg_profile *profile;
	struct gg_input *input;
	char place[64];

	error = (struct gg_error){ 0 };
	REQUIRE(gg_profile_create(&profile, NULL, &error) == 0);
	REQUIRE(gg_input_of(&input, file->data, file->length, "file", &error) == 0);
	CHECK(gg_import_as(importer, profile, input, &options, &result, &error) < 0);
	snprintf(place, sizeof(place), "file: offset %llu", (unsigned long long)offset);
	CHECK_EQ_STR(error.place, place);
	CHECK_EQ_STR(error.message, message);
	gg_input_close(input);
	gg_profile_close(profile);
}

/* Appends a message with the given numbers as fields 1, 2, ...; returns where its fields begin. */
static size_t put_message(struct gg_buf *out, uint32_t field, const uint64_t *values, size_t count)
{
	size_t start = gg_wire_begin(out, field);

	for (uint32_t i = 0; i < count; i++)
		gg_wire_put_number(out, i + 1, values[i]);
	gg_wire_end(out, start);
	return start;
}

#define PUT(out, field, ...)                                     \
	put_message((out), (field), (uint64_t[]){ __VA_ARGS__ }, \
	            sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* --- pprof ---------------------------------------------------------------------------------- */

enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING };

/* A string table with "", "space" and "bytes", and live bytes as the only value of a sample. */
static void begin_pprof(struct gg_buf *out)
{
	gg_wire_put_text(out, STRING, "");
	gg_wire_put_text(out, STRING, "space");
	gg_wire_put_text(out, STRING, "bytes");
	PUT(out, SAMPLE_TYPE, 1, 2);
}

TEST(a_pprof_record_must_refer_to_strings_of_the_file)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf mapping = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf function = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf type = { 0 };
	size_t at;

	begin_pprof(&mapping);
	at = PUT(&mapping, MAPPING, 1, 0, 0, 0, 3);
	check_refused(&gg_importer_pprof, &mapping, at,
	              "a mapping refers to string 3, but the string table ends before");
	begin_pprof(&function);
	at = PUT(&function, FUNCTION, 1, 1, 2, 4000000000);
	check_refused(&gg_importer_pprof, &function, at,
	              "a function refers to string 4000000000, but the string table ends before");
	begin_pprof(&type);
	at = PUT(&type, SAMPLE_TYPE, 1, 4294967297);
	check_refused(
		&gg_importer_pprof, &type, at,
		"a type of values refers to string 4294967297, but the string table ends before");
}

TEST(pprof_records_need_ids_that_differ)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf zero = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf twice = { 0 };
	size_t at;

	begin_pprof(&zero);
	at = PUT(&zero, LOCATION, 0);
	check_refused(&gg_importer_pprof, &zero, at, "a record has the id 0");
	begin_pprof(&twice);
	PUT(&twice, FUNCTION, 77);
	at = PUT(&twice, FUNCTION, 77);
	check_refused(&gg_importer_pprof, &twice, at, "two records of one table have the id 77");
}

TEST(a_pprof_sample_must_refer_to_locations_and_functions_of_the_file)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf location = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf function = { 0 };
	size_t outer, at;

	begin_pprof(&location);
	at = PUT(&location, SAMPLE, 5, 100);
	check_refused(&gg_importer_pprof, &location, at,
	              "a sample refers to location 5, which the file does not have");
	begin_pprof(&function);
	outer = gg_wire_begin(&function, LOCATION);
	gg_wire_put_number(&function, 1, 1);
	at = PUT(&function, 4, 9, 12);
	gg_wire_end(&function, outer);
	PUT(&function, SAMPLE, 1, 100);
	check_refused(&gg_importer_pprof, &function, at,
	              "a line refers to function 9, which the file does not have");
}

TEST(a_pprof_sample_has_a_value_for_each_type_and_no_negative_one)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf negative = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf few = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf many = { 0 };
	size_t message, at;

	begin_pprof(&negative);
	message = gg_wire_begin(&negative, SAMPLE);
	gg_wire_put_number(&negative, 2, (uint64_t)-5);
	gg_wire_end(&negative, message);
	check_refused(
		&gg_importer_pprof, &negative, message,
		"a sample has a negative value: import the two profiles, not their difference");
	begin_pprof(&few);
	at = PUT(&few, SAMPLE, 0);
	few.length = at; /* an empty sample */
	few.data[at - 1] = 0;
	check_refused(&gg_importer_pprof, &few, at,
	              "a sample has fewer values than the file has types of values");
	begin_pprof(&many);
	message = gg_wire_begin(&many, SAMPLE);
	gg_wire_put_number(&many, 2, 5);
	gg_wire_put_number(&many, 2, 6);
	gg_wire_end(&many, message);
	check_refused(&gg_importer_pprof, &many, message + 2,
	              "a sample has more values than the file has types of values");
}

TEST(pprof_without_values_in_bytes_is_no_heap_profile)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };

	gg_wire_put_text(&file, STRING, "");
	gg_wire_put_text(&file, STRING, "cpu");
	gg_wire_put_text(&file, STRING, "nanoseconds");
	PUT(&file, SAMPLE_TYPE, 1, 2);
	check_refused(
		&gg_importer_pprof, &file, 0,
		"the file is no heap profile: none of its types of values has the unit bytes");
}

/* --- Perfetto ------------------------------------------------------------------------------- */

enum {
	TRACE_PACKET = 1,
	PACKET_INTERNED = 12,
	PACKET_PROFILE = 37,
	PACKET_COMPRESSED = 50,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_MAPPING = 19,
	PROFILE_DUMP = 5,
	DUMP_SAMPLE = 2,
};

/* Appends a packet with a message two levels below it; returns where the message begins. */
static size_t put_packet(struct gg_buf *out, uint32_t of_packet, uint32_t field,
                         const uint64_t *values, size_t count)
{
	size_t packet = gg_wire_begin(out, TRACE_PACKET), middle = gg_wire_begin(out, of_packet);
	size_t start = put_message(out, field, values, count);

	gg_wire_end(out, middle);
	gg_wire_end(out, packet);
	return start;
}

#define PUT_PACKET(out, of_packet, field, ...)                               \
	put_packet((out), (of_packet), (field), (uint64_t[]){ __VA_ARGS__ }, \
	           sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

TEST(a_perfetto_callstack_must_refer_to_frames_of_the_trace)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t at = PUT_PACKET(&file, PACKET_INTERNED, INTERNED_CALLSTACK, 1, 8);

	/* The reader stops after the field. */
	check_refused(&gg_importer_perfetto, &file, at + 4,
	              "a callstack refers to frame 8, which is not defined");
}

TEST(a_perfetto_sample_must_refer_to_a_callstack_of_its_sequence)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t packet, profile, dump, at;

	PUT_PACKET(&file, PACKET_INTERNED, INTERNED_FRAME, 1);
	PUT_PACKET(&file, PACKET_INTERNED, INTERNED_CALLSTACK, 3, 1);
	packet = gg_wire_begin(&file, TRACE_PACKET);
	gg_wire_put_number(&file, 10, 1); /* another sequence, which has no callstack 3 */
	profile = gg_wire_begin(&file, PACKET_PROFILE);
	dump = gg_wire_begin(&file, PROFILE_DUMP);
	gg_wire_put_number(&file, 1, 4711);
	at = PUT(&file, DUMP_SAMPLE, 3, 100);
	gg_wire_end(&file, dump);
	gg_wire_end(&file, profile);
	gg_wire_end(&file, packet);
	check_refused(&gg_importer_perfetto, &file, at,
	              "a sample refers to callstack 3, which is not defined");
}

TEST(a_perfetto_sample_frees_no_more_than_it_allocated)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t packet, profile, dump, at;

	PUT_PACKET(&file, PACKET_INTERNED, INTERNED_FRAME, 1);
	PUT_PACKET(&file, PACKET_INTERNED, INTERNED_CALLSTACK, 3, 1);
	packet = gg_wire_begin(&file, TRACE_PACKET);
	profile = gg_wire_begin(&file, PACKET_PROFILE);
	dump = gg_wire_begin(&file, PROFILE_DUMP);
	at = PUT(&file, DUMP_SAMPLE, 3, 100, 101);
	gg_wire_end(&file, dump);
	gg_wire_end(&file, profile);
	gg_wire_end(&file, packet);
	check_refused(&gg_importer_perfetto, &file, at,
	              "a sample has freed more than it has allocated");
}

TEST(a_compressed_perfetto_trace_is_refused_with_advice)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };
	size_t packet = gg_wire_begin(&file, TRACE_PACKET);

	gg_wire_put_text(&file, PACKET_COMPRESSED, "zlib");
	gg_wire_end(&file, packet);
	check_refused(&gg_importer_perfetto, &file, packet,
	              "the trace has compressed packets: decompress it with traceconv first");
}

TEST(a_perfetto_trace_without_a_heap_profile_is_refused)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf file = { 0 };

	PUT_PACKET(&file, PACKET_INTERNED, INTERNED_MAPPING, 1, 2);
	check_refused(&gg_importer_perfetto, &file, file.length,
	              "the trace has no heap profile: record it with heapprofd");
	file.length--;
	check_refused(&gg_importer_perfetto, &file, 0,
	              "the bytes here are no packet of a trace: the file is truncated or damaged");
}
