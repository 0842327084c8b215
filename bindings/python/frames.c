/* SPDX-License-Identifier: Apache-2.0 */
/* frames - walks the interpreter's frames, and copies texts. */
#include "frames.h"

#include <sched.h>
#include <stdint.h>

#include "lines.h"

enum {
	OWNED_BY_GENERATOR = 1,
	OWNED_BY_LOOP = 3,
	INSTRUCTION_BYTES = 2,

	/* PyObject, PyTypeObject, PyASCIIObject */
	OBJECT_TYPE = 8,
	TYPE_FLAGS = 168,
	IS_TEXT = 1 << 28,
	TEXT_LENGTH = 16,
	TEXT_STATE = 32,
	STATE_KIND = 7 << 2,
	STATE_COMPACT = 1 << 5,
	STATE_ASCII = 1 << 6
};

static const void *pointer_at(const void *object, size_t offset)
{
	return *(const void *const *)((const char *)object + offset);
}

static int int_at(const void *object, size_t offset)
{
	return *(const int *)((const char *)object + offset);
}

static uint8_t byte_at(const void *object, size_t offset)
{
	return *((const uint8_t *)object + offset);
}

static const void *type_of(const void *object)
{
	return pointer_at(object, OBJECT_TYPE);
}

/*
 * Returns the calling thread's state if that thread has the lock.  Until 3.11, current_state()
 * returns the state of whichever thread has it:
 *
 *   1. If it is the state that the calling thread has registered, the caller has the lock.
 *   2. In a subinterpreter the thread has another state, which records its thread's id.  Reading
 *      that id is safe only with the lock, because another thread's state may be freed at any time.
 *      So this step needs a caller that has the lock by its contract.
 */
static const void *locked_state(const struct gg_python *python, bool held)
{
	const void *current = python->current_state();
	const unsigned long *id;

	if (current == NULL || python->layout->version >= 0x030c ||
	    current == python->registered_state())
		return current;
	id = (const unsigned long *)((const char *)current + python->layout->state_thread_id);
	return held && *id == python->thread_id() ? current : NULL;
}

/*
 * Threads that walk without the lock.  A thread that has released the lock, such as one in
 * sqlite3_step(), still has its state and frames, and nobody else changes them, with one exception:
 * an interpreter that ends frees the states of its daemon threads, which may run in C code.
 *
 *   the walk                        the end of the interpreter
 *   count itself here               set "finalizing"
 *   return if "finalizing"          free frames and states: each such call first waits while
 *   read, and uncount itself        a walk is counted (gg_python_frames_wait())
 */
static int walks_without_lock;

void gg_python_frames_wait(const struct gg_python *python)
{
	/* Bounded: a signal handler may have interrupted a walk to end the process. */
	enum { ROUNDS_MAX = 20000 };

	if (!python->is_finalizing())
		return;
	/* Full: either the walk sees "finalizing", or this thread sees the walk. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		/* Acquire: pairs with the release at the walk's end, whose reads come before. */
		if (__atomic_load_n(&walks_without_lock, __ATOMIC_ACQUIRE) == 0)
			return;
		sched_yield();
	}
}

void gg_python_frames_forked(void)
{
	__atomic_store_n(&walks_without_lock, 0, __ATOMIC_RELAXED);
}

/*
 * When the last reference to a code object disappears, its frame still exists.  Python code that
 * runs at this time (a callback of a weak reference) finds the frame with a code object without
 * names.
 */
static bool is_code(const struct gg_python *python, const void *code)
{
	return code != NULL && *(const intptr_t *)code > 0 && type_of(code) == python->code_type;
}

/*
 * Returns a position as PyCode_Addr2Line() takes it.  -1: the interpreter still prepares the call
 * (arguments, cells), and Python ignores the frame.
 */
static int position_of(const struct gg_python_layout *layout, const void *frame, const void *code)
{
	const char *instruction, *first;
	int position;

	if (layout->code_first_instruction == 0) {
		position = int_at(frame, layout->frame_position);
		return position < 0 ? 0 : position * layout->instruction_bytes;
	}
	instruction = pointer_at(frame, layout->frame_position);
	first = (const char *)code + layout->code_first_instruction;
	if (byte_at(frame, layout->frame_owner) != OWNED_BY_GENERATOR &&
	    instruction < first + INSTRUCTION_BYTES * int_at(code, layout->code_first_traceable))
		return -1;
	return (int)(instruction - first);
}

static unsigned text_state(const struct gg_python *python, const void *text)
{
	return (unsigned)int_at(text, TEXT_STATE) >> python->layout->text_state_shift;
}

/* Text whose characters lie behind its head; nearly all that is. */
static bool is_compact(const struct gg_python *python, const void *text)
{
	return text != NULL &&
	       (*(const uint64_t *)((const char *)type_of(text) + TYPE_FLAGS) & IS_TEXT) &&
	       (text_state(python, text) & STATE_COMPACT);
}

static const char *ascii_of(const struct gg_python *python, const void *text)
{
	return is_compact(python, text) && (text_state(python, text) & STATE_ASCII)
	               ? (const char *)text + python->layout->ascii_bytes
	               : NULL;
}

/* A loop's own frame: it lies on the loop's stack, and has no function. */
static bool is_shim(const struct gg_python_layout *layout, const void *frame)
{
	return layout->loops == GG_PYTHON_LOOPS_SHIMS &&
	       byte_at(frame, layout->frame_owner) == OWNED_BY_LOOP;
}

/* A number instead of an address has both of the low bits. */
static const void *code_of(const struct gg_python_layout *layout, const void *frame)
{
	uintptr_t code = (uintptr_t)pointer_at(frame, layout->frame_code);

	if (!layout->code_is_tagged)
		return (const void *)code;
	return (code & 3) == 3 ? NULL : (const void *)(code & ~(uintptr_t)3);
}

static bool put_frame(const struct gg_python *python, const void *frame, const void *loop,
                      struct gg_python_frame *ret_frame)
{
	const struct gg_python_layout *layout = python->layout;
	const void *code = code_of(layout, frame);
	int position = is_code(python, code) ? position_of(layout, frame, code) : -1, line;

	if (position < 0)
		return false;
	line = gg_python_line(python, code, position);
	ret_frame->name = pointer_at(code, layout->code_name);
	ret_frame->file = pointer_at(code, layout->code_file);
	ret_frame->name_ascii = ascii_of(python, ret_frame->name);
	ret_frame->file_ascii = ascii_of(python, ret_frame->file);
	ret_frame->line = line > 0 ? line : 0;
	ret_frame->native = loop;
	return true;
}

/* The frame that the loop's next call was made from belongs to the loop further out. */
static bool is_first_of_loop(const struct gg_python_layout *layout, const void *frame)
{
	return layout->loops == GG_PYTHON_LOOPS_CHAINED ||
	       (layout->loops == GG_PYTHON_LOOPS_ENTRIES &&
	        byte_at(frame, layout->frame_is_entry) != 0);
}

static size_t walk(const struct gg_python *python, const void *state,
                   struct gg_python_frame *frames, size_t max)
{
	const struct gg_python_layout *layout = python->layout;
	const void *loop = NULL, *frame;
	size_t count = 0, first = 0; /* `first`: the innermost frame of this loop */

	if (layout->state_loop != 0)
		loop = pointer_at(state, layout->state_loop);
	if (layout->state_frame == 0 && loop == NULL)
		return 0;
	frame = layout->state_frame != 0 ? pointer_at(state, layout->state_frame)
	                                 : pointer_at(loop, layout->loop_frame);
	if (layout->loops == GG_PYTHON_LOOPS_SHIMS)
		loop = NULL;
	for (; frame != NULL && count < max; frame = pointer_at(frame, layout->frame_previous)) {
		if (is_shim(layout, frame)) {
			while (first < count)
				frames[first++].native = frame;
			continue;
		}
		count += put_frame(python, frame, loop, &frames[count]);
		if (loop != NULL && is_first_of_loop(layout, frame))
			loop = pointer_at(loop, layout->loop_previous);
	}
	return count;
}

/*
 * Acquire: "finalizing" is read after the count, also with the fence of gg_python_frames_wait().
 * The registered state is read last, because the end of an interpreter also unregisters it.
 */
static size_t walk_without_lock(const struct gg_python *python, struct gg_python_frame *frames,
                                size_t max)
{
	const void *state;
	size_t count = 0;

	__atomic_add_fetch(&walks_without_lock, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!python->is_finalizing() && (state = python->registered_state()) != NULL)
		count = walk(python, state, frames, max);
	__atomic_sub_fetch(&walks_without_lock, 1, __ATOMIC_RELEASE);
	return count;
}

size_t gg_python_frames(const struct gg_python *python, struct gg_python_frame *frames, size_t max,
                        bool held)
{
	const void *state = locked_state(python, held);

	if (state != NULL)
		return walk(python, state, frames, max);
	return python->is_finalizing != NULL ? walk_without_lock(python, frames, max) : 0;
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Python represents bytes of a name that are not UTF-8 as lone surrogates. */
static bool is_surrogate(uint32_t c)
{
	return c >= 0xd800 && c <= 0xdfff;
}

static uint32_t character(const void *characters, unsigned bytes, size_t i)
{
	return bytes == 1   ? ((const uint8_t *)characters)[i]
	       : bytes == 2 ? ((const uint16_t *)characters)[i]
	                    : ((const uint32_t *)characters)[i];
}

const char *gg_python_text(const struct gg_python *python, const void *text, char *buffer,
                           size_t buffer_bytes)
{
	size_t used = 0, length = 0;
	const char *characters = ascii_of(python, text);
	unsigned bytes = 1;

	if (is_compact(python, text))
		length = (size_t)pointer_at(text, TEXT_LENGTH);
	if (length > 0 && characters == NULL) {
		characters = (const char *)text + python->layout->compact_bytes;
		bytes = (text_state(python, text) & STATE_KIND) >> 2;
	}
	for (size_t i = 0; i < length && used + 4 < buffer_bytes; i++) {
		uint32_t c = character(characters, bytes, i);

		used += put_utf8(is_surrogate(c) ? '?' : c, buffer + used);
	}
	buffer[used] = '\0';
	return buffer;
}
