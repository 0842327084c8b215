/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the calling thread's Python frames, read where nothing may be allocated.
 *
 * An allocator's hook may run at any time: while the interpreter makes or removes a frame, or while
 * a dictionary grows.  PyThreadState_GetFrame() and its relatives make frame objects, so they
 * allocate and may run the collector.  This module reads the interpreter's own frames instead, and
 * changes nothing: no reference count, no cache, no allocation, no lock.
 *
 * The layout of frames changes with each release of CPython.  This module knows that of 3.11
 * (docs/LANGUAGES.md).
 *
 * Threads  It reads only the calling thread's frames, and only while that has the interpreter's
 *          lock.
 */
#pragma once

#include <stddef.h>

/* First, because it chooses what Python's headers declare. */
#include "python.h"

struct gg_python_frame {
	PyCodeObject *code; /* borrowed: alive until the hook returns */
	int line;           /* 0: not known */
	const void *native; /* a local variable of the interpreter's loop that runs it */
};

/*
 * Reads at most `max` frames, innermost first, and returns their number.  It is 0 if there are no
 * frames, if the caller has no thread state, or if it does not have the lock.  `held`: by its
 * contract, the caller has the lock (the domains mem and obj).
 */
size_t gg_python_frames(struct gg_python_frame *frames, size_t max, bool held);

/*
 * Copies the text as UTF-8 to a buffer of that many bytes (> 0), and truncates it between
 * characters if it is too long.
 */
const char *gg_python_text(PyObject *text, char *buffer, size_t buffer_bytes);
