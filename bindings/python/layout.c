/* SPDX-License-Identifier: Apache-2.0 */
/* layout - the table of layouts, and how a release's own table is read. */
#include "layout.h"

#include <string.h>

static const struct gg_python_layout layouts[] = {
	{
		.version = 0x0308,
		.loops = GG_PYTHON_LOOPS_UNKNOWN,
		.instruction_bytes = 1,
		.state_frame = 24,
		.state_thread_id = 176,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 104,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_first_line = 40,
		.ascii_bytes = 48,
		.compact_bytes = 72,
		.code_bytes = 176,
		.text_bytes = 80,
	},
	{
		.version = 0x0309,
		.loops = GG_PYTHON_LOOPS_UNKNOWN,
		.instruction_bytes = 1,
		.state_frame = 24,
		.state_thread_id = 176,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 104,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_first_line = 40,
		.ascii_bytes = 48,
		.compact_bytes = 72,
		.code_bytes = 176,
		.text_bytes = 80,
	},
	{
		.version = 0x030a,
		.loops = GG_PYTHON_LOOPS_CHAINED,
		.instruction_bytes = 2,
		.state_frame = 24,
		.state_loop = 48,
		.state_thread_id = 176,
		.loop_previous = 8,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_position = 96,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_first_line = 40,
		.ascii_bytes = 48,
		.compact_bytes = 72,
		.code_bytes = 176,
		.text_bytes = 80,
	},
	{
		.version = 0x030b,
		.loops = GG_PYTHON_LOOPS_ENTRIES,
		.instruction_bytes = 1,
		.state_loop = 56,
		.state_thread_id = 152,
		.loop_frame = 8,
		.loop_previous = 16,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_position = 56,
		.frame_owner = 69,
		.frame_is_entry = 68,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_first_line = 72,
		.code_first_instruction = 184,
		.code_first_traceable = 168,
		.ascii_bytes = 48,
		.compact_bytes = 72,
		.code_bytes = 184,
		.text_bytes = 80,
	},
	{
		.version = 0x030c,
		.loops = GG_PYTHON_LOOPS_SHIMS,
		.instruction_bytes = 1,
		.state_loop = 56,
		.state_thread_id = 136,
		.loop_frame = 0,
		.loop_previous = 8,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_position = 56,
		.frame_owner = 70,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_first_line = 68,
		.code_first_instruction = 192,
		.code_first_traceable = 176,
		.ascii_bytes = 40,
		.compact_bytes = 56,
		.code_bytes = 192,
		.text_bytes = 64,
	},
	{
		.version = 0x030d,
		.loops = GG_PYTHON_LOOPS_SHIMS,
		.instruction_bytes = 1,
		.state_frame = 72,
		.state_thread_id = 152,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_position = 56,
		.frame_owner = 70,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_first_line = 68,
		.code_first_instruction = 200,
		.code_first_traceable = 184,
		.ascii_bytes = 40,
		.compact_bytes = 56,
		.code_bytes = 200,
		.text_bytes = 64,
	},
};

const struct gg_python_layout *gg_python_layout_of(unsigned version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/*
 * The words of _Py_DebugOffsets that are read, as 3.14 has them (internal/pycore_debug_offsets.h).
 * Later versions put words in between.
 */
enum offset_word {
	WORD_COOKIE,
	WORD_VERSION,
	WORD_FREE_THREADED,
	WORD_STATE_BYTES = 22,
	WORD_STATE_FRAME = 26,
	WORD_STATE_THREAD_ID = 27,
	WORD_FRAME_BYTES = 31,
	WORD_FRAME_PREVIOUS,
	WORD_FRAME_CODE,
	WORD_FRAME_POSITION,
	WORD_FRAME_LOCALS,
	WORD_FRAME_OWNER,
	WORD_CODE_BYTES = 39,
	WORD_CODE_FILE,
	WORD_CODE_NAME,
	WORD_CODE_QUALIFIED_NAME,
	WORD_CODE_LINES,
	WORD_CODE_FIRST_LINE,
	WORD_CODE_FIRST_INSTRUCTION = 48,
	WORD_OBJECT_BYTES = 50,
	WORD_OBJECT_TYPE,
	WORD_TYPE_NAME = 53,
	WORD_TYPE_FLAGS = 55,
	WORD_BYTES_LENGTH = 75,
	WORD_BYTES_CONTENTS,
	WORD_TEXT_BYTES,
	WORD_TEXT_STATE,
	WORD_TEXT_LENGTH,
	WORD_ASCII_BYTES
};

/* The adapter relies on these values, and the table has them as well. */
static const struct {
	enum offset_word word;
	uint16_t value;
} known_words[] = {
	{ WORD_FREE_THREADED, 0 },   { WORD_OBJECT_BYTES, 16 }, { WORD_OBJECT_TYPE, 8 },
	{ WORD_TYPE_NAME, 24 },      { WORD_TYPE_FLAGS, 168 },  { WORD_BYTES_LENGTH, 16 },
	{ WORD_BYTES_CONTENTS, 32 }, { WORD_TEXT_BYTES, 64 },   { WORD_TEXT_STATE, 32 },
	{ WORD_TEXT_LENGTH, 16 },    { WORD_ASCII_BYTES, 40 },
};

/* Members of a struct, with the word that has its size: pointers, or bytes as owner is. */
static const struct {
	enum offset_word word, whole;
	uint8_t bytes;
} members[] = {
	{ WORD_STATE_FRAME, WORD_STATE_BYTES, 8 },
	{ WORD_STATE_THREAD_ID, WORD_STATE_BYTES, 8 },
	{ WORD_FRAME_PREVIOUS, WORD_FRAME_BYTES, 8 },
	{ WORD_FRAME_CODE, WORD_FRAME_BYTES, 8 },
	{ WORD_FRAME_POSITION, WORD_FRAME_BYTES, 8 },
	{ WORD_FRAME_LOCALS, WORD_FRAME_BYTES, 8 },
	{ WORD_FRAME_OWNER, WORD_FRAME_BYTES, 1 },
	{ WORD_CODE_FILE, WORD_CODE_BYTES, 8 },
	{ WORD_CODE_NAME, WORD_CODE_BYTES, 8 },
	{ WORD_CODE_QUALIFIED_NAME, WORD_CODE_BYTES, 8 },
	{ WORD_CODE_LINES, WORD_CODE_BYTES, 8 },
	{ WORD_CODE_FIRST_LINE, WORD_CODE_BYTES, 4 },
	{ WORD_CODE_FIRST_INSTRUCTION, WORD_CODE_BYTES, 8 },
};

static bool fits(unsigned version, const uint64_t *offsets)
{
	uint64_t owner = offsets[WORD_FRAME_OWNER], locals = offsets[WORD_FRAME_LOCALS];
	uint64_t at;

	if (memcmp(offsets, "xdebugpy", 8) != 0 || offsets[WORD_VERSION] >> 16 != version)
		return false;
	for (size_t i = 0; i < sizeof(known_words) / sizeof(known_words[0]); i++)
		if (offsets[known_words[i].word] != known_words[i].value)
			return false;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		at = offsets[members[i].word];
		if (at % members[i].bytes != 0 || offsets[members[i].whole] > UINT16_MAX ||
		    at + members[i].bytes > offsets[members[i].whole])
			return false;
	}
	return owner < locals && owner + 8 >= locals;
}

bool gg_python_layout_read(unsigned version, const uint64_t offsets[GG_PYTHON_OFFSETS_WORDS],
                           struct gg_python_layout *ret_layout)
{
	uint16_t first_instruction;

	if (version != 0x030e || !fits(version, offsets))
		return false;
	first_instruction = (uint16_t)offsets[WORD_CODE_FIRST_INSTRUCTION];
	*ret_layout = (struct gg_python_layout){
		.version = (uint16_t)version,
		.loops = GG_PYTHON_LOOPS_SHIMS,
		.instruction_bytes = 1,
		.state_frame = (uint16_t)offsets[WORD_STATE_FRAME],
		.state_thread_id = (uint16_t)offsets[WORD_STATE_THREAD_ID],
		.frame_previous = (uint16_t)offsets[WORD_FRAME_PREVIOUS],
		.frame_code = (uint16_t)offsets[WORD_FRAME_CODE],
		.frame_position = (uint16_t)offsets[WORD_FRAME_POSITION],
		.frame_owner = (uint16_t)offsets[WORD_FRAME_OWNER],
		.code_is_tagged = true,
		.code_file = (uint16_t)offsets[WORD_CODE_FILE],
		.code_name = (uint16_t)offsets[WORD_CODE_QUALIFIED_NAME],
		.code_lines = (uint16_t)offsets[WORD_CODE_LINES],
		.code_first_line = (uint16_t)offsets[WORD_CODE_FIRST_LINE],
		.code_first_instruction = first_instruction,
		/* The table does not have it.  Since 3.12 one pointer lies in between. */
		.code_first_traceable = (uint16_t)(first_instruction - 16),
		.ascii_bytes = (uint16_t)offsets[WORD_ASCII_BYTES],
		.compact_bytes = (uint16_t)(offsets[WORD_ASCII_BYTES] + 16),
		.text_state_shift = 14, /* 16 bits say how it is interned, which were 2 */
		.code_bytes = first_instruction,
		.text_bytes = (uint16_t)offsets[WORD_TEXT_BYTES],
	};
	return true;
}
