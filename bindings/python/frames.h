/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the calling thread's Python frames, read where nothing may be allocated.
 *
 * An allocator's hook runs in the middle of anything: while a frame is being made or torn down,
 * while a dictionary grows.  PyThreadState_GetFrame() and its relatives make frame objects, so they
 * allocate and may run the collector.  Here the interpreter's own frames are read as they are and
 * nothing is changed: no reference count, no cache, no allocation, no lock.
 *
 * What a frame is changes with each release of CPython; this is written for 3.11
 * (docs/LANGUAGES.md).
 *
 * Threads  only of the calling thread, and only while it has the interpreter's lock.
 */
#pragma once

#include <stddef.h>

/* First, as it chooses what Python's headers declare. */
#include "python.h"

struct gg_python_frame {
	PyCodeObject *code; /* borrowed: alive until the hook returns */
	int line;           /* 0: not known */
	const void *native; /* a local variable of the interpreter's loop that runs it */
};

/*
 * The innermost `max` frames, innermost first; 0 without any, and where the caller has no thread
 * state or not the lock.  `held`: the caller has the lock by its contract (the domains mem and
 * obj).
 */
size_t gg_python_frames(struct gg_python_frame *frames, size_t max, bool held);

/*
 * The text as UTF-8 in a buffer of so many bytes (> 0), cut between characters where it is too
 * long.
 */
const char *gg_python_text(PyObject *text, char *buffer, size_t buffer_bytes);
