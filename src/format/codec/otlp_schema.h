/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_schema - the messages of OTLP profiles: field numbers, JSON names, and both conversions.
 *
 *   gg_otlp_schema_to_json(&json, GG_OTLP_DATA, gg_wire_of(bytes, length));
 *   if (gg_otlp_schema_from_json(&bytes, GG_OTLP_DATA, text, length, &wrong_at) < 0) ...
 *
 * OTLP has two encodings, protocol buffers and JSON.  geiger writes and reads protocol buffers
 * alone.  JSON is a conversion by the table of fields, so both encodings say the same.
 *
 * Version  opentelemetry-proto 1.10 and 1.11, package opentelemetry.proto.profiles.v1development.
 *          The format is alpha: a later version may change the meaning of these fields.
 * JSON     Names are in lowerCamelCase.  Numbers of 64 bits are texts; a reader also takes numbers.
 *          Bytes are base64, but ids of traces and spans hexadecimal.  A reader ignores unknown
 *          members, and takes null for a missing one.
 * Hostile  The conversion from JSON limits the nesting of messages to GG_OTLP_DEPTH_MAX, and texts
 *          to GG_OTLP_TEXT_MAX bytes.  Its output is valid, but indices in it may be out of range.
 * Threads  any; pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "format/codec/wire.h"

enum { GG_OTLP_DEPTH_MAX = 24, GG_OTLP_TEXT_MAX = 1 << 20 };

enum gg_otlp_message {
	GG_OTLP_DATA, /* ProfilesData; ExportProfilesServiceRequest has the same fields */
	GG_OTLP_DICTIONARY,
	GG_OTLP_RESOURCE_PROFILES,
	GG_OTLP_RESOURCE,
	GG_OTLP_SCOPE_PROFILES,
	GG_OTLP_SCOPE,
	GG_OTLP_PROFILE,
	GG_OTLP_VALUE_TYPE,
	GG_OTLP_SAMPLE,
	GG_OTLP_STACK,
	GG_OTLP_LOCATION,
	GG_OTLP_LINE,
	GG_OTLP_FUNCTION,
	GG_OTLP_MAPPING,
	GG_OTLP_LINK,
	GG_OTLP_ATTRIBUTE, /* KeyValueAndUnit */
	GG_OTLP_KEY_VALUE,
	GG_OTLP_ANY_VALUE,
	GG_OTLP_ARRAY_VALUE,
	GG_OTLP_KEY_VALUE_LIST,
	GG_OTLP_MESSAGE_COUNT,
};

/* Field numbers. */
enum {
	GG_OTLP_DATA_RESOURCE_PROFILES = 1,
	GG_OTLP_DATA_DICTIONARY = 2,

	/* The tables of the dictionary.  Element 0 of each is its zero value. */
	GG_OTLP_TABLE_MAPPING = 1,
	GG_OTLP_TABLE_LOCATION = 2,
	GG_OTLP_TABLE_FUNCTION = 3,
	GG_OTLP_TABLE_LINK = 4,
	GG_OTLP_TABLE_STRING = 5,
	GG_OTLP_TABLE_ATTRIBUTE = 6,
	GG_OTLP_TABLE_STACK = 7,

	GG_OTLP_RESOURCE_PROFILES_RESOURCE = 1,
	GG_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	GG_OTLP_RESOURCE_ATTRIBUTE = 1,
	GG_OTLP_SCOPE_PROFILES_SCOPE = 1,
	GG_OTLP_SCOPE_PROFILES_PROFILE = 2,
	GG_OTLP_SCOPE_NAME = 1,
	GG_OTLP_SCOPE_VERSION = 2,

	GG_OTLP_PROFILE_SAMPLE_TYPE = 1,
	GG_OTLP_PROFILE_SAMPLE = 2,
	GG_OTLP_PROFILE_TIME_NS = 3, /* fixed64 */
	GG_OTLP_PROFILE_DURATION_NS = 4,
	GG_OTLP_PROFILE_PERIOD_TYPE = 5,
	GG_OTLP_PROFILE_PERIOD = 6,
	GG_OTLP_PROFILE_ID = 7,         /* 16 bytes */
	GG_OTLP_PROFILE_ATTRIBUTE = 11, /* packed */

	GG_OTLP_VALUE_TYPE_TYPE = 1,
	GG_OTLP_VALUE_TYPE_UNIT = 2,

	GG_OTLP_SAMPLE_STACK = 1,
	GG_OTLP_SAMPLE_ATTRIBUTE = 2, /* packed */
	GG_OTLP_SAMPLE_VALUE = 4,     /* packed */
	GG_OTLP_SAMPLE_TIME_NS = 5,   /* packed fixed64 */

	GG_OTLP_STACK_LOCATION = 1, /* packed, innermost first */

	GG_OTLP_LOCATION_MAPPING = 1,
	GG_OTLP_LOCATION_ADDRESS = 2,
	GG_OTLP_LOCATION_LINE = 3, /* innermost inlined call first */
	GG_OTLP_LOCATION_ATTRIBUTE = 4,
	GG_OTLP_LINE_FUNCTION = 1,
	GG_OTLP_LINE_NUMBER = 2,

	GG_OTLP_FUNCTION_NAME = 1,
	GG_OTLP_FUNCTION_SYSTEM_NAME = 2,
	GG_OTLP_FUNCTION_FILE = 3,

	GG_OTLP_MAPPING_START = 1,
	GG_OTLP_MAPPING_LIMIT = 2,
	GG_OTLP_MAPPING_FILE_OFFSET = 3,
	GG_OTLP_MAPPING_FILE = 4,
	GG_OTLP_MAPPING_ATTRIBUTE = 5,

	GG_OTLP_LINK_TRACE_ID = 1,
	GG_OTLP_LINK_SPAN_ID = 2,

	GG_OTLP_ATTRIBUTE_KEY = 1,
	GG_OTLP_ATTRIBUTE_VALUE = 2,
	GG_OTLP_ATTRIBUTE_UNIT = 3, /* of UCUM */

	GG_OTLP_KEY_VALUE_KEY = 1,
	GG_OTLP_KEY_VALUE_VALUE = 2,
	GG_OTLP_KEY_VALUE_KEY_TEXT = 3, /* number of a text; since 1.10 */

	GG_OTLP_ANY_STRING = 1,
	GG_OTLP_ANY_BOOL = 2,
	GG_OTLP_ANY_INT = 3,
	GG_OTLP_ANY_DOUBLE = 4,
	GG_OTLP_ANY_TEXT = 8, /* number of a text; since 1.10 */
};

/* Appends a message as JSON.  Bytes that are malformed end the message early. */
void gg_otlp_schema_to_json(struct gg_buf *out, enum gg_otlp_message message, struct gg_wire wire);

/*
 * Appends the fields of a message that JSON holds, without the length of the message.  Returns 0,
 * -EBADMSG with the offset of the error, or -ENOMEM.  The text may end with blanks only.
 */
GG_MUST_CHECK int gg_otlp_schema_from_json(struct gg_buf *out, enum gg_otlp_message message,
                                           const char *text, size_t length, size_t *ret_wrong_at);
