/* SPDX-License-Identifier: Apache-2.0 */
/* java_name - converts signatures. */
#include "base/java_name.h"

#include <stdbool.h>
#include <string.h>

struct out {
	char *text;
	size_t length, max_bytes;
};

static void put(struct out *out, char c)
{
	if (out->length + 1 < out->max_bytes)
		out->text[out->length++] = c;
}

static void put_text(struct out *out, const char *text)
{
	while (*text != '\0')
		put(out, *text++);
}

static const char *primitive(char letter)
{
	switch (letter) {
	case 'Z':
		return "boolean";
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'S':
		return "short";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'F':
		return "float";
	case 'D':
		return "double";
	default:
		return NULL;
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hexadecimal(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* The end of the name without a number after the address, as in ".0x12.34". */
static size_t length_without_number(const char *name, size_t length)
{
	size_t dot = length, at;

	while (dot > 0 && is_digit(name[dot - 1]))
		dot--;
	if (dot == length || dot == 0 || name[dot - 1] != '.')
		return length;
	at = dot - 1;
	while (at > 0 && is_hexadecimal(name[at - 1]))
		at--;
	return at >= 3 && at < dot - 1 && name[at - 1] == 'x' && name[at - 2] == '0' ? dot - 1
	                                                                             : length;
}

/*
 * The end of the name without the suffix of a hidden class: ".0x12", "/0x12" or "+0x12".  In
 * recordings of JDK 17 the suffix ends with another number, as in "+0x12.34".
 */
static size_t length_without_address(const char *name, size_t whole)
{
	static const char lambda[] = "$$Lambda$";
	size_t i, length = length_without_number(name, whole), end = length, digits;

	for (i = length; i-- > 0 && end == length;)
		if ((name[i] == '.' || name[i] == '/' || name[i] == '+') && i + 2 < length &&
		    name[i + 1] == '0' && name[i + 2] == 'x')
			end = i;
		else if (name[i] == '/' || name[i] == '.')
			break;
	for (digits = end; digits > 0 && is_digit(name[digits - 1]);)
		digits--;
	if (digits < end && digits >= sizeof(lambda) - 1 &&
	    memcmp(name + digits - (sizeof(lambda) - 1), lambda, sizeof(lambda) - 1) == 0)
		end = digits - 1;
	return end;
}

size_t gg_java_class_name(const char *signature, char *name, size_t name_bytes)
{
	struct out out = { .text = name, .max_bytes = name_bytes };
	size_t dimensions = strspn(signature, "["), length;
	const char *element = signature + dimensions;
	const char *word = primitive(*element);

	length = strlen(element);
	if (word != NULL && length == 1) {
		put_text(&out, word);
	} else if (*element == 'L' && length > 2 && element[length - 1] == ';') {
		length = length_without_address(element + 1, length - 2);
		for (size_t i = 0; i < length; i++)
			put(&out, element[1 + i] == '/' ? '.' : element[1 + i]);
	} else {
		dimensions = 0;
		put_text(&out, signature);
	}
	for (size_t i = 0; i < dimensions; i++)
		put_text(&out, "[]");
	out.text[out.length] = '\0';
	return out.length;
}
