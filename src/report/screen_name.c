/* SPDX-License-Identifier: Apache-2.0 */
#include "report/screen_name.h"

#include <stddef.h>
#include <string.h>

#include "base/brackets.h"
#include "report/text_cells.h"

/* Brackets with at most this many bytes between them stay: "<int>". */
enum { BRACKETS_KEPT = 3 };

/* True if a bracket behind this byte opens arguments, as one behind an identifier does. */
static bool precedes_arguments(char byte)
{
	return gg_is_identifier_byte(byte) || byte == '>';
}

/* The text behind the word "operator" and its symbol, which may look like a bracket. */
static const char *behind_operator(const char *text, const char *at)
{
	static const char word[] = "operator";

	if (!gg_text_begins(at, word) || (at > text && gg_is_identifier_byte(at[-1])))
		return at;
	return at + sizeof(word) - 1 + gg_operator_symbol_length(at + sizeof(word) - 1);
}

/* Appends the text with "<...>" and "(...)" in place of arguments. */
static void append_collapsed(const char *text, const char *ellipsis, struct gg_buf *out)
{
	const char *at = text, *end;
	bool may_open = false; /* a bracket here opens arguments */

	while (*at != '\0') {
		end = behind_operator(text, at);
		if (end == at && may_open && (*at == '<' || *at == '(')) {
			end = gg_behind_brackets(at);
			if (end - at > BRACKETS_KEPT + 2) {
				gg_buf_printf(out, "%c%s%c", *at, ellipsis, *at == '<' ? '>' : ')');
				may_open = *at == '<';
				at = end;
				continue;
			}
			end = at;
		}
		may_open = end > at || precedes_arguments(*at);
		end = end == at ? at + 1 : end;
		gg_buf_append(out, at, (size_t)(end - at));
		at = end;
	}
}

/* Returns the place behind the next "::" outside of brackets, or NULL. */
static const char *next_component(const char *text)
{
	const char *at = text;

	while (*at != '\0') {
		const char *end = behind_operator(text, at);

		if (end == at && (*at == '<' || *at == '(' || *at == '{' || *at == '['))
			end = gg_behind_brackets(at);
		if (end == at && at[0] == ':' && at[1] == ':')
			return at + 2;
		at = end == at ? at + 1 : end;
	}
	return NULL;
}

/* The length of the name without the module behind it, " (libc.so.6)". */
static size_t name_length(const char *text)
{
	const char *module = NULL, *at = text;

	while ((at = strstr(at, " (")) != NULL)
		module = at++;
	return module != NULL ? (size_t)(module - text) : strlen(text);
}

/* Returns the place behind the next dot outside of brackets, or NULL. */
static const char *next_dotted(const char *name, const char *end)
{
	for (const char *at = name; at < end; at++) {
		const char *behind = strchr("<([", *at) != NULL ? gg_behind_brackets(at) : at;

		if (behind > at)
			at = behind - 1;
		else if (*at == '.')
			return at + 1;
	}
	return NULL;
}

/*
 * True for methods of Java and .NET with their classes, "System.IO.File.Open".  Three components
 * that begin as identifiers tell them from "lib.so.1+0x10", "f.part.0" and "Class.method".
 */
static bool is_dotted(const char *name, const char *end)
{
	int count = 0;

	for (const char *at = name; at != NULL; at = next_dotted(at, end), count++)
		if (!gg_is_identifier_byte(*at) || (*at >= '0' && *at <= '9'))
			return false;
	for (const char *at = name; at < end; at++)
		if (strchr("/+ :", *at) != NULL)
			return false;
	return count >= 3;
}

/* The module goes first, because it is often a part of the name; the class stays if it has room. */
static void append_dotted(const char *name, size_t length, size_t width, const char *ellipsis,
                          struct gg_buf *out)
{
	const char *end = name + length, *next;
	size_t room = width, dots = gg_text_cells(ellipsis, strlen(ellipsis));

	if (gg_text_cells(name, strlen(name)) <= width) {
		gg_buf_append_text(out, name);
		return;
	}
	while (gg_text_cells(name, (size_t)(end - name)) > room &&
	       (next = next_dotted(name, end)) != NULL) {
		name = next;
		room = width > dots ? width - dots : 0;
	}
	if (end - name != (ptrdiff_t)length)
		gg_buf_append_text(out, ellipsis);
	gg_buf_append(out, name, (size_t)(end - name));
}

bool gg_screen_name_shorten(const char *text, size_t width, const char *ellipsis,
                            struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf collapsed = { 0 };
	size_t dots = gg_text_cells(ellipsis, strlen(ellipsis)) + 2, room = width;
	const char *name, *next;

	append_collapsed(text, ellipsis, &collapsed);
	name = gg_buf_text(&collapsed);
	out->failed |= collapsed.failed;
	if (is_dotted(name, name + name_length(name))) {
		append_dotted(name, name_length(name), width, ellipsis, out);
		return true;
	}
	if (next_component(text) == NULL && strcmp(name, text) == 0)
		return false;
	while (gg_text_cells(name, strlen(name)) > room && (next = next_component(name)) != NULL) {
		name = next;
		room = width > dots ? width - dots : 0;
	}
	if (name != gg_buf_text(&collapsed))
		gg_buf_printf(out, "%s::", ellipsis);
	if (gg_text_cells(name, strlen(name)) > room)
		gg_buf_append(out, name, name_length(name));
	else
		gg_buf_append_text(out, name);
	return true;
}
