/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - reads protocol buffers field by field from their wire format, without building messages.
 *
 *   struct gg_wire wire = gg_wire_of(bytes, length);
 *   struct gg_wire_field field;
 *
 *   while ((status = gg_wire_next(&wire, &field)) > 0)
 *           if (field.number == 1 && field.type == GG_WIRE_BYTES) ...
 *
 * A table can say which fields fill which members of a struct:
 *
 *   static const struct gg_wire_member members[] = {
 *           GG_WIRE_NUMBER(struct line, 1, function),
 *           GG_WIRE_NUMBER(struct line, 2, number),
 *   };
 *   struct line line = { 0 };
 *
 *   if (gg_wire_read(&wire, members, GG_COUNT(members), &line) < 0) ...
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

/* A member of a struct, and the field of a message that fills it. */
struct gg_wire_member {
	uint32_t number;
	enum gg_wire_type type;
	size_t offset; /* of a uint64_t for GG_WIRE_VARINT, of a struct gg_wire for GG_WIRE_BYTES */
};

/* The compiler refuses a member of any other type. */
#define GG_WIRE_MEMBER(record, field_number, wire_type, member, c_type)                      \
	{                                                                                    \
		.number = (field_number), .type = (wire_type),                               \
		.offset = offsetof(record, member) +                                         \
		          0 * sizeof(char[__builtin_types_compatible_p(                      \
						  __typeof__(((record *)0)->member), c_type) \
		                                  ? 1                                        \
		                                  : -1])                                     \
	}
#define GG_WIRE_NUMBER(record, field_number, member) \
	GG_WIRE_MEMBER(record, field_number, GG_WIRE_VARINT, member, uint64_t)
#define GG_WIRE_SPAN(record, field_number, member) \
	GG_WIRE_MEMBER(record, field_number, GG_WIRE_BYTES, member, struct gg_wire)

/*
 * Reads the rest of a message.  Each field that a member has, with its number and type, fills that
 * member; the last of several equal fields counts.  The function skips all other fields, and leaves
 * members without a field as they are.  Returns 0, or -1 for malformed bytes, where wire->at stops.
 */
int gg_wire_read(struct gg_wire *wire, const struct gg_wire_member *members, size_t member_count,
                 void *record);
