/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_cursor - reads little-endian numbers and texts of hostile bytes, and never passes their end.
 *
 *   struct gg_byte_cursor cursor = gg_byte_cursor_of(bytes, length);
 *
 *   id = gg_byte_cursor_number(&cursor, 4);
 *   if (cursor.failed)
 *           return -EBADMSG;                      a read passed the end; all later reads are 0
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_byte_cursor {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct gg_byte_cursor gg_byte_cursor_of(const uint8_t *bytes, size_t length)
{
	return (struct gg_byte_cursor){ bytes, bytes + length, false };
}

static inline size_t gg_byte_cursor_left(const struct gg_byte_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* Returns the next `length` bytes; NULL: there are fewer, or an earlier read failed. */
static inline const uint8_t *gg_byte_cursor_take(struct gg_byte_cursor *cursor, uint64_t length)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || length > gg_byte_cursor_left(cursor)) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += length;
	return bytes;
}

/* Returns the next `bytes` bytes, at most 8, as a number. */
static inline uint64_t gg_byte_cursor_number(struct gg_byte_cursor *cursor, unsigned bytes)
{
	const uint8_t *from = gg_byte_cursor_take(cursor, bytes);
	uint64_t value = 0;

	if (from == NULL)
		return 0;
	for (unsigned i = bytes; i > 0; i--)
		value = value << 8 | from[i - 1];
	return value;
}

/* Reads seven bits a byte, the lowest first.  Bits beyond the 64th are lost, as writers expect. */
static inline uint64_t gg_byte_cursor_varint(struct gg_byte_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = gg_byte_cursor_number(cursor, 1);

		if (shift < 64)
			value |= (byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	cursor->failed = true;
	return 0;
}

/* Returns the bytes of a UTF-16 text up to its final 0, which is taken as well. */
static inline struct gg_byte_cursor gg_byte_cursor_utf16(struct gg_byte_cursor *cursor)
{
	const uint8_t *from = cursor->at;

	while (!cursor->failed) {
		if (gg_byte_cursor_number(cursor, 2) == 0 && !cursor->failed)
			return gg_byte_cursor_of(from, (size_t)(cursor->at - from) - 2);
	}
	return gg_byte_cursor_of(cursor->end, 0);
}
