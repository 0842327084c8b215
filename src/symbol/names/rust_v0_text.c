/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/names/rust_v0.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/names/demangle.h"
#include "symbol/names/rust_punycode.h"

/* --- reading ------------------------------------------------------------------------------ */

char gg_v0_peek(const struct gg_v0 *v)
{
	return v->at < v->length ? v->name[v->at] : '\0';
}

char gg_v0_next(struct gg_v0 *v)
{
	if (v->at >= v->length) {
		v->failed = true;
		return '\0';
	}
	return v->name[v->at++];
}

bool gg_v0_eat(struct gg_v0 *v, char c)
{
	if (gg_v0_peek(v) != c || v->failed)
		return false;
	v->at++;
	return true;
}

uint64_t gg_v0_base_62(struct gg_v0 *v)
{
	uint64_t value = 0;

	if (gg_v0_eat(v, '_'))
		return 0;
	while (!v->failed && !gg_v0_eat(v, '_')) {
		char c = gg_v0_next(v);
		unsigned digit = isdigit((unsigned char)c)   ? (unsigned)(c - '0')
		                 : islower((unsigned char)c) ? (unsigned)(c - 'a') + 10
		                 : isupper((unsigned char)c) ? (unsigned)(c - 'A') + 36
		                                             : 62;

		if (digit == 62 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			v->failed = true;
	}
	if (__builtin_add_overflow(value, 1, &value))
		v->failed = true;
	return value;
}

uint64_t gg_v0_optional_62(struct gg_v0 *v, char tag)
{
	uint64_t value;

	if (!gg_v0_eat(v, tag))
		return 0;
	value = gg_v0_base_62(v);
	if (__builtin_add_overflow(value, 1, &value))
		v->failed = true;
	return value;
}

struct gg_v0_identifier gg_v0_undisambiguated(struct gg_v0 *v)
{
	struct gg_v0_identifier id = { .is_punycode = gg_v0_eat(v, 'u') };

	if (!isdigit((unsigned char)gg_v0_peek(v)))
		v->failed = true;
	else if (!gg_v0_eat(v, '0'))
		while (isdigit((unsigned char)gg_v0_peek(v)) && id.length <= v->length)
			id.length = id.length * 10 + (size_t)(gg_v0_next(v) - '0');
	gg_v0_eat(v, '_');
	if (v->failed || id.length > v->length - v->at) {
		v->failed = true;
		return (struct gg_v0_identifier){ 0 };
	}
	id.text = v->name + v->at;
	v->at += id.length;
	return id;
}

struct gg_v0_identifier gg_v0_identifier(struct gg_v0 *v)
{
	uint64_t disambiguator = gg_v0_optional_62(v, 's');
	struct gg_v0_identifier id = gg_v0_undisambiguated(v);

	id.disambiguator = disambiguator;
	return id;
}

bool gg_v0_more(struct gg_v0 *v)
{
	return !v->failed && !gg_v0_eat(v, 'E');
}

bool gg_v0_enter(struct gg_v0 *v)
{
	if (++v->depth > GG_DEMANGLE_DEPTH_MAX || ++v->steps > GG_DEMANGLE_STEPS_MAX)
		v->failed = true;
	return !v->failed;
}

void gg_v0_leave(struct gg_v0 *v)
{
	v->depth--;
}

size_t gg_v0_follow(struct gg_v0 *v)
{
	size_t from = v->at - 1, back;
	uint64_t to = gg_v0_base_62(v);

	back = v->at;
	if (to >= from)
		v->failed = true;
	else
		v->at = (size_t)to;
	return back;
}

/* --- printing ----------------------------------------------------------------------------- */

void gg_v0_print_bytes(struct gg_v0 *v, const char *bytes, size_t length)
{
	if (v->quiet > 0 || v->failed)
		return;
	if (length > v->out_max || v->out->length > v->out_max - length)
		v->failed = true;
	else
		gg_buf_append(v->out, bytes, length);
}

void gg_v0_print(struct gg_v0 *v, const char *text)
{
	gg_v0_print_bytes(v, text, strlen(text));
}

void gg_v0_print_number(struct gg_v0 *v, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	gg_v0_print(v, text);
}

void gg_v0_print_identifier(struct gg_v0 *v, const struct gg_v0_identifier *id)
{
	if (!id->is_punycode) {
		gg_v0_print_bytes(v, id->text, id->length);
	} else if (v->quiet == 0 && !v->failed) {
		if (v->out->length > v->out_max || !gg_rust_punycode(id->text, id->length, v->out))
			v->failed = true;
	}
}

void gg_v0_print_lifetime(struct gg_v0 *v, uint64_t lifetime)
{
	char text[] = { '\'', 'a', '\0' };

	if (lifetime == 0) {
		gg_v0_print(v, "'_");
	} else if (lifetime > v->bound_lifetimes) {
		v->failed = true;
	} else if (v->bound_lifetimes - lifetime < 26) {
		text[1] = (char)('a' + (v->bound_lifetimes - lifetime));
		gg_v0_print(v, text);
	} else {
		gg_v0_print(v, "'_");
		gg_v0_print_number(v, v->bound_lifetimes - lifetime);
	}
}
