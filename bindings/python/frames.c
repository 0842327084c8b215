/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <stdint.h>

/*
 * The calling thread's state, if it has the lock.  The state that a thread registered is its own
 * memory; in a subinterpreter it has another, which is asked for its thread, but only where the
 * caller's contract says that it is the caller's: of another thread it might be freed at any time.
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
 * While the last reference to its code is dropped, a frame is still there.  What runs then (a
 * callback of a weak reference) finds it with a code whose names are gone.
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

/* Arguments are being put in place, or cells made: for Python it is not called yet. */
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
		/* The next one out was running when that loop was entered. */
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

/* A name that Python made of bytes which are not UTF-8 has them as lone surrogates. */
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
