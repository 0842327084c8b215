/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet_names - undoes what compiler and runtime do to names. */
#include "dotnet/dotnet_names.h"

#include <ctype.h>
#include <string.h>

static void append_character(struct gg_buf *out, uint32_t character)
{
	char bytes[4];
	size_t length;

	if (character < 0x80) {
		bytes[0] = (char)character;
		length = 1;
	} else if (character < 0x800) {
		bytes[0] = (char)(0xc0 | character >> 6);
		bytes[1] = (char)(0x80 | (character & 63));
		length = 2;
	} else if (character < 0x10000) {
		bytes[0] = (char)(0xe0 | character >> 12);
		bytes[1] = (char)(0x80 | (character >> 6 & 63));
		bytes[2] = (char)(0x80 | (character & 63));
		length = 3;
	} else {
		bytes[0] = (char)(0xf0 | character >> 18);
		bytes[1] = (char)(0x80 | (character >> 12 & 63));
		bytes[2] = (char)(0x80 | (character >> 6 & 63));
		bytes[3] = (char)(0x80 | (character & 63));
		length = 4;
	}
	gg_buf_append(out, bytes, length);
}

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

void gg_dotnet_utf8(struct gg_buf *out, struct gg_byte_cursor text)
{
	while (gg_byte_cursor_left(&text) >= 2) {
		uint32_t unit = (uint32_t)gg_byte_cursor_number(&text, 2), next;
		struct gg_byte_cursor ahead = text;

		if (is_high(unit)) {
			next = (uint32_t)gg_byte_cursor_number(&ahead, 2);
			if (is_low(next)) {
				unit = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
				text = ahead;
			} else {
				unit = 0xfffd;
			}
		} else if (is_low(unit)) {
			unit = 0xfffd;
		}
		append_character(out, unit);
	}
}

/* --- types ------------------------------------------------------------------------------------ */

enum { NESTING_MAX = 64 };

/* Skips "`2", the number of a generic type's parameters. */
static size_t skip_arity(const char *text, size_t length, size_t at)
{
	if (text[at] != '`')
		return at;
	at++;
	while (at < length && isdigit((unsigned char)text[at]))
		at++;
	return at;
}

/* Appends the first bytes of a type's name. */
static void append_type(struct gg_buf *out, const char *type, size_t length)
{
	bool is_generic[NESTING_MAX];
	size_t depth = 0;

	for (size_t i = 0; i < length; i++) {
		char next = i + 1 < length ? type[i + 1] : '\0';
		size_t after = skip_arity(type, length, i);

		if (after > i) {
			i = after - 1;
		} else if (type[i] == '[' && depth < NESTING_MAX) {
			/* "[]" and "[,]" are arrays */
			is_generic[depth] = next != ']' && next != ',' && next != '*';
			gg_buf_append_text(out, is_generic[depth++] ? "<" : "[");
		} else if (type[i] == ']' && depth > 0) {
			gg_buf_append_text(out, is_generic[--depth] ? ">" : "]");
		} else if (type[i] == ',' && depth > 0 && is_generic[depth - 1]) {
			gg_buf_append_text(out, ", ");
		} else if (type[i] == '+') {
			gg_buf_append_text(out, "."); /* a type inside another one */
		} else {
			gg_buf_append(out, &type[i], 1);
		}
	}
}

void gg_dotnet_type_name(struct gg_buf *out, const char *type)
{
	append_type(out, type, strlen(type));
}

/* --- methods ---------------------------------------------------------------------------------- */

/* Finds the name in "<NAME>d__3" and the like: the length of NAME, if `mark` follows it. */
static size_t invented_from(const char *text, const char *mark)
{
	const char *end = text[0] == '<' ? strchr(text, '>') : NULL;

	if (end == NULL || end == text + 1 || strncmp(end + 1, mark, strlen(mark)) != 0)
		return 0;
	return (size_t)(end - text) - 1;
}

/* The length of the type without the innermost type in it; 0: there is only one. */
static size_t outer_length(const char *type)
{
	const char *bracket = strchr(type, '['), *at = NULL;
	size_t length = bracket != NULL ? (size_t)(bracket - type) : strlen(type);

	for (size_t i = 0; i < length; i++)
		if (type[i] == '+')
			at = type + i;
	return at != NULL ? (size_t)(at - type) : 0;
}

void gg_dotnet_method_name(struct gg_buf *out, const char *type, const char *method)
{
	size_t outer = outer_length(type), length;
	const char *inner = outer > 0 ? type + outer + 1 : type;

	length = outer > 0 && strcmp(method, "MoveNext") == 0 ? invented_from(inner, "d__") : 0;
	if (length > 0) { /* the body of an async method or of an iterator */
		append_type(out, type, outer);
		gg_buf_append_text(out, ".");
		gg_buf_append(out, inner + 1, length);
		return;
	}
	if (outer > 0 && strncmp(inner, "<>c", 3) == 0)
		append_type(out, type, outer); /* what a lambda has captured */
	else
		gg_dotnet_type_name(out, type);
	if (type[0] != '\0')
		gg_buf_append_text(out, ".");
	length = invented_from(method, "b__");
	if (length > 0) {
		gg_buf_append(out, method + 1, length);
		gg_buf_append_text(out, " (lambda)");
		return;
	}
	length = invented_from(method, "g__");
	if (length > 0) { /* "<Outer>g__Local|3_0" */
		const char *local = method + length + 5;

		gg_buf_append(out, method + 1, length);
		gg_buf_append_text(out, ".");
		gg_buf_append(out, local, strcspn(local, "|"));
		return;
	}
	gg_buf_append_text(out, method);
}

/* Words of signatures that say nothing to a reader of C#. */
static size_t noise_length(const char *text)
{
	static const char *const words[] = { "value class ", "class " };

	for (size_t i = 0; i < GG_COUNT(words); i++)
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

void gg_dotnet_parameters(struct gg_buf *out, const char *signature)
{
	const char *at = strstr(signature, " (");
	size_t length;

	if (at == NULL)
		return;
	at++;
	length = strlen(at);
	for (size_t i = 0; i < length; i++) {
		size_t noise = noise_length(at + i), after = skip_arity(at, length, i);

		if (noise > 0)
			i += noise - 1;
		else if (after > i)
			i = after - 1;
		else if (at[i] == ',')
			gg_buf_append_text(out, ", ");
		else
			gg_buf_append(out, at + i, 1);
	}
}

bool gg_dotnet_starts_async(const char *type, const char *method)
{
	static const char space[] = "System.Runtime.CompilerServices.Async";

	return strcmp(method, "Start") == 0 && strncmp(type, space, sizeof(space) - 1) == 0 &&
	       strstr(type, "Builder") != NULL;
}
