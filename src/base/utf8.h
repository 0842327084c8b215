/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - is this text UTF-8?  Names in profiles may be any bytes; what we write for others may not.
 */
#pragma once

#include <stddef.h>

/*
 * Length of the well-formed UTF-8 sequence that text starts with (Unicode 15, table 3-7), or 0.
 * Bytes are read only as long as those before them fit, so the final 0 byte is never passed.
 */
static inline size_t gg_utf8_length(const unsigned char *text)
{
	unsigned char low = 0x80, high = 0xbf; /* of the second byte */
	size_t length;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0; /* below: written longer than needed */
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
