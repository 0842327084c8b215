/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the line of a position in a code object, from a cache.
 *
 * PyCode_Addr2Line() reads the table of lines from its beginning, at some 40 instructions for each
 * entry, and a sample has a dozen frames.  In a server of asyncio, it took three quarters of the
 * instructions of a sample.
 *
 * The key is a hash of the addresses of code and table, the first line, the position, the table's
 * length, and 16 bytes each of its beginning, middle and end.  A look-up compares all 64 bits.  The
 * line of another code object may be found only if it was freed, and one with the same of all these
 * lies in its place: its text has other line breaks at other places of the table.  Hashing whole
 * tables took an eighth of the instructions of a sample.
 *
 * Memory   16 KiB.  A line has two places; a third one with the same lower bits takes the older.
 * Threads  any, without locks; each has the right to read the code object.
 */
#pragma once

#include "interpreter.h"

/* `position` is as PyCode_Addr2Line() takes it.  Returns at most 0 if there is no line. */
int gg_python_line(const struct gg_python *python, const void *code, int position);
