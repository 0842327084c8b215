/* SPDX-License-Identifier: Apache-2.0 */
/* texts - primitives on strings, characters and symbols, and those that print. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

static struct object *as_string(struct vm *vm, value v)
{
	if (!is_type(v, TYPE_STRING))
		vm_fail(vm, "a string was expected");
	return as_object(v);
}

static unsigned char as_char(struct vm *vm, value v)
{
	if (!is_character(v))
		vm_fail(vm, "a character was expected");
	return as_character(v);
}

static size_t as_position(struct vm *vm, value v, size_t most)
{
	if (!is_fixnum(v) || as_fixnum(v) < 0 || (uint64_t)as_fixnum(v) > most)
		vm_fail(vm, "no such place in a string of %zu", most);
	return (size_t)as_fixnum(v);
}

static value string_of_text(struct vm *vm, const char *text)
{
	struct object *string = vm_new_string(vm, strlen(text));

	memcpy(string_bytes(string), text, strlen(text));
	return from_object(string);
}

static value string_length_of(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_fixnum((int64_t)string_length(as_string(vm, a[0])));
}

static value string_ref(struct vm *vm, const value *a, uint32_t count)
{
	struct object *string = as_string(vm, a[0]);
	size_t at = as_position(vm, a[1], string_length(string));

	(void)count;
	if (at == string_length(string))
		vm_fail(vm, "the string ends there");
	return from_character((unsigned char)string_bytes(string)[at]);
}

static value substring(struct vm *vm, const value *a, uint32_t count)
{
	size_t length = string_length(as_string(vm, a[0]));
	size_t end = as_position(vm, a[2], length), start = as_position(vm, a[1], end);
	struct object *result = vm_new_string(vm, end - start);

	(void)count;
	memcpy(string_bytes(result), string_bytes(as_object(a[0])) + start, end - start);
	return from_object(result);
}

static value string_append(struct vm *vm, const value *a, uint32_t count)
{
	struct object *result;
	size_t length = 0;
	char *p;

	for (uint32_t i = 0; i < count; i++)
		length += string_length(as_string(vm, a[i]));
	result = vm_new_string(vm, length);
	p = string_bytes(result);
	for (uint32_t i = 0; i < count; i++) {
		memcpy(p, string_bytes(as_object(a[i])), string_length(as_object(a[i])));
		p += string_length(as_object(a[i]));
	}
	return from_object(result);
}

static int compare(struct vm *vm, const value *a)
{
	struct object *x = as_string(vm, a[0]), *y = as_string(vm, a[1]);
	size_t least = string_length(x) < string_length(y) ? string_length(x) : string_length(y);
	int order = memcmp(string_bytes(x), string_bytes(y), least);

	if (order != 0)
		return order;
	return (string_length(x) > string_length(y)) - (string_length(x) < string_length(y));
}

static value string_equals(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a) == 0);
}

static value string_less(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a) < 0);
}

static value list_to_string(struct vm *vm, const value *a, uint32_t count)
{
	struct object *result;
	size_t length = 0;
	char *p;

	(void)count;
	for (value v = a[0]; is_type(v, TYPE_PAIR); v = as_object(v)->fields[1]) {
		as_char(vm, as_object(v)->fields[0]);
		length++;
	}
	result = vm_new_string(vm, length);
	p = string_bytes(result);
	for (value v = a[0]; is_type(v, TYPE_PAIR); v = as_object(v)->fields[1])
		*p++ = (char)as_character(as_object(v)->fields[0]);
	return from_object(result);
}

static value string_to_symbol(struct vm *vm, const value *a, uint32_t count)
{
	struct object *string = as_string(vm, a[0]);

	(void)count;
	return from_symbol(vm_symbol(vm, string_bytes(string), string_length(string)));
}

static value symbol_to_string(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	if (!is_symbol(a[0]))
		vm_fail(vm, "a symbol was expected");
	return string_of_text(vm, as_symbol(a[0])->name);
}

static value number_to_string(struct vm *vm, const value *a, uint32_t count)
{
	char text[32];

	(void)count;
	if (!is_fixnum(a[0]))
		vm_fail(vm, "a whole number was expected");
	snprintf(text, sizeof(text), "%" PRId64, as_fixnum(a[0]));
	return string_of_text(vm, text);
}

/* Returns an integer or a double; #f: the text is no number. */
static value string_to_number(struct vm *vm, const value *a, uint32_t count)
{
	struct object *string = as_string(vm, a[0]);
	char text[64], *end;
	double number;

	(void)count;
	if (string_length(string) == 0 || string_length(string) >= sizeof(text))
		return VALUE_FALSE;
	memcpy(text, string_bytes(string), string_length(string));
	text[string_length(string)] = '\0';
	if (strpbrk(text, ".eE") == NULL) {
		int64_t whole = strtoll(text, &end, 10);

		return *end == '\0' ? from_fixnum(whole) : VALUE_FALSE;
	}
	number = strtod(text, &end);
	return *end == '\0' ? vm_flonum(vm, number) : VALUE_FALSE;
}

static value char_to_integer(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_fixnum(as_char(vm, a[0]));
}

static value integer_to_char(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	if (!is_fixnum(a[0]) || as_fixnum(a[0]) < 0 || as_fixnum(a[0]) > 255)
		vm_fail(vm, "no such character");
	return from_character((unsigned char)as_fixnum(a[0]));
}

static value is_numeric(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(isdigit(as_char(vm, a[0])));
}

static value is_alphabetic(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(isalpha(as_char(vm, a[0])));
}

static value is_whitespace(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(isspace(as_char(vm, a[0])));
}

static value display(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	vm_print(a[0], false);
	return VALUE_UNSPECIFIED;
}

static value write_value(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	vm_print(a[0], true);
	return VALUE_UNSPECIFIED;
}

static value newline(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)a, (void)count;
	putchar('\n');
	return VALUE_UNSPECIFIED;
}

static value error(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	vm_fail(vm, "error: %.*s", (int)string_length(as_string(vm, a[0])),
	        string_bytes(as_object(a[0])));
}

void vm_add_text_primitives(struct vm *vm)
{
	static const struct primitive primitives[] = {
		{ "char->integer", char_to_integer, 1, 1 },
		{ "char-alphabetic?", is_alphabetic, 1, 1 },
		{ "char-numeric?", is_numeric, 1, 1 },
		{ "char-whitespace?", is_whitespace, 1, 1 },
		{ "display", display, 1, 1 },
		{ "error", error, 1, 1 },
		{ "integer->char", integer_to_char, 1, 1 },
		{ "list->string", list_to_string, 1, 1 },
		{ "newline", newline, 0, 0 },
		{ "number->string", number_to_string, 1, 1 },
		{ "string->number", string_to_number, 1, 1 },
		{ "string->symbol", string_to_symbol, 1, 1 },
		{ "string-append", string_append, 0, UINT32_MAX },
		{ "string-length", string_length_of, 1, 1 },
		{ "string-ref", string_ref, 2, 2 },
		{ "string<?", string_less, 2, 2 },
		{ "string=?", string_equals, 2, 2 },
		{ "substring", substring, 3, 3 },
		{ "symbol->string", symbol_to_string, 1, 1 },
		{ "write", write_value, 1, 1 },
	};

	vm_add_primitives(vm, primitives, sizeof(primitives) / sizeof(primitives[0]));
}
