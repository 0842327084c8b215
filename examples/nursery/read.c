/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read - from text to data: lists, symbols, numbers, strings, characters, #t, #f and 'quotes.
 * There are no dotted pairs in programs; cons makes them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "syntax.h"

struct reader {
	struct vm *vm;
	const char *file;
	const char *p;
	uint32_t line;
};

void syntax_fail(const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "%s:%u: ", file, line);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static struct datum *new_datum(struct vm *vm, enum datum_kind kind, uint32_t line)
{
	struct datum *datum = vm_arena(vm, sizeof(*datum));

	datum->kind = kind;
	datum->line = line;
	return datum;
}

struct datum *datum_symbol(struct vm *vm, const char *name, uint32_t line)
{
	struct datum *datum = new_datum(vm, DATUM_SYMBOL, line);

	datum->symbol = vm_symbol(vm, name, strlen(name));
	return datum;
}

struct datum *datum_list(struct vm *vm, uint32_t line, struct datum *const *elements, size_t count)
{
	struct datum *list = new_datum(vm, DATUM_LIST, line), **end = &list->first;

	for (size_t i = 0; i < count; i++) {
		/* A copy, because the element may also be in another list. */
		*end = new_datum(vm, elements[i]->kind, elements[i]->line);
		**end = *elements[i];
		(*end)->next = NULL;
		end = &(*end)->next;
	}
	return list;
}

bool datum_is_form(const struct datum *datum, const char *name)
{
	return datum->kind == DATUM_LIST && datum->first != NULL &&
	       datum->first->kind == DATUM_SYMBOL && strcmp(datum->first->symbol->name, name) == 0;
}

uint32_t datum_length(const struct datum *list)
{
	uint32_t length = 0;

	for (const struct datum *element = list->first; element != NULL; element = element->next)
		length++;
	return length;
}

static void skip_space(struct reader *r)
{
	for (;; r->p++) {
		if (*r->p == ';')
			r->p += strcspn(r->p, "\n");
		if (*r->p == '\n')
			r->line++;
		else if (!isspace((unsigned char)*r->p))
			return;
	}
}

static bool ends_token(char c)
{
	return c == '\0' || isspace((unsigned char)c) || strchr("()\";'", c) != NULL;
}

static struct datum *read_one(struct reader *r);

static struct datum *read_list(struct reader *r)
{
	struct datum *list = new_datum(r->vm, DATUM_LIST, r->line), **end = &list->first;

	r->p++;
	for (;;) {
		skip_space(r);
		if (*r->p == '\0')
			syntax_fail(r->file, list->line, "this list has no end");
		if (*r->p == ')')
			break;
		*end = read_one(r);
		end = &(*end)->next;
	}
	r->p++;
	return list;
}

static struct datum *read_string(struct reader *r)
{
	struct datum *string = new_datum(r->vm, DATUM_STRING, r->line);
	const char *p = ++r->p;
	char *text;

	while (*p != '"' && *p != '\0')
		p += 1 + (p[0] == '\\' && p[1] != '\0');
	if (*p == '\0')
		syntax_fail(r->file, string->line, "this string has no end");
	string->text = text = vm_arena(r->vm, (size_t)(p - r->p) + 1);
	while (r->p < p) {
		r->line += *r->p == '\n';
		if (*r->p == '\\') {
			r->p++;
			*text++ = *r->p == 'n' ? '\n' : *r->p == 't' ? '\t' : *r->p;
		} else {
			*text++ = *r->p;
		}
		r->p++;
	}
	r->p++;
	string->length = (size_t)(text - string->text);
	return string;
}

/* #t, #f, #\a, #\space */
static value read_hash(struct reader *r, const char *token, size_t length)
{
	static const struct {
		const char *name;
		char character;
	} names[] = { { "#\\space", ' ' }, { "#\\newline", '\n' }, { "#\\tab", '\t' } };

	if (length == 2 && (token[1] == 't' || token[1] == 'f'))
		return from_bool(token[1] == 't');
	if (length == 3 && token[1] == '\\')
		return from_character((unsigned char)token[2]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && memcmp(names[i].name, token, length) == 0)
			return from_character((unsigned char)names[i].character);
	syntax_fail(r->file, r->line, "what is %.*s?", (int)length, token);
}

static struct datum *read_atom(struct reader *r)
{
	struct datum *datum = new_datum(r->vm, DATUM_PLAIN, r->line);
	const char *token = r->p;
	size_t length = 1;
	char *end;

	if (token[0] == '#' && token[1] == '\\' && token[2] != '\0')
		length = 3; /* the character may be one that ends other tokens */
	while (!ends_token(token[length]))
		length++;
	r->p += length;
	if (token[0] == '#') {
		datum->plain = read_hash(r, token, length);
		return datum;
	}
	if (isdigit((unsigned char)token[0]) ||
	    (token[0] == '-' && isdigit((unsigned char)token[1]))) {
		errno = 0;
		datum->plain = from_fixnum(strtoll(token, &end, 10));
		if (end == token + length && errno == 0)
			return datum;
		datum->kind = DATUM_FLONUM;
		datum->flonum = strtod(token, &end);
		if (end == token + length)
			return datum;
		syntax_fail(r->file, r->line, "what number is %.*s?", (int)length, token);
	}
	datum->kind = DATUM_SYMBOL;
	datum->symbol = vm_symbol(r->vm, token, length);
	return datum;
}

static struct datum *read_one(struct reader *r)
{
	struct datum *quoted[2];
	uint32_t line;

	skip_space(r);
	line = r->line;
	switch (*r->p) {
	case '\0':
		syntax_fail(r->file, line, "the file ends where something was to come");
	case ')':
		syntax_fail(r->file, line, "a ) without a (");
	case '(':
		return read_list(r);
	case '"':
		return read_string(r);
	case '\'':
		r->p++;
		quoted[0] = datum_symbol(r->vm, "quote", line);
		quoted[1] = read_one(r);
		return datum_list(r->vm, line, quoted, 2);
	default:
		return read_atom(r);
	}
}

struct datum *read_datum(struct vm *vm, const char *file, const char **text, uint32_t *line)
{
	struct reader r = { .vm = vm, .file = file, .p = *text, .line = *line };
	struct datum *datum = NULL;

	skip_space(&r);
	if (*r.p != '\0')
		datum = read_one(&r);
	*text = r.p;
	*line = r.line;
	return datum;
}
