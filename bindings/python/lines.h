/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the line of a position in a code object, from a cache.
 *
 * PyCode_Addr2Line() reads the table of lines from its beginning, at some 40 instructions for each
 * entry, and a sample has a dozen frames.  In a server of asyncio, it took three quarters of the
 * instructions of a sample.
 *
 * The line depends on the bytes of the table, the first line and the position, and the cache has
 * their hash as its key.  It does not know code objects, so it cannot confuse two of them that lie
 * at one address after each other.  A look-up compares all 64 bits of the hash.
 *
 * Memory   16 KiB.  An entry takes the place of another one with the same lower bits.
 * Threads  any, without locks; each has the right to read the code object.
 */
#pragma once

#include "interpreter.h"

/* `position` is as PyCode_Addr2Line() takes it.  Returns at most 0 if there is no line. */
int gg_python_line(const struct gg_python *python, const void *code, int position);
