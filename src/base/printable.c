/* SPDX-License-Identifier: Apache-2.0 */
/* printable - replaces the characters that a terminal would obey. */
#include "base/printable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Writes the escape of a character, "\x1b" or "\u202e", and returns its length.  Code -1 stands for
 * a byte that is not UTF-8; its escape shows the byte.
 */
static size_t escape(char to[GG_PRINTABLE_ESCAPE_MAX], int code, unsigned char byte)
{
	int length = code < 0x80 ? snprintf(to, GG_PRINTABLE_ESCAPE_MAX, "\\x%02x", byte)
	                         : snprintf(to, GG_PRINTABLE_ESCAPE_MAX, "\\u%04x",
	                                    (unsigned)code & 0xffff);

	return (size_t)length;
}

void gg_printable_append(struct gg_buf *out, const char *text, size_t length,
                         enum gg_printable_form form)
{
	while (length > 0) {
		char escaped[GG_PRINTABLE_ESCAPE_MAX];
		int code;
		size_t bytes = gg_printable_next(text, length, &code);
		bool is_shown = code >= 0 && gg_printable_is_harmless((unsigned)code) &&
		                (code < 0x80 || form != GG_PRINTABLE_ASCII);

		if (is_shown)
			gg_buf_append(out, text, bytes);
		else if (form == GG_PRINTABLE_ESCAPE)
			gg_buf_append(out, escaped, escape(escaped, code, (unsigned char)*text));
		else
			gg_buf_append_text(out, "?");
		text += bytes;
		length -= bytes;
	}
}

size_t gg_printable_copy(char *to, size_t size, size_t used, const char *text)
{
	for (size_t length = strlen(text); length > 0;) {
		char escaped[GG_PRINTABLE_ESCAPE_MAX];
		const char *from = text;
		int code;
		size_t bytes = gg_printable_next(text, length, &code), count = bytes;

		if (code < 0 || !gg_printable_is_harmless((unsigned)code)) {
			count = escape(escaped, code, (unsigned char)*text);
			from = escaped;
		}
		/*
		 * Stops before a character that does not fit, so the copy never ends in half a
		 * character or escape.
		 */
		if (used + count >= size)
			break;
		memcpy(to + used, from, count);
		used += count;
		text += bytes;
		length -= bytes;
	}
	to[used] = '\0';
	return used;
}

const char *gg_printable(char to[GG_PRINTABLE_MAX], const char *text)
{
	gg_printable_copy(to, GG_PRINTABLE_MAX, 0, text != NULL ? text : "");
	return to;
}

int gg_printable_lines(struct gg_buf *out, const char *text, size_t length)
{
	while (length > 0) {
		size_t count = 0;

		while (count < length && text[count] != '\n' && text[count] != '\t')
			count++;
		gg_printable_append(out, text, count, GG_PRINTABLE_ESCAPE);
		if (count < length)
			gg_buf_append(out, text + count, 1);
		count += count < length;
		text += count;
		length -= count;
	}
	return out->failed ? -ENOMEM : 0;
}
