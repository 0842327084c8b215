/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_schema - the table of fields, and the conversions between JSON and protocol buffers. */
#include "format/codec/otlp_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/codec/json_reader.h"
#include "format/codec/wire_writer.h"

enum kind {
	KIND_INT32,   /* a number in JSON */
	KIND_INT64,   /* a text in JSON */
	KIND_UINT64,  /* a text in JSON */
	KIND_FIXED64, /* a text in JSON */
	KIND_DOUBLE,
	KIND_BOOL,
	KIND_TEXT,
	KIND_HEXADECIMAL, /* bytes */
	KIND_BASE64,      /* bytes */
	KIND_MESSAGE,
};

struct field {
	const char *name; /* in JSON */
	uint32_t number;
	enum kind kind;
	bool is_list;
	enum gg_otlp_message message; /* KIND_MESSAGE */
};

struct message {
	const struct field *fields;
	size_t field_count;
};

static const struct field data_fields[] = {
	{ "resourceProfiles", 1, KIND_MESSAGE, true, GG_OTLP_RESOURCE_PROFILES },
	{ "dictionary", 2, KIND_MESSAGE, false, GG_OTLP_DICTIONARY },
};
static const struct field dictionary_fields[] = {
	{ "mappingTable", 1, KIND_MESSAGE, true, GG_OTLP_MAPPING },
	{ "locationTable", 2, KIND_MESSAGE, true, GG_OTLP_LOCATION },
	{ "functionTable", 3, KIND_MESSAGE, true, GG_OTLP_FUNCTION },
	{ "linkTable", 4, KIND_MESSAGE, true, GG_OTLP_LINK },
	{ "stringTable", 5, KIND_TEXT, true, 0 },
	{ "attributeTable", 6, KIND_MESSAGE, true, GG_OTLP_ATTRIBUTE },
	{ "stackTable", 7, KIND_MESSAGE, true, GG_OTLP_STACK },
};
static const struct field resource_profiles_fields[] = {
	{ "resource", 1, KIND_MESSAGE, false, GG_OTLP_RESOURCE },
	{ "scopeProfiles", 2, KIND_MESSAGE, true, GG_OTLP_SCOPE_PROFILES },
	{ "schemaUrl", 3, KIND_TEXT, false, 0 },
};
static const struct field resource_fields[] = {
	{ "attributes", 1, KIND_MESSAGE, true, GG_OTLP_KEY_VALUE },
	{ "droppedAttributesCount", 2, KIND_INT32, false, 0 },
};
static const struct field scope_profiles_fields[] = {
	{ "scope", 1, KIND_MESSAGE, false, GG_OTLP_SCOPE },
	{ "profiles", 2, KIND_MESSAGE, true, GG_OTLP_PROFILE },
	{ "schemaUrl", 3, KIND_TEXT, false, 0 },
};
static const struct field scope_fields[] = {
	{ "name", 1, KIND_TEXT, false, 0 },
	{ "version", 2, KIND_TEXT, false, 0 },
	{ "attributes", 3, KIND_MESSAGE, true, GG_OTLP_KEY_VALUE },
	{ "droppedAttributesCount", 4, KIND_INT32, false, 0 },
};
static const struct field profile_fields[] = {
	{ "sampleType", 1, KIND_MESSAGE, false, GG_OTLP_VALUE_TYPE },
	{ "samples", 2, KIND_MESSAGE, true, GG_OTLP_SAMPLE },
	{ "timeUnixNano", 3, KIND_FIXED64, false, 0 },
	{ "durationNano", 4, KIND_UINT64, false, 0 },
	{ "periodType", 5, KIND_MESSAGE, false, GG_OTLP_VALUE_TYPE },
	{ "period", 6, KIND_INT64, false, 0 },
	{ "profileId", 7, KIND_BASE64, false, 0 },
	{ "droppedAttributesCount", 8, KIND_INT32, false, 0 },
	{ "originalPayloadFormat", 9, KIND_TEXT, false, 0 },
	{ "originalPayload", 10, KIND_BASE64, false, 0 },
	{ "attributeIndices", 11, KIND_INT32, true, 0 },
};
static const struct field value_type_fields[] = {
	{ "typeStrindex", 1, KIND_INT32, false, 0 },
	{ "unitStrindex", 2, KIND_INT32, false, 0 },
};
static const struct field sample_fields[] = {
	{ "stackIndex", 1, KIND_INT32, false, 0 },
	{ "attributeIndices", 2, KIND_INT32, true, 0 },
	{ "linkIndex", 3, KIND_INT32, false, 0 },
	{ "values", 4, KIND_INT64, true, 0 },
	{ "timestampsUnixNano", 5, KIND_FIXED64, true, 0 },
};
static const struct field stack_fields[] = {
	{ "locationIndices", 1, KIND_INT32, true, 0 },
};
static const struct field location_fields[] = {
	{ "mappingIndex", 1, KIND_INT32, false, 0 },
	{ "address", 2, KIND_UINT64, false, 0 },
	{ "lines", 3, KIND_MESSAGE, true, GG_OTLP_LINE },
	{ "attributeIndices", 4, KIND_INT32, true, 0 },
};
static const struct field line_fields[] = {
	{ "functionIndex", 1, KIND_INT32, false, 0 },
	{ "line", 2, KIND_INT64, false, 0 },
	{ "column", 3, KIND_INT64, false, 0 },
};
static const struct field function_fields[] = {
	{ "nameStrindex", 1, KIND_INT32, false, 0 },
	{ "systemNameStrindex", 2, KIND_INT32, false, 0 },
	{ "filenameStrindex", 3, KIND_INT32, false, 0 },
	{ "startLine", 4, KIND_INT64, false, 0 },
};
static const struct field mapping_fields[] = {
	{ "memoryStart", 1, KIND_UINT64, false, 0 },
	{ "memoryLimit", 2, KIND_UINT64, false, 0 },
	{ "fileOffset", 3, KIND_UINT64, false, 0 },
	{ "filenameStrindex", 4, KIND_INT32, false, 0 },
	{ "attributeIndices", 5, KIND_INT32, true, 0 },
};
static const struct field link_fields[] = {
	{ "traceId", 1, KIND_HEXADECIMAL, false, 0 },
	{ "spanId", 2, KIND_HEXADECIMAL, false, 0 },
};
static const struct field attribute_fields[] = {
	{ "keyStrindex", 1, KIND_INT32, false, 0 },
	{ "value", 2, KIND_MESSAGE, false, GG_OTLP_ANY_VALUE },
	{ "unitStrindex", 3, KIND_INT32, false, 0 },
};
static const struct field key_value_fields[] = {
	{ "key", 1, KIND_TEXT, false, 0 },
	{ "value", 2, KIND_MESSAGE, false, GG_OTLP_ANY_VALUE },
	{ "keyStrindex", 3, KIND_INT32, false, 0 },
};
static const struct field any_value_fields[] = {
	{ "stringValue", 1, KIND_TEXT, false, 0 },
	{ "boolValue", 2, KIND_BOOL, false, 0 },
	{ "intValue", 3, KIND_INT64, false, 0 },
	{ "doubleValue", 4, KIND_DOUBLE, false, 0 },
	{ "arrayValue", 5, KIND_MESSAGE, false, GG_OTLP_ARRAY_VALUE },
	{ "kvlistValue", 6, KIND_MESSAGE, false, GG_OTLP_KEY_VALUE_LIST },
	{ "bytesValue", 7, KIND_BASE64, false, 0 },
	{ "stringValueStrindex", 8, KIND_INT32, false, 0 },
};
static const struct field array_value_fields[] = {
	{ "values", 1, KIND_MESSAGE, true, GG_OTLP_ANY_VALUE },
};
static const struct field key_value_list_fields[] = {
	{ "values", 1, KIND_MESSAGE, true, GG_OTLP_KEY_VALUE },
};

#define FIELDS(array)                  \
	{                              \
		array, GG_COUNT(array) \
	}

static const struct message messages[GG_OTLP_MESSAGE_COUNT] = {
	[GG_OTLP_DATA] = FIELDS(data_fields),
	[GG_OTLP_DICTIONARY] = FIELDS(dictionary_fields),
	[GG_OTLP_RESOURCE_PROFILES] = FIELDS(resource_profiles_fields),
	[GG_OTLP_RESOURCE] = FIELDS(resource_fields),
	[GG_OTLP_SCOPE_PROFILES] = FIELDS(scope_profiles_fields),
	[GG_OTLP_SCOPE] = FIELDS(scope_fields),
	[GG_OTLP_PROFILE] = FIELDS(profile_fields),
	[GG_OTLP_VALUE_TYPE] = FIELDS(value_type_fields),
	[GG_OTLP_SAMPLE] = FIELDS(sample_fields),
	[GG_OTLP_STACK] = FIELDS(stack_fields),
	[GG_OTLP_LOCATION] = FIELDS(location_fields),
	[GG_OTLP_LINE] = FIELDS(line_fields),
	[GG_OTLP_FUNCTION] = FIELDS(function_fields),
	[GG_OTLP_MAPPING] = FIELDS(mapping_fields),
	[GG_OTLP_LINK] = FIELDS(link_fields),
	[GG_OTLP_ATTRIBUTE] = FIELDS(attribute_fields),
	[GG_OTLP_KEY_VALUE] = FIELDS(key_value_fields),
	[GG_OTLP_ANY_VALUE] = FIELDS(any_value_fields),
	[GG_OTLP_ARRAY_VALUE] = FIELDS(array_value_fields),
	[GG_OTLP_KEY_VALUE_LIST] = FIELDS(key_value_list_fields),
};

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- to JSON -------------------------------------------------------------------------------- */

struct json_writer {
	struct gg_json json;
	struct gg_buf text; /* scratch */
};

static void put_hexadecimal(struct gg_buf *out, struct gg_wire bytes)
{
	for (; bytes.at < bytes.end; bytes.at++)
		gg_buf_printf(out, "%02x", *bytes.at);
}

static void put_base64(struct gg_buf *out, struct gg_wire bytes)
{
	while (bytes.at < bytes.end) {
		size_t length = gg_wire_length(&bytes) < 3 ? gg_wire_length(&bytes) : 3;
		uint32_t bits = 0;
		char digits[4];

		for (size_t i = 0; i < 3; i++)
			bits = bits << 8 | (i < length ? bytes.at[i] : 0);
		for (size_t i = 0; i < 4; i++)
			digits[i] = i <= length ? base64_digits[bits >> (18 - 6 * i) & 63] : '=';
		gg_buf_append(out, digits, sizeof(digits));
		bytes.at += length;
	}
}

static void put_message(struct json_writer *writer, enum gg_otlp_message message,
                        struct gg_wire wire, const char *name, int depth);

/* Writes a value that is no message; name NULL: an item of a list. */
static void put_value(struct json_writer *writer, enum kind kind, const char *name,
                      const struct gg_wire_field *value)
{
	struct gg_buf *text = &writer->text;
	double number;

	gg_buf_clear(text);
	switch (kind) {
	case KIND_INT32:
		gg_json_decimal(&writer->json, name, (int32_t)value->value, 0);
		return;
	case KIND_BOOL:
		gg_json_bool(&writer->json, name, value->value != 0);
		return;
	case KIND_DOUBLE:
		memcpy(&number, &value->value, sizeof(number));
		gg_json_number(&writer->json, name, number);
		return;
	case KIND_INT64:
		gg_buf_printf(text, "%" PRId64, (int64_t)value->value);
		break;
	case KIND_UINT64:
	case KIND_FIXED64:
		gg_buf_printf(text, "%" PRIu64, value->value);
		break;
	case KIND_HEXADECIMAL:
		put_hexadecimal(text, value->bytes);
		break;
	case KIND_BASE64:
		put_base64(text, value->bytes);
		break;
	default:
		gg_buf_append(text, value->bytes.at, gg_wire_length(&value->bytes));
		break;
	}
	gg_json_text(&writer->json, name, gg_buf_text(text));
}

/* True for a number in the wire format that the kind has outside a packed field. */
static bool has_type(enum kind kind, enum gg_wire_type type)
{
	if (kind == KIND_FIXED64 || kind == KIND_DOUBLE)
		return type == GG_WIRE_64;
	return type == (kind >= KIND_TEXT ? GG_WIRE_BYTES : GG_WIRE_VARINT);
}

/* Writes the items of one packed field, or the only item of another one. */
static void put_items(struct json_writer *writer, const struct field *field,
                      struct gg_wire_field found, int depth)
{
	if (field->kind == KIND_MESSAGE && found.type == GG_WIRE_BYTES) {
		put_message(writer, field->message, found.bytes, NULL, depth);
	} else if (has_type(field->kind, found.type)) {
		put_value(writer, field->kind, NULL, &found);
	} else if (found.type == GG_WIRE_BYTES && field->kind < KIND_TEXT) {
		struct gg_wire_field item = { .type = GG_WIRE_VARINT };
		bool is_wrong = false;

		if (field->kind != KIND_FIXED64 && field->kind != KIND_DOUBLE) {
			while (gg_wire_numbers(&found, &item.value, &is_wrong))
				put_value(writer, field->kind, NULL, &item);
			return;
		}
		for (; gg_wire_length(&found.bytes) >= 8; found.bytes.at += 8) {
			item.value = 0;
			for (int i = 7; i >= 0; i--)
				item.value = item.value << 8 | found.bytes.at[i];
			put_value(writer, field->kind, NULL, &item);
		}
	}
}

/*
 * Writes one member with all its occurrences.  A list of JSON holds them all, while in the wire
 * format they may be apart.
 */
static void put_member(struct json_writer *writer, const struct field *field, struct gg_wire wire,
                       int depth)
{
	struct gg_wire_field found, last = { 0 };
	bool is_open = false;

	while (gg_wire_next(&wire, &found) > 0) {
		if (found.number != field->number)
			continue;
		if (!is_open && field->is_list)
			gg_json_open(&writer->json, field->name, '[');
		is_open = true;
		last = found;
		if (field->is_list)
			put_items(writer, field, found, depth);
	}
	if (is_open && field->is_list)
		gg_json_close(&writer->json);
	else if (is_open && field->kind == KIND_MESSAGE && last.type == GG_WIRE_BYTES)
		put_message(writer, field->message, last.bytes, field->name, depth);
	else if (is_open && has_type(field->kind, last.type))
		put_value(writer, field->kind, field->name, &last);
}

static void put_message(struct json_writer *writer, enum gg_otlp_message message,
                        struct gg_wire wire, const char *name, int depth)
{
	gg_json_open(&writer->json, name, '{');
	/* Each message may hold a list, which is a level of JSON. */
	for (size_t i = 0; i < messages[message].field_count && depth < GG_JSON_MAX_DEPTH / 2 - 1;
	     i++)
		put_member(writer, &messages[message].fields[i], wire, depth + 1);
	gg_json_close(&writer->json);
}

void gg_otlp_schema_to_json(struct gg_buf *out, enum gg_otlp_message message, struct gg_wire wire)
{
	struct json_writer writer = { .json = { .out = out } };

	put_message(&writer, message, wire, NULL, 0);
	out->failed |= writer.text.failed;
	gg_buf_done(&writer.text);
}

/* --- from JSON ------------------------------------------------------------------------------ */

struct json_import {
	struct gg_json_reader json;
	struct gg_buf *out;
	char *text; /* GG_OTLP_TEXT_MAX bytes */
	int depth;
};

/* Returns the first character of the next value; 0 at the end. */
static char next_character(struct json_import *reader)
{
	struct gg_json_reader *json = &reader->json;

	while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL && *json->at != '\0')
		json->at++;
	return json->at < json->end && !json->failed ? *json->at : '\0';
}

static const char *take_text(struct json_import *reader)
{
	return gg_json_reader_text(&reader->json, reader->text, GG_OTLP_TEXT_MAX) ? reader->text
	                                                                          : "";
}

/* Reads a whole number, written as a number or as a text. */
static uint64_t take_integer(struct json_import *reader)
{
	double number = 0;
	uint64_t value;
	char *end;

	if (next_character(reader) == '"') {
		const char *text = take_text(reader);

		errno = 0;
		value = text[0] == '-' ? (uint64_t)strtoll(text, &end, 10)
		                       : strtoull(text, &end, 10);
		if (end == text || *end != '\0' || errno != 0)
			reader->json.failed = true;
		return reader->json.failed ? 0 : value;
	}
	gg_json_reader_number(&reader->json, &number);
	if (!(fabs(number) < 0x1p63) || number != floor(number)) {
		reader->json.failed = true;
		return 0;
	}
	return (uint64_t)(int64_t)number;
}

static bool take_bool(struct json_import *reader)
{
	bool is_true = next_character(reader) == 't';

	if (!is_true && next_character(reader) != 'f')
		reader->json.failed = true;
	else
		gg_json_reader_skip(&reader->json);
	return is_true;
}

/* Returns a double's bits.  Numbers that are not finite are texts in JSON. */
static uint64_t take_double(struct json_import *reader)
{
	double number = 0;
	uint64_t bits;

	if (next_character(reader) == '"')
		number = strtod(take_text(reader), NULL);
	else
		gg_json_reader_number(&reader->json, &number);
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* Decodes the text in place, up to the first character that is no digit.  Returns its length. */
static size_t decode_bytes(char *text, bool is_base64)
{
	uint32_t bits = 0, bit_count = 0;
	size_t length = 0;

	for (const char *at = text; *at != '\0'; at++) {
		const char *digit;
		uint32_t value;

		if (is_base64) {
			char c = *at == '-' ? '+' : *at == '_' ? '/' : *at;

			digit = strchr(base64_digits, c);
			if (digit == NULL)
				break;
			value = (uint32_t)(digit - base64_digits);
		} else {
			char c = *at >= 'A' && *at <= 'F' ? (char)(*at - 'A' + 'a') : *at;

			digit = strchr("0123456789abcdef", c);
			if (digit == NULL)
				break;
			value = (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		bits = bits << (is_base64 ? 6 : 4) | value;
		bit_count += is_base64 ? 6 : 4;
		if (bit_count >= 8) {
			bit_count -= 8;
			text[length++] = (char)(bits >> bit_count);
		}
	}
	return length;
}

static void take_message(struct json_import *reader, enum gg_otlp_message message);

static void take_value(struct json_import *reader, const struct field *field)
{
	struct gg_buf *out = reader->out;
	size_t start;

	switch (field->kind) {
	case KIND_INT32:
	case KIND_INT64:
	case KIND_UINT64:
		gg_wire_put_number(out, field->number, take_integer(reader));
		break;
	case KIND_FIXED64:
		gg_wire_put_fixed(out, field->number, take_integer(reader));
		break;
	case KIND_DOUBLE:
		gg_wire_put_fixed(out, field->number, take_double(reader));
		break;
	case KIND_BOOL:
		gg_wire_put_number(out, field->number, take_bool(reader));
		break;
	case KIND_TEXT:
		gg_wire_put_text(out, field->number, take_text(reader));
		break;
	case KIND_HEXADECIMAL:
	case KIND_BASE64:
		take_text(reader);
		gg_wire_put_bytes(out, field->number, reader->text,
		                  decode_bytes(reader->text, field->kind == KIND_BASE64));
		break;
	case KIND_MESSAGE:
		start = gg_wire_begin(out, field->number);
		take_message(reader, field->message);
		gg_wire_end(out, start);
		break;
	}
}

static const struct field *find_field(enum gg_otlp_message message, const char *name)
{
	for (size_t i = 0; i < messages[message].field_count; i++)
		if (strcmp(messages[message].fields[i].name, name) == 0)
			return &messages[message].fields[i];
	return NULL;
}

static void take_message(struct json_import *reader, enum gg_otlp_message message)
{
	struct gg_json_reader *json = &reader->json;
	char key[32];

	if (++reader->depth > GG_OTLP_DEPTH_MAX)
		json->failed = true;
	gg_json_reader_open(json, '{');
	while (gg_json_reader_member(json, key, sizeof(key))) {
		const struct field *field = find_field(message, key);

		if (field == NULL || next_character(reader) == 'n') {
			gg_json_reader_skip(json);
		} else if (field->is_list) {
			gg_json_reader_open(json, '[');
			while (gg_json_reader_item(json))
				take_value(reader, field);
		} else {
			take_value(reader, field);
		}
	}
	reader->depth--;
}

int gg_otlp_schema_from_json(struct gg_buf *out, enum gg_otlp_message message, const char *text,
                             size_t length, size_t *ret_wrong_at)
{
	struct json_import reader = { .json = { .at = text, .end = text + length },
		                      .out = out,
		                      .text = calloc(1, GG_OTLP_TEXT_MAX) };

	if (reader.text == NULL)
		return -ENOMEM;
	take_message(&reader, message);
	if (next_character(&reader) != '\0' || reader.json.at < reader.json.end)
		reader.json.failed = true;
	free(reader.text);
	if (out->failed)
		return -ENOMEM;
	*ret_wrong_at = (size_t)(reader.json.at - text);
	return reader.json.failed ? -EBADMSG : 0;
}
