/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_parser - splits a line of a text format into its parts, from left to right.
 *
 *   struct gg_text_line line;                                  of gg_input_line()
 *
 *   if (gg_text_line_literal(&line, "@") && gg_text_line_hexadecimal(&line, &pc)) ...
 *
 * Each function removes the part that it recognizes from the front of the text, and returns true.
 * If it returns false, the text is unchanged.  A number that overflows 64 bits does not match.
 *
 * Threads  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "format/import/input.h"

static inline void gg_text_line_skip_blanks(struct gg_text_line *text)
{
	while (text->length > 0 && (*text->at == ' ' || *text->at == '\t')) {
		text->at++;
		text->length--;
	}
}

static inline bool gg_text_line_begins(const struct gg_text_line *text, const char *with)
{
	size_t length = strlen(with);

	return text->length >= length && memcmp(text->at, with, length) == 0;
}

static inline bool gg_text_line_literal(struct gg_text_line *text, const char *literal)
{
	if (!gg_text_line_begins(text, literal))
		return false;
	text->at += strlen(literal);
	text->length -= strlen(literal);
	return true;
}

static inline int gg_text_line_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static inline bool gg_text_line_number(struct gg_text_line *text, unsigned base,
                                       uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < text->length; i++) {
		unsigned digit = (unsigned)gg_text_line_digit(text->at[i]);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (i == 0)
		return false;
	text->at += i;
	text->length -= i;
	*ret_value = value;
	return true;
}

static inline bool gg_text_line_decimal(struct gg_text_line *text, uint64_t *ret_value)
{
	return gg_text_line_number(text, 10, ret_value);
}

/* Accepts digits with or without the prefix 0x. */
static inline bool gg_text_line_hexadecimal(struct gg_text_line *text, uint64_t *ret_value)
{
	struct gg_text_line digits = *text;

	if (digits.length > 2 &&
	    (gg_text_line_literal(&digits, "0x") || gg_text_line_literal(&digits, "0X")) &&
	    gg_text_line_number(&digits, 16, ret_value)) {
		*text = digits;
		return true;
	}
	return gg_text_line_number(text, 16, ret_value);
}

/* Copies the text to to[0..size) as a terminated string, cut to fit. */
static inline void gg_text_line_copy(const struct gg_text_line *text, char *to, size_t size)
{
	size_t length = text->length < size ? text->length : size - 1;

	gg_assert(size > 0);
	if (length > 0)
		memcpy(to, text->at, length);
	to[length] = '\0';
}
