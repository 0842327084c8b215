/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/names/rust_v0.h"

#include <ctype.h>
#include <string.h>

#include "symbol/names/rust_utf8.h"

static unsigned hex_value(char c)
{
	return (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

/* Hexadecimal digits up to "_"; how many stand at *ret_text. */
static size_t hex_digits(struct gg_v0 *v, const char **ret_text)
{
	size_t from = v->at;

	*ret_text = v->name + from;
	while (!v->failed && !gg_v0_eat(v, '_')) {
		char c = gg_v0_next(v);

		if (!isdigit((unsigned char)c) && (c < 'a' || c > 'f'))
			v->failed = true;
	}
	return v->failed ? 0 : v->at - 1 - from;
}

/* A number; false if it has more than 64 bits, and is then left in its digits. */
static bool hex_number(struct gg_v0 *v, uint64_t *ret_value, const char **ret_text,
                       size_t *ret_length)
{
	*ret_value = 0;
	*ret_length = hex_digits(v, ret_text);
	for (; *ret_length > 0 && **ret_text == '0'; (*ret_text)++)
		(*ret_length)--;
	for (size_t i = 0; i < *ret_length; i++)
		*ret_value = *ret_value << 4 | hex_value((*ret_text)[i]);
	return *ret_length <= 16;
}

static void integer(struct gg_v0 *v)
{
	uint64_t value;
	const char *text;
	size_t length;

	if (gg_v0_eat(v, 'n'))
		gg_v0_print(v, "-");
	if (hex_number(v, &value, &text, &length)) {
		gg_v0_print_number(v, value);
	} else {
		gg_v0_print(v, "0x");
		gg_v0_print_bytes(v, text, length);
	}
}

/* One character of a literal that stands between two `quote`s. */
static void print_character(struct gg_v0 *v, uint32_t code, char quote)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (code == '\t' || code == '\n' || code == '\r')
		gg_buf_append_text(&text, code == '\t' ? "\\t" : code == '\n' ? "\\n" : "\\r");
	else if (code == '\\' || code == (unsigned char)quote)
		gg_buf_printf(&text, "\\%c", (int)code);
	else if (!gg_utf8_append(&text, code))
		gg_buf_printf(&text, "\\u{%x}", code);
	gg_v0_print_bytes(v, gg_buf_text(&text), text.length);
}

static void character(struct gg_v0 *v)
{
	uint64_t value;
	const char *text;
	size_t length;

	if (!hex_number(v, &value, &text, &length) || value > 0x10ffff ||
	    (value >= 0xd800 && value < 0xe000))
		v->failed = true;
	gg_v0_print(v, "'");
	print_character(v, (uint32_t)value, '\'');
	gg_v0_print(v, "'");
}

static void boolean(struct gg_v0 *v)
{
	uint64_t value;
	const char *text;
	size_t length;

	if (!hex_number(v, &value, &text, &length) || value > 1)
		v->failed = true;
	gg_v0_print(v, value == 1 ? "true" : "false");
}

/* A string's bytes, two digits each. */
static void string(struct gg_v0 *v)
{
	const char *text;
	size_t length = hex_digits(v, &text);

	if (length % 2 != 0)
		v->failed = true;
	gg_v0_print(v, "\"");
	for (size_t i = 0; i < length && !v->failed; i += 2) {
		unsigned byte = hex_value(text[i]) << 4 | hex_value(text[i + 1]);
		char raw = (char)byte;

		/* What is not ASCII goes on as it is: who shows names escapes them. */
		if (byte < 128)
			print_character(v, byte, '"');
		else
			gg_v0_print_bytes(v, &raw, 1);
	}
	gg_v0_print(v, "\"");
}

/* Constants up to E, between two brackets. */
static void constant_list(struct gg_v0 *v, const char *open, const char *close, bool is_tuple)
{
	size_t count = 0;

	gg_v0_print(v, open);
	for (; gg_v0_more(v); count++) {
		gg_v0_print(v, count > 0 ? ", " : "");
		gg_v0_constant(v, true);
	}
	gg_v0_print(v, is_tuple && count == 1 ? "," : "");
	gg_v0_print(v, close);
}

/* A value of a struct or of an enum's variant. */
static void record(struct gg_v0 *v)
{
	struct gg_v0_identifier id;
	bool first = true;

	gg_v0_path(v, true);
	if (gg_v0_eat(v, 'T')) {
		constant_list(v, "(", ")", false);
	} else if (gg_v0_eat(v, 'S')) {
		gg_v0_print(v, " { ");
		while (gg_v0_more(v)) {
			gg_v0_print(v, first ? "" : ", ");
			first = false;
			id = gg_v0_identifier(v);
			gg_v0_print_identifier(v, &id);
			gg_v0_print(v, ": ");
			gg_v0_constant(v, true);
		}
		gg_v0_print(v, " }");
	} else if (!gg_v0_eat(v, 'U')) {
		v->failed = true;
	}
}

/* What in a list of arguments needs braces around it. */
static void structure(struct gg_v0 *v, char tag, bool in_value)
{
	bool braces = !in_value;

	if (tag == 'R' && gg_v0_eat(v, 'e')) { /* &str: the literal itself */
		string(v);
		return;
	}
	gg_v0_print(v, braces ? "{" : "");
	switch (tag) {
	case 'e':
		gg_v0_print(v, "*");
		string(v);
		break;
	case 'R':
	case 'Q':
		gg_v0_print(v, tag == 'R' ? "&" : "&mut ");
		gg_v0_constant(v, true);
		break;
	case 'A':
		constant_list(v, "[", "]", false);
		break;
	case 'T':
		constant_list(v, "(", ")", true);
		break;
	default:
		record(v);
	}
	gg_v0_print(v, braces ? "}" : "");
}

static void referred_constant(struct gg_v0 *v, bool in_value)
{
	size_t back = gg_v0_follow(v);

	if (v->quiet == 0)
		gg_v0_constant(v, in_value);
	v->at = back;
}

void gg_v0_constant(struct gg_v0 *v, bool in_value)
{
	char tag;

	if (!gg_v0_enter(v))
		return;
	tag = gg_v0_next(v);
	if (tag == 'p')
		gg_v0_print(v, "_");
	else if (tag == 'B')
		referred_constant(v, in_value);
	else if (tag == 'b')
		boolean(v);
	else if (tag == 'c')
		character(v);
	else if (tag != '\0' && strchr("hmjtyoalinsx", tag) != NULL)
		integer(v);
	else if (tag != '\0' && strchr("eRQATV", tag) != NULL)
		structure(v, tag, in_value);
	else
		v->failed = true;
	gg_v0_leave(v);
}
