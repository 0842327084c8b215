/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - a text as a cell of a table of comma-separated values (RFC 4180).
 *
 *   gg_csv_append(&line, name, strlen(name));
 *
 * Names are those of a profiled program, and whoever opens the table trusts it.  Three things are therefore
 * changed:
 *
 * - A text that contains a separator, a quote or the end of a line stands in quotes.
 * - A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets a `'` before it, unless it is a
 *   number: a spreadsheet would run it as a formula.
 * - A byte that is no UTF-8 becomes U+FFFD: many readers refuse a whole file for one of them.
 *
 * Threads  any; it only appends to the buffer.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

void gg_csv_append(struct gg_buf *out, const char *text, size_t length);
