/* SPDX-License-Identifier: Apache-2.0 */
/* csv - writes a text as a cell of comma-separated values. */
#include "base/csv.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static bool contains(const char *text, size_t length, char c)
{
	return memchr(text, c, length) != NULL;
}

/*
 * True for a signed number such as "-12.5e3".  A negative number must stay a number for a
 * spreadsheet, while "-A1" or "--1" would be a formula.  A second sign directly after the first one
 * makes a formula.
 */
static bool is_number(const char *text, size_t length)
{
	size_t digits = 0;

	for (size_t i = 1; i < length; i++) {
		digits += text[i] >= '0' && text[i] <= '9';
		if (strchr("0123456789.eE+-", text[i]) == NULL || text[i] == '\0' ||
		    (i == 1 && strchr("+-", text[i]) != NULL))
			return false;
	}
	return digits > 0 && (text[0] == '-' || text[0] == '+');
}

static bool is_formula(const char *text, size_t length)
{
	return length > 0 && text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL &&
	       !is_number(text, length);
}

void gg_csv_append(struct gg_buf *out, const char *text, size_t length)
{
	bool has_quote = is_formula(text, length);
	bool is_quoted = length == 0 || has_quote || contains(text, length, '"') ||
	                 contains(text, length, ',') || contains(text, length, '\n') ||
	                 contains(text, length, '\r');

	gg_buf_append_text(out, is_quoted ? "\"" : "");
	gg_buf_append_text(out, has_quote ? "'" : "");
	/*
	 * Copies character by character.  The copy in `character` ends in 0 bytes, so the decoder
	 * never reads past the end of the text.
	 */
	for (size_t i = 0; i < length;) {
		char character[5] = { 0 };
		size_t bytes;

		memcpy(character, text + i, length - i < 4 ? length - i : 4);
		bytes = gg_utf8_length((const unsigned char *)character);
		if (bytes == 0)
			gg_buf_append_text(out, "\xef\xbf\xbd");
		else
			gg_buf_append(out, text + i, bytes);
		if (text[i] == '"')
			gg_buf_append_text(out, "\"");
		i += bytes > 0 ? bytes : 1;
	}
	gg_buf_append_text(out, is_quoted ? "\"" : "");
}
