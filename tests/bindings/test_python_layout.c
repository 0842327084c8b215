/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_python_layout - a release that describes itself is read by its own table, and a table that
 * does not fit is refused.  There is no CPython 3.14 here: the table, and the frames that are
 * walked, are made as its headers say.
 */
#include <string.h>

#include "frames.h"
#include "layout.h"
#include "test.h"

enum { VERSION_3_14 = 0x030e };

/* The table of 3.14.0 on x86-64, as far as it is read; other words are 0. */
static void make_table(uint64_t *words)
{
	static const struct {
		uint16_t word, value;
	} values[] = {
		{ 22, 900 }, /* thread state */
		{ 26, 72 },  { 27, 152 }, { 31, 88 },  { 32, 8 },
		{ 33, 0 },   { 34, 56 },  { 35, 80 },  { 36, 74 }, /* frame */
		{ 37, 64 },  { 39, 216 }, { 40, 112 }, { 41, 120 },
		{ 42, 128 }, { 43, 136 }, { 44, 68 }, /* code */
		{ 45, 52 },  { 48, 208 }, { 50, 16 },  { 51, 8 },
		{ 53, 24 },  { 55, 168 },                          /* object, type */
		{ 74, 40 },  { 75, 16 },  { 76, 32 },              /* bytes */
		{ 77, 64 },  { 78, 32 },  { 79, 16 },  { 80, 40 }, /* str */
	};

	memset(words, 0, GG_PYTHON_OFFSETS_WORDS * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030e00f0;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		words[values[i].word] = values[i].value;
}

TEST(a_release_is_read_by_its_own_table)
{
	uint64_t words[GG_PYTHON_OFFSETS_WORDS];
	struct gg_python_layout layout;

	make_table(words);
	REQUIRE(gg_python_layout_read(VERSION_3_14, words, &layout));
	CHECK_EQ_I64(layout.version, VERSION_3_14);
	CHECK_EQ_I64(layout.state_frame, 72);
	CHECK_EQ_I64(layout.state_thread_id, 152);
	CHECK_EQ_I64(layout.frame_position, 56);
	CHECK_EQ_I64(layout.frame_owner, 74);
	CHECK_EQ_I64(layout.code_name, 128);
	CHECK_EQ_I64(layout.code_first_instruction, 208);
	CHECK_EQ_I64(layout.code_first_traceable, 192);
	CHECK_EQ_I64(layout.compact_bytes, 56);
}

TEST(a_table_that_does_not_fit_is_refused)
{
	/* Words that the adapter relies on, each with a value that is wrong. */
	static const struct {
		size_t word;
		uint64_t value;
	} wrong[] = {
		{ 0, 1 },    { 1, 0x030f00f0 }, { 2, 1 },   { 26, 897 }, { 26, 4 << 20 },
		{ 31, 16 },  { 36, 90 },        { 36, 40 }, { 42, 300 }, { 44, 66 },
		{ 48, 220 }, { 50, 32 },        { 51, 16 }, { 55, 160 }, { 76, 40 },
		{ 77, 72 },  { 78, 40 },        { 80, 48 },
	};
	uint64_t words[GG_PYTHON_OFFSETS_WORDS];
	struct gg_python_layout layout;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		make_table(words);
		words[wrong[i].word] = wrong[i].value;
		CHECK(!gg_python_layout_read(VERSION_3_14, words, &layout));
	}
	/* A table with one more word in the middle, as the next version's. */
	make_table(words);
	memmove(words + 32, words + 31, (GG_PYTHON_OFFSETS_WORDS - 32) * sizeof(*words));
	CHECK(!gg_python_layout_read(VERSION_3_14, words, &layout));
	make_table(words);
	CHECK(!gg_python_layout_read(0x030d, words, &layout));
	CHECK(!gg_python_layout_read(0x030f, words, &layout));
}

/* --- frames of 3.14 --- */

static char type_of_code[256], type_of_text[256], type_of_none[256];
static char state[256], none[32];

static void put(void *object, size_t offset, const void *pointer)
{
	memcpy((char *)object + offset, &pointer, sizeof(pointer));
}

static void put_object(void *object, const void *type)
{
	const uint64_t immortal = UINT64_C(5) << 48 | UINT64_C(3) << 30;

	memcpy(object, &immortal, sizeof(immortal));
	put(object, 8, type);
}

static void put_text(char *text, const char *characters)
{
	const uint64_t length = strlen(characters);
	/* Interned by 2, then the kind, and two bits that say compact and ASCII. */
	const uint32_t text_state = 2 | (1u | 1u << 3 | 1u << 4) << 16;

	put_object(text, type_of_text);
	memcpy(text + 16, &length, sizeof(length));
	memcpy(text + 32, &text_state, sizeof(text_state));
	strcpy(text + 40, characters);
}

static void put_code(char *code, const char *name, const char *file, int first_traceable)
{
	put_object(code, type_of_code);
	put(code, 112, file);
	put(code, 128, name);
	memcpy(code + 192, &first_traceable, sizeof(first_traceable));
}

static void put_frame(char *frame, const char *previous, uintptr_t executable, const char *position,
                      char owner)
{
	put(frame, 0, (const void *)executable);
	put(frame, 8, previous);
	put(frame, 56, position);
	frame[74] = owner;
}

static void *current_state(void)
{
	return state;
}

static const char line_table[64];

static int line_of(void *code, int position)
{
	(void)code;
	return 100 + position;
}

TEST(frames_with_tagged_code_are_walked)
{
	static char texts[3][96] __attribute__((aligned(16)));
	static char codes[2][256] __attribute__((aligned(16)));
	static char frames[6][96] __attribute__((aligned(16)));
	static struct gg_python_layout layout;
	const struct gg_python python = { .layout = &layout,
		                          .current_state = current_state,
		                          .line = line_of,
		                          .code_type = type_of_code };
	const uint64_t is_text = UINT64_C(1) << 28;
	uint64_t words[GG_PYTHON_OFFSETS_WORDS];
	struct gg_python_frame found[8];

	make_table(words);
	REQUIRE(gg_python_layout_read(VERSION_3_14, words, &layout));
	memcpy(type_of_text + 168, &is_text, sizeof(is_text));
	put_object(none, type_of_none);
	put_text(texts[0], "outer");
	put_text(texts[1], "Inner.method");
	put_text(texts[2], "work.py");
	put_code(codes[0], texts[0], texts[2], 1);
	put_code(codes[1], texts[1], texts[2], 2);
	for (int i = 0; i < 2; i++)
		put(codes[i], 136, line_table);
	/*
	 * From the outermost: a shim, a frame of a loop, a shim, a frame, one that is still being
	 * prepared, and a frame whose code is gone.
	 */
	put_frame(frames[0], NULL, (uintptr_t)none, NULL, 3);
	put_frame(frames[1], frames[0], (uintptr_t)codes[0] | 1, codes[0] + 208 + 10, 0);
	put_frame(frames[2], frames[1], (uintptr_t)none, NULL, 3);
	put_frame(frames[3], frames[2], (uintptr_t)codes[1], codes[1] + 208 + 6, 1);
	put_frame(frames[4], frames[3], (uintptr_t)codes[1] | 1, codes[1] + 208 + 2, 0);
	put_frame(frames[5], frames[4], 1, NULL, 0);
	put(state, 72, frames[5]);

	REQUIRE(gg_python_frames(&python, found, 8, true) == 2);
	CHECK_EQ_STR(found[0].name_ascii, "Inner.method");
	CHECK_EQ_STR(found[0].file_ascii, "work.py");
	CHECK_EQ_I64(found[0].line, 106);
	CHECK(found[0].native == frames[2]);
	CHECK_EQ_STR(found[1].name_ascii, "outer");
	CHECK_EQ_I64(found[1].line, 110);
	CHECK(found[1].native == frames[0]);
}
