/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the line of a position in a code object, from a cache.
 *
 * PyCode_Addr2Line() reads the table of lines from its beginning, at some 40 instructions for each
 * entry, and a sample has a dozen frames.  In a server of asyncio, it took three quarters of the
 * instructions of a sample.
 *
 * A program that generates code frees code objects, and makes others of the same shape at the same
 * addresses.  So the deallocator of the code type counts the code objects that die there.  The hook
 * stays in place after a recording, because it costs six instructions for each code object that
 * dies.  The key is a hash of the address of the code object, the number of deaths there, the
 * position, the first line, and the address of the table.  A look-up compares all 64 bits, and
 * takes 59 instructions.  A hash of parts of the table is not in the key: it took 25 more, and
 * tells nothing that deaths do not tell.
 *
 * Memory   17 KiB.  A line has two places; a third one with the same lower bits takes the older.
 * Threads  any, without locks; each has the right to read the code object.
 */
#pragma once

#include "interpreter.h"

/*
 * Counts the code objects that die from now on.  Call it before the first line is read, with
 * Python's lock or without it.  More calls change nothing.
 */
void gg_python_watch_codes(const struct gg_python *python);

/* `position` is as PyCode_Addr2Line() takes it.  Returns at most 0 if there is no line. */
int gg_python_line(const struct gg_python *python, const void *code, int position);
