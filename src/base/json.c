/* SPDX-License-Identifier: Apache-2.0 */
/* json - writes JSON values with their names, commas and escapes. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/printable.h"

static void append_quoted(struct gg_buf *out, const char *text)
{
	/*
	 * Escapes the characters that a terminal would obey, so that JSON printed on a screen is
	 * harmless.
	 */
	const unsigned char *p = (const unsigned char *)text;

	gg_buf_append_text(out, "\"");
	while (*p != '\0') {
		size_t length = gg_utf8_length(p);

		if (*p == '"' || *p == '\\')
			gg_buf_printf(out, "\\%c", *p);
		else if (length > 0 && !gg_printable_is_harmless(gg_printable_code(p, length)))
			gg_buf_printf(out, "\\u%04x", gg_printable_code(p, length));
		else if (length == 0)
			gg_buf_append_text(out, "\xef\xbf\xbd");
		else
			gg_buf_append(out, p, length);
		p += length > 0 ? length : 1;
	}
	gg_buf_append_text(out, "\"");
}

/* Writes the part before a value: a comma after an earlier one, and the name inside an object. */
static void start_value(struct gg_json *json, const char *name)
{
	if (json->depth > 0) {
		/* Values in an object must have names, and values in a list must not. */
		gg_assert((json->closers[json->depth - 1] == '}') == (name != NULL));
		if (json->has_items[json->depth - 1])
			gg_buf_append_text(json->out, ",");
		json->has_items[json->depth - 1] = true;
	}
	if (name != NULL) {
		append_quoted(json->out, name);
		gg_buf_append_text(json->out, ":");
	}
}

void gg_json_open(struct gg_json *json, const char *name, char bracket)
{
	gg_assert(json->depth < GG_JSON_MAX_DEPTH && (bracket == '{' || bracket == '['));
	start_value(json, name);
	gg_buf_append(json->out, &bracket, 1);
	json->closers[json->depth] = bracket == '{' ? '}' : ']';
	json->has_items[json->depth] = false;
	json->depth++;
}

void gg_json_close(struct gg_json *json)
{
	gg_assert(json->depth > 0);
	json->depth--;
	gg_buf_append(json->out, &json->closers[json->depth], 1);
}

void gg_json_number(struct gg_json *json, const char *name, double value)
{
	char text[32];

	start_value(json, name);
	if (!isfinite(value)) {
		gg_buf_append_text(json->out, "null");
		return;
	}
	/* 17 digits always read back as the same double, and fewer are usually enough. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	gg_buf_append_text(json->out, text);
}

void gg_json_integer(struct gg_json *json, const char *name, uint64_t value)
{
	start_value(json, name);
	gg_buf_append_number(json->out, value);
}

void gg_json_decimal(struct gg_json *json, const char *name, int64_t value, int digits)
{
	/*
	 * Negating as an unsigned number is also right for INT64_MIN, whose absolute value does not
	 * fit int64_t.
	 */
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value, unit = 1;

	start_value(json, name);
	for (int i = 0; i < digits; i++)
		unit *= 10;
	gg_buf_printf(json->out, "%s%" PRIu64, value < 0 ? "-" : "", size / unit);
	if (size % unit == 0)
		return;
	/* The fraction loses its final zeros.  It is not 0 here, so the loop ends. */
	for (size %= unit; size % 10 == 0; size /= 10)
		digits--;
	gg_buf_printf(json->out, ".%0*" PRIu64, digits, size);
}

void gg_json_bool(struct gg_json *json, const char *name, bool value)
{
	start_value(json, name);
	gg_buf_append_text(json->out, value ? "true" : "false");
}

void gg_json_text(struct gg_json *json, const char *name, const char *value)
{
	start_value(json, name);
	if (value == NULL)
		gg_buf_append_text(json->out, "null");
	else
		append_quoted(json->out, value);
}
