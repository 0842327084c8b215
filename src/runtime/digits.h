/* SPDX-License-Identifier: Apache-2.0 */
/* digits - prints decimal numbers without stdio, which may allocate. */
#pragma once

#include <stdint.h>

enum {
	GG_DIGITS_MAX = 21 /* the digits of 2^64 - 1, and the 0 byte */
};

/* Writes the number into text and returns where it begins. */
static inline const char *gg_digits(uint64_t value, char text[GG_DIGITS_MAX])
{
	int at = GG_DIGITS_MAX - 1;

	text[at] = '\0';
	do {
		text[--at] = (char)('0' + value % 10);
	} while ((value /= 10) != 0);
	return text + at;
}
