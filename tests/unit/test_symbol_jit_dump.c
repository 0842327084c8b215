/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_jit_dump - shows that code of a jitdump is named by address and time. */
#include <errno.h>
#include <string.h>

#include "symbol/resolve/jit_dump.h"
#include "test.h"

/* --- a writer of dumps ------------------------------------------------------------------------ */

static void put32(struct gg_buf *out, uint32_t value)
{
	gg_buf_append(out, &value, sizeof(value));
}

static void put64(struct gg_buf *out, uint64_t value)
{
	gg_buf_append(out, &value, sizeof(value));
}

static void put_header(struct gg_buf *out, uint64_t flags)
{
	put32(out, 0x4a695444);
	put32(out, 1);
	put32(out, 40);
	put32(out, 62); /* EM_X86_64 */
	put32(out, 0);
	put32(out, 4711);
	put64(out, 1);
	put64(out, flags);
}

static size_t begin_record(struct gg_buf *out, uint32_t kind, uint64_t time_ns)
{
	size_t start = out->length;

	put32(out, kind);
	put32(out, 0);
	put64(out, time_ns);
	return start;
}

static void end_record(struct gg_buf *out, size_t start)
{
	uint32_t length = (uint32_t)(out->length - start);

	memcpy(out->data + start + 4, &length, sizeof(length));
}

static void put_load(struct gg_buf *out, uint64_t time_ns, uint64_t address, uint64_t size,
                     uint64_t index, const char *name)
{
	size_t start = begin_record(out, 0, time_ns);

	put32(out, 4711);
	put32(out, 4711);
	put64(out, address);
	put64(out, address);
	put64(out, size);
	put64(out, index);
	gg_buf_append(out, name, strlen(name) + 1);
	gg_buf_append(out, "\x90\x90", 2); /* the code itself may be shorter than it says */
	end_record(out, start);
}

static void put_move(struct gg_buf *out, uint64_t time_ns, uint64_t old_address, uint64_t address,
                     uint64_t size, uint64_t index)
{
	size_t start = begin_record(out, 1, time_ns);

	put32(out, 4711);
	put32(out, 4711);
	put64(out, address);
	put64(out, old_address);
	put64(out, address);
	put64(out, size);
	put64(out, index);
	end_record(out, start);
}

static void put_line(struct gg_buf *out, uint64_t address, uint32_t line, const char *file)
{
	put64(out, address);
	put32(out, line);
	put32(out, 0);
	gg_buf_append(out, file, strlen(file) + 1);
}

/* --- look-ups --------------------------------------------------------------------------------- */

static void check_is(const struct gg_jit_dump *dump, uint64_t pc, uint64_t from_ns, uint64_t to_ns,
                     const char *wanted)
{
	struct gg_jit_dump_code code;
	enum gg_jit_dump_answer answer = gg_jit_dump_find(dump, pc, from_ns, to_ns, &code);
	const char *found = answer == GG_JIT_DUMP_NONE        ? "none"
	                    : answer == GG_JIT_DUMP_AMBIGUOUS ? "ambiguous"
	                                                      : code.name;

	CHECK_EQ_STR(found, wanted);
}

static void check_at(const struct gg_jit_dump *dump, uint64_t pc, uint64_t time_ns,
                     const char *wanted)
{
	check_is(dump, pc, time_ns, time_ns, wanted);
}

TEST(reused_addresses_have_the_name_of_their_time)
{
	struct gg_jit_dump dump;
	struct gg_buf bytes = { 0 };

	put_header(&bytes, 0);
	put_load(&bytes, 10, 0x1000, 0x40, 1, "one");
	put_load(&bytes, 20, 0x1020, 0x40, 2, "two"); /* over the second half of the first one */
	put_load(&bytes, 30, 0x1000, 0x80, 3, "three");
	REQUIRE(gg_jit_dump_parse(&dump, &bytes) == 0);
	check_at(&dump, 0x1000, 9, "none");
	check_at(&dump, 0x1000, 10, "one");
	check_at(&dump, 0x1000, 29, "one");
	check_at(&dump, 0x1000, 30, "three");
	check_at(&dump, 0x1020, 19, "one");
	check_at(&dump, 0x1020, 20, "two");
	check_at(&dump, 0x1050, 19, "none");
	check_at(&dump, 0x105f, 29, "two");
	check_at(&dump, 0x1060, 29, "none");
	check_at(&dump, 0x1060, 31, "three");
	check_is(&dump, 0x1020, 12, 18, "one");
	check_is(&dump, 0x1020, 12, 20, "ambiguous");
	check_is(&dump, 0x1020, 0, UINT64_MAX, "ambiguous");
	check_is(&dump, 0x1060, 0, UINT64_MAX, "three");
	gg_jit_dump_done(&dump);
}

TEST(moved_code_keeps_its_name_and_lines)
{
	struct gg_jit_dump dump;
	struct gg_buf bytes = { 0 };
	struct gg_jit_dump_code code;
	size_t start;

	put_header(&bytes, 0);
	start = begin_record(&bytes, 2, 9);
	put64(&bytes, 0x1000);
	put64(&bytes, 3);
	put_line(&bytes, 0x1000, 7, "a.js");
	put_line(&bytes, 0x1010, 8, "\xff");
	put_line(&bytes, 0x1020, 1, "b.js");
	end_record(&bytes, start);
	put_load(&bytes, 10, 0x1000, 0x40, 5, "moving");
	put_move(&bytes, 20, 0x1000, 0x9000, 0x40, 5);
	REQUIRE(gg_jit_dump_parse(&dump, &bytes) == 0);
	check_at(&dump, 0x1000, 15, "moving");
	check_at(&dump, 0x1000, 20, "none");
	check_at(&dump, 0x9000, 15, "none");
	check_at(&dump, 0x9000, 20, "moving");
	CHECK(gg_jit_dump_find(&dump, 0x901f, 20, 20, &code) == GG_JIT_DUMP_FOUND);
	CHECK_EQ_STR(code.file, "a.js");
	CHECK_EQ_U64(code.line, 8);
	CHECK(gg_jit_dump_find(&dump, 0x1020, 12, 12, &code) == GG_JIT_DUMP_FOUND);
	CHECK_EQ_STR(code.file, "b.js");
	CHECK_EQ_U64(code.line, 1);
	gg_jit_dump_done(&dump);
}

TEST(times_of_another_clock_are_no_times)
{
	struct gg_jit_dump dump;
	struct gg_buf bytes = { 0 };

	put_header(&bytes, 1);
	put_load(&bytes, 10, 0x1000, 0x40, 1, "one");
	put_load(&bytes, 20, 0x2000, 0x40, 2, "two");
	put_load(&bytes, 30, 0x2000, 0x40, 3, "three");
	REQUIRE(gg_jit_dump_parse(&dump, &bytes) == 0);
	check_at(&dump, 0x1000, 5, "one");
	check_at(&dump, 0x2000, 25, "ambiguous");
	gg_jit_dump_done(&dump);
}

TEST(a_file_that_is_still_being_written_ends_at_its_last_whole_record)
{
	struct gg_buf whole = { 0 };
	size_t first;

	put_header(&whole, 0);
	put_load(&whole, 10, 0x1000, 0x40, 1, "one");
	first = whole.length;
	put_load(&whole, 20, 0x2000, 0x40, 2, "two");
	for (size_t length = 0; length <= whole.length; length++) {
		struct gg_jit_dump dump;
		struct gg_buf part = { 0 };
		int status;

		gg_buf_append(&part, whole.data, length);
		status = gg_jit_dump_parse(&dump, &part);
		CHECK_EQ_I64(status, length < 40 ? -EBADMSG : 0);
		check_at(&dump, 0x1000, 50, length >= first ? "one" : "none");
		check_at(&dump, 0x2000, 50, length == whole.length ? "two" : "none");
		gg_jit_dump_done(&dump);
	}
	gg_buf_done(&whole);
}

TEST(other_files_are_refused)
{
	static const char text[64] = "7f0010 20 this is a perf map and no dump at all, whatever\n";
	struct gg_jit_dump dump;
	struct gg_buf bytes = { 0 };

	gg_buf_append(&bytes, text, sizeof(text));
	CHECK(gg_jit_dump_parse(&dump, &bytes) == -EBADMSG);
	gg_jit_dump_done(&dump);
}
