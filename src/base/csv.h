/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - a text as a cell of a table of comma-separated values (RFC 4180).
 *
 *   gg_csv_append(&line, name, strlen(name));
 *
 * A profiled program chooses its names, and a person who opens the table trusts them.  Therefore
 * the function changes three kinds of text:
 *
 * - It quotes a text that contains a separator, a quote or the end of a line.
 * - It puts a `'` before a text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return and
 *   is not a number, because a spreadsheet would run it as a formula.
 * - It replaces each byte that is not UTF-8 by U+FFFD, because many readers refuse a whole file for
 *   one such byte.
 *
 * Threads  Any; the function only appends to the buffer.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

void gg_csv_append(struct gg_buf *out, const char *text, size_t length);
