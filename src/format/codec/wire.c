/* SPDX-License-Identifier: Apache-2.0 */
/* wire - decodes fields and packed numbers of protocol buffers. */
#include "format/codec/wire.h"

#include "base/assert.h"

int gg_wire_next(struct gg_wire *wire, struct gg_wire_field *ret_field)
{
	struct gg_wire left = *wire;
	struct gg_wire_field field = { 0 };
	uint64_t key, length;

	if (left.at == left.end)
		return 0;
	if (!gg_wire_varint(&left, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
		return -1;
	field.number = (uint32_t)(key >> 3);
	field.type = (enum gg_wire_type)(key & 7);
	switch (key & 7) {
	case GG_WIRE_VARINT:
		if (!gg_wire_varint(&left, &field.value))
			return -1;
		break;
	case GG_WIRE_64:
	case GG_WIRE_32:
		length = field.type == GG_WIRE_64 ? 8 : 4;
		if (gg_wire_length(&left) < length)
			return -1;
		for (size_t i = 0; i < length; i++)
			field.value |= (uint64_t)left.at[i] << (8 * i);
		left.at += length;
		break;
	case GG_WIRE_BYTES:
		if (!gg_wire_varint(&left, &length) || length > gg_wire_length(&left))
			return -1;
		field.bytes = (struct gg_wire){ left.at, left.at + length };
		left.at += length;
		break;
	default: /* the deprecated groups */
		return -1;
	}
	*wire = left;
	*ret_field = field;
	return 1;
}

bool gg_wire_numbers(struct gg_wire_field *field, uint64_t *ret_value, bool *ret_is_wrong)
{
	if (field->type == GG_WIRE_BYTES) {
		if (field->bytes.at == field->bytes.end)
			return false;
		if (gg_wire_varint(&field->bytes, ret_value))
			return true;
	} else if (field->type == GG_WIRE_VARINT) {
		*ret_value = field->value;
		/* An empty field, so that the next call finds no number */
		field->type = GG_WIRE_BYTES;
		field->bytes = (struct gg_wire){ 0 };
		return true;
	}
	*ret_is_wrong = true;
	return false;
}

static void fill(const struct gg_wire_member *member, const struct gg_wire_field *field,
                 void *record)
{
	void *to = (char *)record + member->offset;

	gg_assert(member->type == GG_WIRE_VARINT || member->type == GG_WIRE_BYTES);
	if (member->type == GG_WIRE_BYTES)
		*(struct gg_wire *)to = field->bytes;
	else
		*(uint64_t *)to = field->value;
}

int gg_wire_read(struct gg_wire *wire, const struct gg_wire_member *members, size_t member_count,
                 void *record)
{
	struct gg_wire_field field;
	int more;

	while ((more = gg_wire_next(wire, &field)) > 0)
		for (size_t i = 0; i < member_count; i++)
			if (members[i].number == field.number && members[i].type == field.type)
				fill(&members[i], &field, record);
	return more;
}
