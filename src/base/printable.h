/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printable - makes text of foreign origin harmless for a terminal.
 *
 *   gg_printable_append(&out, name, strlen(name), GG_PRINTABLE_MARK);         "a?[2Jb"
 *   fprintf(stderr, "geiger: wrote %s\n", GG_PRINTABLE(path));                "a\x1b[2Jb"
 *
 * Paths, commands, names of functions and threads, notes and error messages come from profiled
 * programs, files and other users.  A terminal obeys some characters, shows others out of order,
 * and starts a new line at a line feed.  So all code that prints such text uses this module.  It
 * replaces:
 *
 * - control characters: U+0000 to U+001F, U+007F, and U+0080 to U+009F;
 * - bytes that are not UTF-8, such as 0x80 to 0x9F, which some terminals obey as well;
 * - characters that change the direction of text: U+061C, U+200E, U+200F, U+202A to U+202E, and
 *   U+2066 to U+2069;
 * - separators of lines and paragraphs: U+2028, U+2029.
 *
 * Threads  Any.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/utf8.h"

/* The replacement of a character that the terminal must not get. */
enum gg_printable_form {
	GG_PRINTABLE_MARK,   /* "?": one column, for names that must fit */
	GG_PRINTABLE_ESCAPE, /* "\x1b", "\u202e": shows which character it was */
	GG_PRINTABLE_ASCII,  /* "?" also for every character beyond ASCII */
};

enum {
	GG_PRINTABLE_ESCAPE_MAX = 7, /* "\u202e" with its 0 byte */
	GG_PRINTABLE_MAX = 4096,     /* the longest text of GG_PRINTABLE(), with its 0 byte */
};

/* Decodes the character of `length` bytes of well-formed UTF-8. */
static inline unsigned gg_printable_code(const unsigned char *text, size_t length)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned code = text[0] & first_bits[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

static inline int gg_printable_is_harmless(unsigned code)
{
	return !(code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	         (code >= 0x2066 && code <= 0x2069));
}

/*
 * Decodes the first character of text[0..length), where length > 0.  Returns its length in bytes
 * and puts the character into *ret_code.  For a byte that is not UTF-8 it returns 1 and puts -1
 * there.
 */
static inline size_t gg_printable_next(const char *text, size_t length, int *ret_code)
{
	unsigned char bytes[5] = { 0 };
	size_t count;

	for (size_t i = 0; i < 4 && i < length; i++)
		bytes[i] = (unsigned char)text[i];
	count = gg_utf8_length(bytes);
	*ret_code = count == 0 || count > length ? -1 : (int)gg_printable_code(bytes, count);
	return *ret_code < 0 ? 1 : count;
}

/* Appends `length` bytes of text in the given form. */
void gg_printable_append(struct gg_buf *out, const char *text, size_t length,
                         enum gg_printable_form form);

/*
 * Escapes the text into to[0..size) behind `used` bytes, as long as whole characters fit.  Returns
 * the new length.  The result always ends in a 0 byte.  The function does not allocate, so error
 * paths can use it.
 */
size_t gg_printable_copy(char *to, size_t size, size_t used, const char *text);

/*
 * Escapes a text for an argument of printf().  The result is cut to fit and lives until the
 * enclosing block ends.  NULL becomes "".
 */
#define GG_PRINTABLE(text) gg_printable((char[GG_PRINTABLE_MAX]){ 0 }, text)
const char *gg_printable(char to[GG_PRINTABLE_MAX], const char *text);

/* Escapes lines for a terminal but keeps line feeds and tabs.  Returns 0 or -ENOMEM. */
GG_MUST_CHECK int gg_printable_lines(struct gg_buf *out, const char *text, size_t length);
