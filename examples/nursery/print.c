/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

/* The shortest digits that read back as the same number, and always a point or an exponent. */
static void print_flonum(double number)
{
	char text[32];

	if (number == floor(number) && fabs(number) < 1e15) {
		printf("%.0f.", number);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	fputs(text, stdout);
}

static void print_string(struct object *string, bool write)
{
	const char *bytes = string_bytes(string);

	if (!write) {
		fwrite(bytes, 1, string_length(string), stdout);
		return;
	}
	putchar('"');
	for (size_t i = 0; i < string_length(string); i++) {
		if (bytes[i] == '"' || bytes[i] == '\\')
			putchar('\\');
		if (bytes[i] == '\n')
			fputs("\\n", stdout);
		else
			putchar(bytes[i]);
	}
	putchar('"');
}

static void print_pair(value v, bool write)
{
	putchar('(');
	vm_print(as_object(v)->fields[0], write);
	for (v = as_object(v)->fields[1]; is_type(v, TYPE_PAIR); v = as_object(v)->fields[1]) {
		putchar(' ');
		vm_print(as_object(v)->fields[0], write);
	}
	if (v != VALUE_NIL) {
		fputs(" . ", stdout);
		vm_print(v, write);
	}
	putchar(')');
}

static void print_object(value v, bool write)
{
	struct object *object = as_object(v);

	switch (object_type(object)) {
	case TYPE_PAIR:
		print_pair(v, write);
		break;
	case TYPE_VECTOR:
		fputs("#(", stdout);
		for (size_t i = 0; object_size(i) < object_bytes(object); i++) {
			if (i > 0)
				putchar(' ');
			vm_print(object->fields[i], write);
		}
		putchar(')');
		break;
	case TYPE_STRING:
		print_string(object, write);
		break;
	case TYPE_FLONUM:
		print_flonum(as_flonum(v));
		break;
	case TYPE_CLOSURE:
		fputs("#<function>", stdout);
		break;
	case TYPE_ENVIRONMENT:
		break; /* no value of a program */
	}
}

void vm_print(value v, bool write)
{
	if (is_object(v))
		print_object(v, write);
	else if (is_fixnum(v))
		printf("%lld", (long long)as_fixnum(v));
	else if (is_symbol(v))
		fputs(as_symbol(v)->name, stdout);
	else if (is_primitive(v))
		printf("#<function %s>", as_primitive(v)->name);
	else if (is_character(v))
		printf(write ? "#\\%c" : "%c", as_character(v));
	else
		fputs(v == VALUE_NIL     ? "()"
		      : v == VALUE_TRUE  ? "#t"
		      : v == VALUE_FALSE ? "#f"
		                         : "",
		      stdout);
}
