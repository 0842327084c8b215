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
 * A failed append leaves what was there and sets `failed`; later appends do nothing.  So a whole
 * text is built without a test per line and checked once at its end.
 *
 * Lifetime  all-zero is a valid empty buffer; gg_buf_done() frees and makes it empty again.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct gg_buf {
	char *data;      /* NULL while capacity is 0; else data[length] is a 0 byte of our own */
	size_t length;   /* bytes in use, without that 0 byte */
	size_t capacity; /* bytes allocated */
	bool failed;     /* memory ran out or a size overflowed; contents end before that append */
};

void gg_buf_done(struct gg_buf *buf);

/* Empties it, keeps the memory for reuse and forgets a failure. */
void gg_buf_clear(struct gg_buf *buf);

/* Makes room for `extra` more bytes; true if it is there.  Appending that much cannot fail then. */
bool gg_buf_reserve(struct gg_buf *buf, size_t extra);

void gg_buf_append(struct gg_buf *buf, const void *bytes, size_t length);
void gg_buf_append_text(struct gg_buf *buf, const char *text);
void gg_buf_printf(struct gg_buf *buf, const char *format, ...) GG_PRINTF(2, 3);

/* The contents as a string; "" for an empty buffer.  Valid until the next change. */
const char *gg_buf_text(const struct gg_buf *buf);
