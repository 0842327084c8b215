/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - where each release of CPython keeps what a walk over Python's frames reads.
 *
 * The adapter is built without Python's headers, so that one library serves every release.  The
 * offsets are those of the releases' own headers (internal/pycore_frame.h and its predecessors).
 * All releases of a minor version have the same, on x86-64 and aarch64.  A build whose objects have
 * other sizes (--with-trace-refs) or that has no interpreter's lock is refused.
 *
 *   releases     a thread's innermost frame        the loop that runs a frame
 *   3.8, 3.9     state -> frame                    one loop for each frame; its stack is not known
 *   3.10         state -> frame                    one loop for each frame: state -> cframe -> ...
 *   3.11         state -> cframe -> frame          cframe; an entry frame is its outermost one
 *   3.12         state -> cframe -> frame          a frame of the loop's own is its outermost one
 *   3.13, 3.14   state -> frame                    likewise
 *
 * CPython 3.14 describes itself: _PyRuntime begins with a table of offsets for debuggers.  Each
 * minor version has a table of its own form, so this module knows that of 3.14.  It checks the
 * sizes and offsets that it knows from elsewhere, and refuses a table that does not fit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_PYTHON_OFFSETS_WORDS = 81 }; /* that the adapter reads of a release's own table */

enum gg_python_loops {
	GG_PYTHON_LOOPS_UNKNOWN, /* each frame has one, whose place on the stack is not known */
	GG_PYTHON_LOOPS_CHAINED, /* each frame has one */
	GG_PYTHON_LOOPS_ENTRIES, /* the frame with is_entry set was the first one of its loop */
	GG_PYTHON_LOOPS_SHIMS    /* a frame without code lies on its stack, below its first one */
};

/* A release's layout: offsets in bytes. */
struct gg_python_layout {
	uint16_t version;          /* 0x0308: 3.8 */
	uint8_t loops;             /* enum gg_python_loops */
	uint8_t instruction_bytes; /* a frame's position counts units of so many bytes */

	/* PyThreadState */
	uint16_t state_frame; /* 0: in the loop's record */
	uint16_t state_loop;  /* 0: loops have no record */
	uint16_t state_thread_id;

	/* _PyCFrame: the loop's record, which lies on its stack */
	uint16_t loop_frame, loop_previous;

	/* _PyInterpreterFrame, or PyFrameObject */
	uint16_t frame_previous, frame_code;
	uint16_t frame_position; /* an index (int), or from 3.11 on the address of an instruction */
	uint16_t frame_owner, frame_is_entry;
	bool code_is_tagged; /* the two low bits of frame_code are no part of the address */

	/* PyCodeObject */
	uint16_t code_file, code_name;
	uint16_t code_lines, code_first_line; /* the table of lines (bytes), and a line (int) */
	uint16_t code_first_instruction;      /* 0: positions are indexes */
	uint16_t code_first_traceable;        /* how many instructions prepare the call (int) */

	/* str: where characters begin */
	uint16_t ascii_bytes, compact_bytes;
	uint8_t text_state_shift; /* where the bits of its state begin */

	/* The sizes of whole objects, to check that the build is an ordinary one. */
	uint16_t code_bytes, text_bytes;
};

/* Returns the layout of that version, such as 0x030c for 3.12.  NULL: this module knows none. */
const struct gg_python_layout *gg_python_layout_of(unsigned version);

/*
 * Reads the table of a release that describes itself.  Returns whether the version has one that
 * fits what is known of it.
 */
bool gg_python_layout_read(unsigned version, const uint64_t offsets[GG_PYTHON_OFFSETS_WORDS],
                           struct gg_python_layout *ret_layout);
