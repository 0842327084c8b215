/* SPDX-License-Identifier: Apache-2.0 */
/* page_columns - prints most numbers without printf, which would take most of the time. */
#include "page/page_columns.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"

static size_t whole(uint64_t value, char *text)
{
	char digits[20];
	size_t count = 0, length;

	do
		digits[count++] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	for (length = 0; count > 0; length++)
		text[length] = digits[--count];
	return length;
}

void gg_page_integers(struct gg_json *json, const char *name, const uint32_t *values, size_t count,
                      size_t stride_bytes)
{
	char text[24];

	gg_json_open(json, name, '[');
	for (size_t i = 0; i < count; i++) {
		const char *at = (const char *)values + i * stride_bytes;
		size_t length = 0;

		if (i > 0)
			text[length++] = ',';
		length += whole(*(const uint32_t *)(const void *)at, text + length);
		gg_buf_append(json->out, text, length);
	}
	gg_json_close(json);
}

static size_t number(double value, int digits, char *text)
{
	if (!isfinite(value))
		return (size_t)sprintf(text, "null");
	if (value >= 0 && value < 1e6 && floor(value) == value)
		return whole((uint64_t)value, text);
	return (size_t)sprintf(text, "%.*g", digits, value);
}

void gg_page_doubles(struct gg_json *json, const char *name, const double *values, size_t count,
                     size_t stride_bytes, int digits)
{
	gg_json_open(json, name, '[');
	for (size_t i = 0; i < count; i++) {
		const char *at = (const char *)values + i * stride_bytes;
		char text[40] = ",";
		size_t length = number(*(const double *)(const void *)at, digits, text + (i > 0));

		gg_buf_append(json->out, text, length + (i > 0));
	}
	gg_json_close(json);
}
