/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the calling thread's Python frames, read where nothing may be allocated.
 *
 * An allocator's hook may run at any time: while the interpreter makes or removes a frame, or while
 * a dictionary grows.  PyThreadState_GetFrame() and its relatives make frame objects, so they
 * allocate and may run the collector.  This module reads the interpreter's own frames instead, and
 * changes nothing: no reference count, no cache, no allocation, no lock.
 *
 * Threads  It reads only the calling thread's frames, with or without the interpreter's lock.
 */
#pragma once

#include <stddef.h>

#include "interpreter.h"

/* All but the line are addresses of Python's objects; those are alive until the hook returns. */
struct gg_python_frame {
	const void *name, *file; /* a str each */
	/* Its characters, which end in a 0 byte and live as long.  NULL: not ASCII. */
	const char *name_ascii, *file_ascii;
	int line; /* 0: not known */
	/* Lies in the stack frame of the interpreter's loop that runs it.  NULL: not known. */
	const void *native;
};

/*
 * Reads at most `max` frames, innermost first, and returns their number.  It is 0 if there are no
 * frames, or if the caller has no thread state.  Without the lock it is also 0 while the
 * interpreter ends, and the frames are those of the interpreter that the thread registered first.
 * `held`: by its contract, the caller has the lock (the domains mem and obj).
 */
size_t gg_python_frames(const struct gg_python *python, struct gg_python_frame *frames, size_t max,
                        bool held);

/*
 * Call it before memory is freed that may have a thread's state or frames: waits while a thread
 * walks without the lock, if the interpreter ends.  python->is_finalizing is not NULL.
 */
void gg_python_frames_wait(const struct gg_python *python);

/* Call it in a forked child. */
void gg_python_frames_forked(void);

/*
 * Copies the text as UTF-8 to a buffer of that many bytes (> 0), and truncates it between
 * characters if it is too long.
 */
const char *gg_python_text(const struct gg_python *python, const void *text, char *buffer,
                           size_t buffer_bytes);
