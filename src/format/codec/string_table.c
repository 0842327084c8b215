/* SPDX-License-Identifier: Apache-2.0 */
/* string_table - stores texts in a hash map and repairs texts that are not UTF-8. */
#include "format/codec/string_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"

struct key {
	char *const *texts;
	const char *text;
};

static bool text_is_equal(uint64_t value, const void *context)
{
	const struct key *key = context;

	return strcmp(key->texts[value], key->text) == 0;
}

static uint32_t add(struct gg_string_table *strings, const char *text)
{
	size_t bytes = strlen(text) + 1;
	uint64_t hash = gg_hash_bytes(text, bytes, gg_map_seed(&strings->map));
	struct key key = { strings->texts.items, text };
	uint64_t number = gg_map_find(&strings->map, hash, text_is_equal, &key);
	char *copy;

	if (number != GG_MAP_NONE)
		return (uint32_t)number;
	number = strings->texts.count;
	copy = strdup(text);
	if (copy == NULL || !gg_array_reserve(&strings->texts, number + 1) ||
	    gg_map_insert(&strings->map, hash, number) < 0) {
		free(copy);
		strings->failed = true;
		return 0;
	}
	strings->texts.items[strings->texts.count++] = copy;
	return (uint32_t)number;
}

void gg_string_table_mend(struct gg_buf *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text, *start = at;

	while (at != NULL && *at != '\0') {
		size_t length = gg_utf8_length(at);

		if (length == 0) {
			gg_buf_append(out, start, (size_t)(at - start));
			gg_buf_append_text(out, "\xef\xbf\xbd");
			start = at + 1;
		}
		at += length > 0 ? length : 1;
	}
	if (at != NULL)
		gg_buf_append(out, start, (size_t)(at - start));
}

static uint32_t add_mended(struct gg_string_table *strings, const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf mended = { 0 };

	gg_string_table_mend(&mended, text);
	strings->failed |= mended.failed;
	return strings->failed ? 0 : add(strings, gg_buf_text(&mended));
}

uint32_t gg_string_table_put(struct gg_string_table *strings, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (strings->texts.count == 0)
		add(strings, "");
	if (text == NULL || text[0] == '\0' || strings->failed)
		return 0;
	while (*p != '\0') {
		size_t length = gg_utf8_length(p);

		if (length == 0)
			return add_mended(strings, text);
		p += length;
	}
	return add(strings, text);
}

uint32_t gg_string_table_printf(struct gg_string_table *strings, const char *format, ...)
{
	va_list arguments;
	uint32_t number;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		strings->failed = true;
		return 0;
	}
	number = gg_string_table_put(strings, text);
	free(text);
	return number;
}

void gg_string_table_done(struct gg_string_table *strings)
{
	for (size_t i = 0; i < strings->texts.count; i++)
		free(strings->texts.items[i]);
	gg_array_done(&strings->texts);
	gg_map_done(&strings->map);
}
