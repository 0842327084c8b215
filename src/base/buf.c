/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - growth of byte buffers, and formatted appends.
 *
 * Each append ends the contents in a 0 byte, so they are a string at any time.  The 0 byte needs
 * one byte more than the contents, which gg_buf_reserve() takes into account.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { FIRST_CAPACITY = 64 };

void gg_buf_done(struct gg_buf *buf)
{
	free(buf->data);
	*buf = (struct gg_buf){ 0 };
}

void gg_buf_clear(struct gg_buf *buf)
{
	buf->length = 0;
	buf->failed = false;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

bool gg_buf_reserve(struct gg_buf *buf, size_t extra)
{
	size_t need, capacity = buf->capacity;
	char *data;

	if (buf->failed)
		return false;
	if (__builtin_add_overflow(buf->length, extra, &need) || need > PTRDIFF_MAX - 1)
		goto failed;
	need++; /* the 0 byte */
	if (need <= capacity)
		return true;
	/*
	 * Doubling keeps the cost linear: n appends copy at most 2n bytes in all.  The capacity is
	 * at most 2^63, so the product cannot overflow.
	 */
	if (capacity < FIRST_CAPACITY)
		capacity = FIRST_CAPACITY;
	while (capacity < need)
		capacity *= 2;
	data = realloc(buf->data, capacity);
	if (data == NULL)
		goto failed;
	data[buf->length] = '\0';
	buf->data = data;
	buf->capacity = capacity;
	return true;
failed:
	buf->failed = true;
	return false;
}

void gg_buf_trim(struct gg_buf *buf)
{
	char *data = buf->data != NULL ? realloc(buf->data, buf->length + 1) : NULL;

	if (data == NULL)
		return;
	data[buf->length] = '\0';
	buf->data = data;
	buf->capacity = buf->length + 1;
}

void gg_buf_append(struct gg_buf *buf, const void *bytes, size_t length)
{
	if (length == 0 || !gg_buf_reserve(buf, length))
		return;
	memcpy(buf->data + buf->length, bytes, length);
	buf->length += length;
	buf->data[buf->length] = '\0';
}

void gg_buf_append_text(struct gg_buf *buf, const char *text)
{
	gg_buf_append(buf, text, strlen(text));
}

void gg_buf_append_number(struct gg_buf *buf, uint64_t number)
{
	enum { DECIMALS_MOST = 20 }; /* of 2^64 - 1 */
	char digits[DECIMALS_MOST], *first = digits + DECIMALS_MOST;

	do {
		*--first = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	gg_buf_append(buf, first, (size_t)(digits + DECIMALS_MOST - first));
}

void gg_buf_append_label(struct gg_buf *buf, const char *value)
{
	while (*value != '\0') {
		size_t length = gg_utf8_length((const unsigned char *)value);

		if (*value == '\n')
			gg_buf_append_text(buf, "\\n");
		else if (*value == '"' || *value == '\\')
			gg_buf_printf(buf, "\\%c", *value);
		else if (length == 0)
			gg_buf_append_text(buf, "\xef\xbf\xbd"); /* U+FFFD */
		else
			gg_buf_append(buf, value, length);
		value += length > 0 ? length : 1;
	}
}

void gg_buf_printf(struct gg_buf *buf, const char *format, ...)
{
	va_list values;
	int length;

	va_start(values, format);
	/* The first pass measures the text, so that the second one has room for all of it. */
	length = vsnprintf(NULL, 0, format, values);
	va_end(values);
	if (length < 0) {
		buf->failed = true;
		return;
	}
	if (!gg_buf_reserve(buf, (size_t)length))
		return;
	va_start(values, format);
	vsnprintf(buf->data + buf->length, (size_t)length + 1, format, values);
	va_end(values);
	buf->length += (size_t)length;
}

const char *gg_buf_text(const struct gg_buf *buf)
{
	return buf->data != NULL ? buf->data : "";
}
