/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - reads protocol buffers field by field from their wire format, without building messages.
 *
 *   struct gg_wire wire = gg_wire_of(bytes, length);
 *   struct gg_wire_field field;
 *
 *   while ((code = gg_wire_next(&wire, &field)) > 0)
 *           if (field.number == 1 && field.type == GG_WIRE_BYTES) ...
 *
 * A generated reader would unpack all messages at once, and needs ten times the bytes of a file or
 * more.  That is too much for a hostile file.  This reader allocates nothing, and its caller keeps
 * only the fields that it needs.  It checks every length against the bytes that are present.
 *
 * Threads  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gg_wire_type { GG_WIRE_VARINT = 0, GG_WIRE_64 = 1, GG_WIRE_BYTES = 2, GG_WIRE_32 = 5 };

struct gg_wire {
	const uint8_t *at, *end;
};

struct gg_wire_field {
	uint32_t number;
	enum gg_wire_type type;
	uint64_t value;       /* the value of a number */
	struct gg_wire bytes; /* for GG_WIRE_BYTES: a message, or a text from at to end */
};

static inline struct gg_wire gg_wire_of(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	return (struct gg_wire){ at, at + length };
}

static inline size_t gg_wire_length(const struct gg_wire *wire)
{
	return (size_t)(wire->end - wire->at);
}

static inline bool gg_wire_varint(struct gg_wire *wire, uint64_t *ret_value)
{
	const uint8_t *at = wire->at;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && at < wire->end; shift += 7) {
		uint8_t byte = *at++;

		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (byte < 0x80) {
			wire->at = at;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/* Returns 1 for a field, 0 at the end, -1 for malformed bytes; then wire->at has not moved. */
int gg_wire_next(struct gg_wire *wire, struct gg_wire_field *ret_field);

/*
 * Reads the next number of a repeated field, which may be packed; returns false at its end.  If the
 * field is neither a number nor packed numbers, the function returns false and sets *ret_is_wrong.
 */
bool gg_wire_numbers(struct gg_wire_field *field, uint64_t *ret_value, bool *ret_is_wrong);
