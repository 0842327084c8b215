/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_writer - appends protocol buffers to a buffer, field by field; wire.h reads them.
 *
 *   size_t sample = gg_wire_begin(&out, 2);
 *
 *   gg_wire_put_number(&out, 1, id);
 *   gg_wire_put_text(&out, 3, "main");
 *   gg_wire_end(&out, sample);
 *
 * The length of a message precedes its bytes, but is known only at their end.  gg_wire_begin()
 * leaves one byte for it.  gg_wire_end() moves a message of 128 bytes or more to make room for a
 * longer length, so each level of nesting moves a large message once.
 *
 * Numbers  all but those of gg_wire_put_fixed() are varints: a negative one is cast to uint64_t, as
 *          protocol buffers do with int32 and int64.
 * Memory   a failed append sets `failed` of the buffer, and later calls change nothing.
 * Threads  one owner of the buffer at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/varint.h"
#include "format/codec/wire.h"

static inline void gg_wire_append_tag(struct gg_buf *out, uint32_t number, enum gg_wire_type type)
{
	gg_varint_append(out, (uint64_t)number << 3 | type);
}

static inline void gg_wire_put_number(struct gg_buf *out, uint32_t number, uint64_t value)
{
	gg_wire_append_tag(out, number, GG_WIRE_VARINT);
	gg_varint_append(out, value);
}

/* Writes a number unless it is 0, for readers that take a missing field for 0. */
static inline void gg_wire_put_nonzero(struct gg_buf *out, uint32_t number, uint64_t value)
{
	if (value != 0)
		gg_wire_put_number(out, number, value);
}

/* Writes a number of 64 bits, or the bits of a double, in 8 bytes. */
static inline void gg_wire_put_fixed(struct gg_buf *out, uint32_t number, uint64_t bits)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> (8 * i));
	gg_wire_append_tag(out, number, GG_WIRE_64);
	gg_buf_append(out, bytes, sizeof(bytes));
}

static inline void gg_wire_put_bytes(struct gg_buf *out, uint32_t number, const void *bytes,
                                     size_t length)
{
	gg_wire_append_tag(out, number, GG_WIRE_BYTES);
	gg_varint_append(out, length);
	gg_buf_append(out, bytes, length);
}

static inline void gg_wire_put_text(struct gg_buf *out, uint32_t number, const char *text)
{
	gg_wire_put_bytes(out, number, text, strlen(text));
}

/* Opens a message or a packed field; returns where it starts, which gg_wire_end() needs. */
static inline size_t gg_wire_begin(struct gg_buf *out, uint32_t number)
{
	gg_wire_append_tag(out, number, GG_WIRE_BYTES);
	gg_buf_append(out, "", 1);
	return out->length;
}

/* Closes what was opened last and is still open. */
static inline void gg_wire_end(struct gg_buf *out, size_t start)
{
	uint8_t length[GG_VARINT_BYTES_MAX];
	size_t length_bytes;

	if (out->failed)
		return;
	length_bytes = gg_varint_encode(length, out->length - start);
	if (length_bytes > 1) {
		if (!gg_buf_reserve(out, length_bytes - 1))
			return;
		memmove(out->data + start + length_bytes - 1, out->data + start,
		        out->length - start + 1); /* with the 0 byte at the end */
		out->length += length_bytes - 1;
	}
	memcpy(out->data + start - 1, length, length_bytes);
}
