/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value - what a Scheme value is: 64 bits, of which the lowest tell the kind.
 *
 *   ...xxx1   a whole number of 63 bits
 *   ...x000   an object on the collected heap; 0 itself is no value
 *   ...x010   (), #t, #f, "unspecified", a character
 *   ...x100   a symbol: not on the heap, never moves, lives as long as the interpreter
 *   ...x110   a primitive: a function written in C
 *
 * Objects     begin with a header of 64 bits: size in bytes << 16 | type << 8 | flags.  Its lowest
 *             bit is 1; while a collection is under way, a header whose lowest bit is 0 is the
 *             address that the object has moved to.  After it come fields of 64 bits:
 *
 *             pair         car, cdr
 *             closure      the lambda (a C pointer), its environment
 *             environment  the environment around it, then the variables
 *             vector       the elements
 *             string       length in bytes, then the bytes, padded to 8
 *             flonum       a double
 *
 * Everything here is inline and touches no more than the object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t value;

enum type {
	TYPE_PAIR,
	TYPE_CLOSURE,
	TYPE_ENVIRONMENT,
	TYPE_VECTOR,
	TYPE_STRING,
	TYPE_FLONUM,
};

enum { TYPE_COUNT = TYPE_FLONUM + 1 };

extern const char *const type_names[TYPE_COUNT]; /* what profiles show */

struct object {
	uint64_t header;
	value fields[];
};

struct symbol {
	struct symbol *next; /* in the same bucket of the symbol table */
	value value;         /* of the global variable; 0: no such variable exists */
	char name[];
};

struct vm;

struct primitive {
	const char *name;
	/* The arguments are on the interpreter's stack: a collection updates them, there. */
	value (*run)(struct vm *vm, const value *arguments, uint32_t count);
	uint32_t least, most; /* arguments that it takes */
};

enum { TAG_BITS = 7, TAG_OBJECT = 0, TAG_IMMEDIATE = 2, TAG_SYMBOL = 4, TAG_PRIMITIVE = 6 };

#define VALUE_NIL         ((value)(0 << 3 | TAG_IMMEDIATE))
#define VALUE_FALSE       ((value)(1 << 3 | TAG_IMMEDIATE))
#define VALUE_TRUE        ((value)(2 << 3 | TAG_IMMEDIATE))
#define VALUE_UNSPECIFIED ((value)(3 << 3 | TAG_IMMEDIATE))
#define VALUE_CHARACTER   ((value)(1 << 8 | TAG_IMMEDIATE)) /* | character << 16 */

/* --- objects --- */

enum { HEADER_IS_HERE = 1, HEADER_REMEMBERED = 2 };

static inline uint64_t header_make(enum type type, size_t bytes)
{
	return (uint64_t)bytes << 16 | (uint64_t)type << 8 | HEADER_IS_HERE;
}

static inline enum type object_type(const struct object *object)
{
	return (enum type)(object->header >> 8 & 0xff);
}

static inline size_t object_bytes(const struct object *object)
{
	return (size_t)(object->header >> 16);
}

/* Bytes of an object with so many fields. */
static inline size_t object_size(size_t field_count)
{
	return sizeof(struct object) + field_count * sizeof(value);
}

static inline bool is_object(value v)
{
	return (v & TAG_BITS) == TAG_OBJECT;
}

static inline struct object *as_object(value v)
{
	return (struct object *)v;
}

static inline value from_object(const struct object *object)
{
	return (value)object;
}

static inline bool is_type(value v, enum type type)
{
	return is_object(v) && object_type(as_object(v)) == type;
}

/* --- numbers, characters, truth --- */

static inline bool is_fixnum(value v)
{
	return (v & 1) != 0;
}

static inline int64_t as_fixnum(value v)
{
	return (int64_t)v >> 1;
}

static inline value from_fixnum(int64_t number)
{
	return (uint64_t)number << 1 | 1;
}

static inline double as_flonum(value v)
{
	double number;

	memcpy(&number, as_object(v)->fields, sizeof(number));
	return number;
}

static inline bool is_character(value v)
{
	return (v & 0xffff) == VALUE_CHARACTER;
}

static inline unsigned char as_character(value v)
{
	return (unsigned char)(v >> 16);
}

static inline value from_character(unsigned char character)
{
	return (value)character << 16 | VALUE_CHARACTER;
}

static inline value from_bool(bool truth)
{
	return truth ? VALUE_TRUE : VALUE_FALSE;
}

/* --- what is not on the heap --- */

static inline bool is_symbol(value v)
{
	return (v & TAG_BITS) == TAG_SYMBOL;
}

static inline struct symbol *as_symbol(value v)
{
	return (struct symbol *)(v - TAG_SYMBOL);
}

static inline value from_symbol(const struct symbol *symbol)
{
	return (value)symbol + TAG_SYMBOL;
}

static inline bool is_primitive(value v)
{
	return (v & TAG_BITS) == TAG_PRIMITIVE;
}

static inline const struct primitive *as_primitive(value v)
{
	return (const struct primitive *)(v - TAG_PRIMITIVE);
}

static inline value from_primitive(const struct primitive *primitive)
{
	return (value)primitive + TAG_PRIMITIVE;
}

/* --- strings --- */

static inline size_t string_length(const struct object *string)
{
	return (size_t)string->fields[0];
}

static inline char *string_bytes(struct object *string)
{
	return (char *)&string->fields[1];
}
