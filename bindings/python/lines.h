/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the line of a position in a code object, from a cache.
 *
 * PyCode_Addr2Line() reads the table of lines from its beginning, at some 40 instructions for each
 * entry, and a sample has a dozen frames.  It was nine tenths of the cost of a sample.
 *
 * The cache is asked by what the line depends on: the bytes of the table, the first line, and the
 * position.  It does not know code objects, so it cannot take one for another that lay at the same
 * address.  An entry is found by all 64 bits of the hash of these.
 *
 * Memory   16 KiB.  An entry takes the place of another one with the same lower bits.
 * Threads  any, without locks; each has the right to read the code object.
 */
#pragma once

#include "interpreter.h"

/* `position` is as PyCode_Addr2Line() takes it.  Returns at most 0 if there is no line. */
int gg_python_line(const struct gg_python *python, const void *code, int position);
