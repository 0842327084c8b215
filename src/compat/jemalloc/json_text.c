/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text - collects text in a buffer, and passes it on when the buffer is full.
 *
 * It does without stdio, whose allocations would appear in the profile that the text describes.
 */
#include "compat/jemalloc/json_text.h"

#include <string.h>

#include "base/assert.h"

void gg_json_text_begin(struct gg_json_text *text, void (*write)(void *context, const char *piece),
                        void *context)
{
	text->write = write;
	text->context = context;
	text->used = 0;
	text->last = '\0';
}

void gg_json_text_flush(struct gg_json_text *text)
{
	if (text->used == 0)
		return;
	gg_assert(text->used < sizeof(text->buffer));
	text->buffer[text->used] = '\0';
	text->used = 0;
	text->write(text->context, text->buffer);
}

static void add_char(struct gg_json_text *text, char c)
{
	/* One byte stays free for the 0 byte that gg_json_text_flush() adds. */
	if (text->used == sizeof(text->buffer) - 1)
		gg_json_text_flush(text);
	text->buffer[text->used++] = c;
	text->last = c;
}

void gg_json_text_add(struct gg_json_text *text, const char *piece)
{
	for (; *piece != '\0'; piece++)
		add_char(text, *piece);
}

/* The digits come out last to first, so they fill the buffer from its end. */
static void add_number(struct gg_json_text *text, uint64_t number, unsigned base)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = "0123456789abcdef"[number % base];
		number /= base;
	} while (number != 0);
	gg_json_text_add(text, at);
}

void gg_json_text_number(struct gg_json_text *text, uint64_t number)
{
	add_number(text, number, 10);
}

void gg_json_text_signed(struct gg_json_text *text, int64_t number)
{
	/* The negation is unsigned, because -INT64_MIN overflows. */
	if (number < 0)
		add_char(text, '-');
	add_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

void gg_json_text_address(struct gg_json_text *text, uint64_t address)
{
	gg_json_text_add(text, "\"0x");
	add_number(text, address, 16);
	add_char(text, '"');
}

void gg_json_text_string(struct gg_json_text *text, const char *string)
{
	add_char(text, '"');
	for (; *string != '\0'; string++) {
		/* Control characters would make the JSON invalid.  Bytes above ASCII stay. */
		if (*string == '"' || *string == '\\')
			add_char(text, '\\');
		add_char(text, (unsigned char)*string < ' ' ? '?' : *string);
	}
	add_char(text, '"');
}

void gg_json_text_key(struct gg_json_text *text, const char *key)
{
	/* Only the first key of an object follows its brace. */
	if (text->last != '{')
		add_char(text, ',');
	gg_json_text_string(text, key);
	add_char(text, ':');
}
