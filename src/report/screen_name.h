/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_name - shortens the names of functions where people miss the text least.
 *
 *   gg_screen_name_shorten("std::map<int, long>::operator[] (app)", 20, "...", &out);
 *                                                    "...::operator[] (app)"
 *
 * Template arguments and parameters go first, then namespaces and classes from the left, then the
 * module behind the name.  The last component stays, and no cut is inside "::".  Methods of
 * Java and .NET, "System.IO.File.Open (System.Private.CoreLib.dll)", lose the module first.
 *
 * Threads  Any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Appends the longest form that fits into `width` cells, or the shortest one, which may be wider.
 * False: the text has no such parts, and nothing was appended.
 */
bool gg_screen_name_shorten(const char *text, size_t width, const char *ellipsis,
                            struct gg_buf *out);
