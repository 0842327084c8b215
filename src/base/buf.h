/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - a byte buffer that grows, for building texts and files.
 *
 *   GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
 *   gg_buf_printf(&text, "%d samples", n);
 *   gg_buf_append(&text, bytes, length);
 *   if (text.failed)
 *           return -ENOMEM;
 *
 * A failed append leaves the contents as they were and sets `failed`; later appends do nothing.  So
 * code can build a whole text without a test for each line and check once at its end.
 *
 * Lifetime  An all-zero buffer is valid and empty. gg_buf_done() frees it and makes it empty again.
 * Threads   One owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct gg_buf {
	char *data;      /* NULL while capacity is 0; otherwise data[length] is a final 0 byte */
	size_t length;   /* bytes in use, without that 0 byte */
	size_t capacity; /* bytes allocated */
	bool failed;     /* memory ran out or a size overflowed; later appends are missing */
};

void gg_buf_done(struct gg_buf *buf);

/* Empties the buffer, keeps its memory for reuse, and clears `failed`. */
void gg_buf_clear(struct gg_buf *buf);

/* Makes room for `extra` more bytes.  If it returns true, appending that many bytes cannot fail. */
bool gg_buf_reserve(struct gg_buf *buf, size_t extra);
/* Gives back the room that is not in use, if it can. */
void gg_buf_trim(struct gg_buf *buf);

void gg_buf_append(struct gg_buf *buf, const void *bytes, size_t length);
void gg_buf_append_text(struct gg_buf *buf, const char *text);
/* Appends a number in decimal digits, in a tenth of the time of gg_buf_printf(). */
void gg_buf_append_number(struct gg_buf *buf, uint64_t number);
/*
 * Appends the value of a label of OpenMetrics: a backslash escapes what would end it, and U+FFFD
 * stands for each byte that is no UTF-8.
 */
void gg_buf_append_label(struct gg_buf *buf, const char *value);
void gg_buf_printf(struct gg_buf *buf, const char *format, ...) GG_PRINTF(2, 3);

/* Returns the contents as a string, "" for an empty buffer.  It is valid until the next change. */
const char *gg_buf_text(const struct gg_buf *buf);
