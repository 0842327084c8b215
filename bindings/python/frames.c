/* SPDX-License-Identifier: Apache-2.0 */
/* frames - walks the interpreter's frames of CPython 3.11, and copies texts. */
#include "frames.h"

#include <stdint.h>

/*
 * Returns the calling thread's state if that thread has the lock.  UncheckedGet() returns the state
 * of whichever thread has it:
 *
 *   1. If it is the state that the calling thread has registered, the caller has the lock.
 *   2.  In a subinterpreter the thread has another state, which records its thread's id.  Reading
 *   that
 *      id is safe only with the lock, because another thread's state may be freed at any time.  So
 *      this step needs a caller that has the lock by its contract.
 */
static PyThreadState *own_state(bool held)
{
	PyThreadState *current = _PyThreadState_UncheckedGet();

	if (current == NULL)
		return NULL;
	if (current == PyGILState_GetThisThreadState())
		return current;
	return held && current->thread_id == PyThread_get_thread_ident() ? current : NULL;
}

/*
 * When the last reference to a code object disappears, its frame still exists.  Python code that
 * runs at this time (a callback of a weak reference) finds the frame with a code object without
 * names.
 */
static bool has_code(const _PyInterpreterFrame *frame)
{
	return frame->f_code != NULL && Py_REFCNT(frame->f_code) > 0;
}

static int line_of(_PyInterpreterFrame *frame)
{
	int line = PyCode_Addr2Line(frame->f_code,
	                            _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));

	return line > 0 ? line : 0;
}

/*
 * False while the interpreter still prepares the call (arguments, cells): Python ignores the frame.
 */
static bool is_called(_PyInterpreterFrame *frame)
{
	return has_code(frame) && !_PyFrame_IsIncomplete(frame);
}

size_t gg_python_frames(struct gg_python_frame *frames, size_t max, bool held)
{
	PyThreadState *state = own_state(held);
	const _PyCFrame *loop = state != NULL ? state->cframe : NULL;
	_PyInterpreterFrame *frame = loop != NULL ? loop->current_frame : NULL;
	size_t count = 0;

	for (; frame != NULL && count < max; frame = frame->previous) {
		if (is_called(frame)) {
			frames[count].code = frame->f_code;
			frames[count].line = line_of(frame);
			frames[count].native = loop;
			count++;
		}
		/* The frame further out was running when this call of the loop began. */
		if (frame->is_entry && loop != NULL)
			loop = loop->previous;
	}
	return count;
}

static size_t put_utf8(Py_UCS4 c, char *out)
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
static bool is_byte(Py_UCS4 c)
{
	return c >= 0xdc80 && c <= 0xdcff;
}

const char *gg_python_text(PyObject *text, char *buffer, size_t buffer_bytes)
{
	size_t used = 0;
	Py_ssize_t i, length;

	if (text != NULL && PyUnicode_Check(text) && PyUnicode_IS_READY(text)) {
		length = PyUnicode_GET_LENGTH(text);
		for (i = 0; i < length && used + 4 < buffer_bytes; i++) {
			Py_UCS4 c = PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), i);

			used += put_utf8(is_byte(c) || (c >= 0xd800 && c <= 0xdfff) ? '?' : c,
			                 buffer + used);
		}
	}
	buffer[used] = '\0';
	return buffer;
}
