/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
	size_t length = from != NULL ? strnlen(from, size - 1) : 0;

	if (length > 0)
		memmove(to, from, length);
	to[length] = '\0';
}

int gg_error_set(struct gg_error *error, int code, const char *place, const char *advice,
                 const char *format, ...)
{
	char message[GG_ERROR_MESSAGE_MAX];
	va_list values;

	if (error == NULL)
		return code;
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	error->code = code;
	copy_text(error->place, sizeof(error->place), place);
	copy_text(error->advice, sizeof(error->advice), advice);
	copy_text(error->message, sizeof(error->message), message);
	return code;
}

int gg_error_set_errno(struct gg_error *error, int errno_value, const char *place,
                       const char *advice)
{
	char text[128];

	return gg_error_set(error, -errno_value, place, advice, "%s",
	                    strerror_r(errno_value, text, sizeof(text)));
}

void gg_error_set_place(struct gg_error *error, const char *format, ...)
{
	char place[GG_ERROR_PLACE_MAX];
	va_list values;

	if (error == NULL)
		return;
	va_start(values, format);
	vsnprintf(place, sizeof(place), format, values);
	va_end(values);
	copy_text(error->place, sizeof(error->place), place);
}

/* Appends text, escaped, while it fits; whole escapes only.  Returns the new length. */
static size_t append_escaped(char *line, size_t size, size_t length, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		bool odd = byte < 0x20 || byte == 0x7f;
		size_t need = odd ? 4 : 1;

		if (length + need >= size)
			break;
		if (odd)
			snprintf(line + length, 5, "\\x%02x", byte);
		else
			line[length] = *text;
		length += need;
	}
	return length;
}

size_t gg_error_format(const struct gg_error *error, char *line, size_t size)
{
	size_t length = 0;

	if (size == 0)
		return 0;
	if (error->place[0] != '\0') {
		length = append_escaped(line, size, length, error->place);
		length = append_escaped(line, size, length, ": ");
	}
	length = append_escaped(line, size, length, error->message);
	length = append_escaped(line, size, length, ".");
	if (error->advice[0] != '\0') {
		length = append_escaped(line, size, length, " ");
		length = append_escaped(line, size, length, error->advice);
	}
	line[length] = '\0';
	return length;
}
