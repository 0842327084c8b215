/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rust's legacy names: _ZN, then parts with their length in front, then E.  The last part is "h" and
 * 16 hexadecimal digits.  In a part $LT$ is "<" and so on, ".." is "::", and an underscore stands
 * before an escape at its start.
 */
#include <ctype.h>
#include <string.h>

#include "symbol/names/demangle.h"
#include "symbol/names/rust_utf8.h"

enum { HASH_DIGITS = 16 };

struct part {
	const char *text;
	size_t length;
};

/* Reads the part at *at and moves behind it. */
static bool next_part(const char **at, struct part *part)
{
	size_t length = 0;

	if (**at < '1' || **at > '9')
		return false;
	while (isdigit((unsigned char)**at) && length <= GG_DEMANGLE_NAME_MAX)
		length = length * 10 + (size_t)(*(*at)++ - '0');
	if (strnlen(*at, length) < length)
		return false;
	*part = (struct part){ *at, length };
	*at += length;
	return true;
}

static bool is_hash(const struct part *part)
{
	if (part->length != 1 + HASH_DIGITS || part->text[0] != 'h')
		return false;
	for (size_t i = 1; i <= HASH_DIGITS; i++)
		if (!isdigit((unsigned char)part->text[i]) &&
		    (part->text[i] < 'a' || part->text[i] > 'f'))
			return false;
	return true;
}

/* $NAME$ at text[0..length): appends what it stands for; its length, 0 if it is none. */
static size_t escape(const char *text, size_t length, struct gg_buf *out)
{
	static const struct {
		char name[3], means[2];
	} escapes[] = { { "SP", "@" }, { "BP", "*" }, { "RF", "&" }, { "LT", "<" },
		        { "GT", ">" }, { "LP", "(" }, { "RP", ")" }, { "C", "," } };
	const char *end = length > 1 ? memchr(text + 1, '$', length - 1) : NULL;
	size_t name_length = end != NULL ? (size_t)(end - text - 1) : 0;
	uint32_t code = 0;

	for (size_t i = 0; i < GG_COUNT(escapes) && name_length > 0; i++)
		if (strlen(escapes[i].name) == name_length &&
		    memcmp(text + 1, escapes[i].name, name_length) == 0) {
			gg_buf_append_text(out, escapes[i].means);
			return name_length + 2;
		}
	if (name_length < 2 || name_length > 7 || text[1] != 'u')
		return 0;
	for (const char *at = text + 2; at < end; at++) {
		if (!isxdigit((unsigned char)*at) || isupper((unsigned char)*at))
			return 0;
		code = code * 16 +
		       (uint32_t)(isdigit((unsigned char)*at) ? *at - '0' : *at - 'a' + 10);
	}
	return gg_utf8_append(out, code) ? name_length + 2 : 0;
}

static bool append_part(const struct part *part, struct gg_buf *out)
{
	const char *at = part->text, *end = part->text + part->length;

	if (part->length >= 2 && at[0] == '_' && at[1] == '$')
		at++;
	while (at < end) {
		size_t length;

		if (*at == '$') {
			length = escape(at, (size_t)(end - at), out);
			if (length == 0)
				return false;
			at += length;
		} else if (end - at >= 2 && at[0] == '.' && at[1] == '.') {
			gg_buf_append_text(out, "::");
			at += 2;
		} else if (isalnum((unsigned char)*at) || *at == '_' || *at == '.' || *at == '-') {
			gg_buf_append(out, at++, 1);
		} else {
			return false;
		}
	}
	return true;
}

/*
 * Copies a name without generic arguments: a "<" behind a word opens them.  Any other one belongs to
 * a path such as <T as Trait> or <impl Trait for T>, whose own arguments go in the same way.
 */
static void shorten(const char *text, size_t length, struct gg_buf *out)
{
	size_t depth = 0; /* of brackets that are being left out */

	for (size_t i = 0; i < length; i++) {
		bool arrow = i > 0 && text[i - 1] == '-';

		if (depth > 0) {
			if (text[i] == '<')
				depth++;
			else if (text[i] == '>' && !arrow)
				depth--;
		} else if (text[i] == '<' && i > 0 &&
		           (isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_')) {
			gg_buf_append_text(out, "<...>");
			depth = 1;
		} else {
			gg_buf_append(out, text + i, 1);
		}
	}
}

/* Appends the name without its hash; *ret_hash is where that is in linkage_name.  False: not Rust. */
static bool demangle(const char *linkage_name, struct gg_buf *out, const char **ret_hash)
{
	struct part part, last = { NULL, 0 };
	const char *at = linkage_name + 3;

	if (strncmp(linkage_name, "_ZN", 3) != 0)
		return false;
	while (next_part(&at, &part)) {
		if (last.text != NULL) {
			if (out->length > 0)
				gg_buf_append_text(out, "::");
			if (!append_part(&last, out))
				return false;
		}
		last = part;
	}
	*ret_hash = last.text;
	/* Behind the E only a clone suffix may stand. */
	return *at == 'E' && (at[1] == '\0' || at[1] == '.') && last.text != NULL &&
	       is_hash(&last) && out->length > 0;
}

bool gg_demangle_rust_legacy(const char *linkage_name, enum gg_name_form form, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	const char *hash;

	if (!demangle(linkage_name, &name, &hash) || name.failed)
		return false;
	if (form == GG_NAME_SHORT) {
		shorten(name.data, name.length, out);
	} else {
		gg_buf_append(out, name.data, name.length);
		gg_buf_append_text(out, "::");
		gg_buf_append(out, hash, 1 + HASH_DIGITS);
		gg_buf_append_text(out, hash + 1 + HASH_DIGITS + 1); /* behind the E */
	}
	return true;
}
