/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader - the tokenizer behind json_reader.h: brackets, strings with escapes, numbers. */
#include "format/codec/json_reader.h"

#include <stdlib.h>
#include <string.h>

enum { SKIP_DEPTH_MAX = 10000 };

static bool fail(struct gg_json_reader *json)
{
	json->failed = true;
	return false;
}

static void skip_blanks(struct gg_json_reader *json)
{
	while (json->at < json->end &&
	       (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
		json->at++;
}

/* Returns the next character that is not a blank; 0 at the end. */
static char peek(struct gg_json_reader *json)
{
	skip_blanks(json);
	return json->at < json->end && !json->failed ? *json->at : '\0';
}

static bool take(struct gg_json_reader *json, char c)
{
	if (peek(json) != c)
		return fail(json);
	json->at++;
	return true;
}

bool gg_json_reader_open(struct gg_json_reader *json, char bracket)
{
	json->is_first = true;
	return take(json, bracket);
}

/* Moves past the comma to the next value of an object or a list; returns false at its end. */
static bool go_on(struct gg_json_reader *json, char closing)
{
	bool is_first = json->is_first;

	json->is_first = false;
	if (peek(json) == closing) {
		json->at++;
		return false;
	}
	return is_first ? !json->failed : take(json, ',');
}

bool gg_json_reader_item(struct gg_json_reader *json)
{
	return go_on(json, ']');
}

bool gg_json_reader_member(struct gg_json_reader *json, char *key, size_t size)
{
	return go_on(json, '}') && gg_json_reader_text(json, key, size) && take(json, ':');
}

static bool take_hexadecimal(struct gg_json_reader *json, uint32_t *ret_value)
{
	*ret_value = 0;
	if (json->end - json->at < 4)
		return fail(json);
	for (int i = 0; i < 4; i++) {
		char c = *json->at++;
		uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
		                 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
		                                        : 16;

		if (digit == 16)
			return fail(json);
		*ret_value = *ret_value << 4 | digit;
	}
	return true;
}

/* Reads the second half of a surrogate pair if one follows. */
static bool take_low_half(struct gg_json_reader *json, uint32_t *ret_low)
{
	struct gg_json_reader ahead = *json;

	if (ahead.end - ahead.at < 6 || ahead.at[0] != '\\' || ahead.at[1] != 'u')
		return false;
	ahead.at += 2;
	if (!take_hexadecimal(&ahead, ret_low) || *ret_low < 0xdc00 || *ret_low >= 0xe000)
		return false;
	json->at = ahead.at;
	return true;
}

/*
 * Reads one escape \u, or two that form a surrogate pair, as UTF-8.  Returns its length, 0 on
 * error.
 */
static size_t take_character(struct gg_json_reader *json, char *to)
{
	uint32_t code_point, low;

	if (!take_hexadecimal(json, &code_point))
		return 0;
	if (code_point >= 0xd800 && code_point < 0xdc00 && take_low_half(json, &low))
		code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
	if (code_point == 0 || (code_point >= 0xd800 && code_point < 0xe000))
		code_point = 0xfffd;
	if (code_point < 0x80) {
		to[0] = (char)code_point;
		return 1;
	}
	if (code_point < 0x800) {
		to[0] = (char)(0xc0 | code_point >> 6);
		to[1] = (char)(0x80 | (code_point & 0x3f));
		return 2;
	}
	if (code_point < 0x10000) {
		to[0] = (char)(0xe0 | code_point >> 12);
		to[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code_point & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code_point >> 18);
	to[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code_point & 0x3f));
	return 4;
}

/* Copies an unescaped character: its first byte and its continuation bytes. */
static size_t take_plain(struct gg_json_reader *json, char to[4])
{
	size_t length = 1;

	to[0] = *json->at++;
	if ((to[0] & 0xc0) != 0xc0)
		return 1;
	while (length < 4 && json->at < json->end && (*json->at & 0xc0) == 0x80)
		to[length++] = *json->at++;
	return length;
}

/* Reads one character of a text, escaped or not. */
static size_t take_piece(struct gg_json_reader *json, char to[4])
{
	static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *escape;
	char c = *json->at;

	if (c != '\\')
		return take_plain(json, to);
	json->at++;
	if (json->at == json->end)
		return 0;
	c = *json->at++;
	if (c == 'u')
		return take_character(json, to);
	escape = c != '\0' ? strchr(escapes, c) : NULL;
	if (escape == NULL)
		return 0;
	to[0] = meant[escape - escapes];
	return 1;
}

bool gg_json_reader_text(struct gg_json_reader *json, char *text, size_t size)
{
	size_t used = 0;
	bool fits = true;

	if (!take(json, '"'))
		return false;
	while (json->at < json->end && *json->at != '"') {
		char piece[4];
		size_t length = take_piece(json, piece);

		if (length == 0)
			return fail(json);
		fits = fits && used + length < size;
		if (fits) {
			memcpy(text + used, piece, length);
			used += length;
		}
	}
	text[used] = '\0';
	return take(json, '"');
}

bool gg_json_reader_number(struct gg_json_reader *json, double *ret_number)
{
	char text[40], *end;
	size_t length = 0;

	peek(json);
	while (json->at + length < json->end && length < sizeof(text) - 1 &&
	       json->at[length] != '\0' && strchr("+-.0123456789eE", json->at[length]) != NULL)
		length++;
	memcpy(text, json->at, length);
	text[length] = '\0';
	*ret_number = strtod(text, &end);
	if (length == 0 || *end != '\0' || json->failed)
		return fail(json);
	json->at += length;
	return true;
}

static void skip_scalar(struct gg_json_reader *json)
{
	char ignored[8];
	double number;

	if (peek(json) == '"')
		gg_json_reader_text(json, ignored, sizeof(ignored));
	else if (json->end - json->at >= 4 &&
	         (memcmp(json->at, "true", 4) == 0 || memcmp(json->at, "null", 4) == 0))
		json->at += 4;
	else if (json->end - json->at >= 5 && memcmp(json->at, "false", 5) == 0)
		json->at += 5;
	else
		gg_json_reader_number(json, &number);
}

void gg_json_reader_skip(struct gg_json_reader *json)
{
	uint8_t is_object[SKIP_DEPTH_MAX / 8 + 1];
	size_t depth = 0;
	char key[8];

	do {
		char c = peek(json);
		bool object = depth > 0 && (is_object[depth / 8] >> depth % 8 & 1) != 0;

		if (depth > 0 && !(object ? gg_json_reader_member(json, key, sizeof(key))
		                          : gg_json_reader_item(json))) {
			depth--;
			continue;
		}
		c = peek(json);
		if (c != '{' && c != '[') {
			skip_scalar(json);
			continue;
		}
		if (++depth == SKIP_DEPTH_MAX) {
			fail(json);
			return;
		}
		is_object[depth / 8] = (uint8_t)((is_object[depth / 8] & ~(1u << depth % 8)) |
		                                 (unsigned)(c == '{') << depth % 8);
		gg_json_reader_open(json, c);
	} while (depth > 0 && !json->failed);
	json->is_first = false;
}
