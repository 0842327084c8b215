/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - checks whether text is UTF-8.  Names in profiles may be any bytes, but the files that
 * geiger writes for other programs must be valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table
 * 3-7), or 0.  It reads a byte only if the bytes before it are valid, so it never passes the final
 * 0 byte.
 */
static inline size_t gg_utf8_length(const unsigned char *text)
{
	unsigned char low = 0x80, high = 0xbf; /* the range of the second byte */
	size_t length;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0; /* below: an overlong form */
	else if (text[0] == 0xed)
		high = 0x9f; /* above: surrogates */
	else if (text[0] == 0xf0)
		low = 0x90;
	else if (text[0] == 0xf4)
		high = 0x8f; /* above: beyond U+10FFFF */
	for (size_t i = 1; i < length; i++, low = 0x80, high = 0xbf)
		if (text[i] < low || text[i] > high)
			return 0;
	return length;
}

/* True if the whole text is UTF-8. */
static inline bool gg_utf8_is(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at != '\0') {
		size_t length = gg_utf8_length(at);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}
