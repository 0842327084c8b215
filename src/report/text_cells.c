/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_cells.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

static locale_t utf8_locale;

/* The locale lives as long as the process. */
static void open_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The caller's locale, which leave_utf8() restores. */
static locale_t enter_utf8(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_locale);
	return utf8_locale != (locale_t)0 ? uselocale(utf8_locale) : (locale_t)0;
}

static void leave_utf8(locale_t before)
{
	if (before != (locale_t)0)
		uselocale(before);
}

/* The code point of a well-formed sequence of 2 to 4 bytes. */
static wchar_t decode(const unsigned char *bytes, size_t length)
{
	uint32_t code = bytes[0] & (0xffU >> (length + 1));

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (bytes[i] & 0x3f);
	return (wchar_t)code;
}

/* Cells of the character at `text`, and its bytes. */
static size_t cells_of(const char *text, bool has_locale, size_t *ret_bytes)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = gg_utf8_length(bytes);
	int width;

	*ret_bytes = length > 0 ? length : 1;
	if (length < 2 || !has_locale)
		return 1;
	width = wcwidth(decode(bytes, length));
	return width >= 0 ? (size_t)width : 1;
}

static bool is_ascii(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] >= 128)
			return false;
	return true;
}

size_t gg_text_cells(const char *text, size_t length)
{
	size_t cells = 0, bytes;
	locale_t before;

	if (is_ascii(text, length))
		return length;
	before = enter_utf8();
	for (size_t at = 0; at < length; at += bytes)
		cells += cells_of(text + at, before != (locale_t)0, &bytes);
	leave_utf8(before);
	return cells;
}

const char *gg_text_cells_end(const char *text, size_t cells)
{
	locale_t before = enter_utf8();
	size_t bytes, width;

	for (; *text != '\0'; text += bytes, cells -= width) {
		width = cells_of(text, before != (locale_t)0, &bytes);
		if (width > cells)
			break;
	}
	leave_utf8(before);
	return text;
}

const char *gg_text_cells_skip(const char *text, size_t cells)
{
	locale_t before = enter_utf8();
	size_t bytes, width;

	for (; *text != '\0'; text += bytes) {
		width = cells_of(text, before != (locale_t)0, &bytes);
		if (cells == 0 && width > 0)
			break;
		cells -= width < cells ? width : cells;
	}
	leave_utf8(before);
	return text;
}
