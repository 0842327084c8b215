/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - reads protocol buffers as they are on the wire, field by field, without building messages.
 *
 *   struct gg_wire wire = gg_wire_of(bytes, length);
 *   struct gg_wire_field field;
 *
 *   while ((code = gg_wire_next(&wire, &field)) > 0)
 *           if (field.number == 1 && field.type == GG_WIRE_BYTES) ...
 *
 * Why no generated reader: a file may be hostile.  Unpacked messages take ten times the bytes of a file and
 * more, all at once; here nothing is allocated, and a reader keeps what it needs.  Every length is checked
 * against the bytes that are there.
 *
 * Threads  any; pure.
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
	uint64_t value;       /* of a number */
	struct gg_wire bytes; /* of GG_WIRE_BYTES: as a message, or at..end as a text */
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

/* 1: a field, 0: the end, -1: what follows is no field; then wire->at is where it was. */
int gg_wire_next(struct gg_wire *wire, struct gg_wire_field *ret_field);

/*
 * The numbers of a repeated field, which may be packed: the next one of `field`, or false.  A field that is
 * neither a number nor numbers without a break has none, and *ret_is_wrong is set.
 */
bool gg_wire_numbers(struct gg_wire_field *field, uint64_t *ret_value, bool *ret_is_wrong);
