/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syntax - a program between its text and its evaluation.  All of it is C memory (the arena of
 * vm.h): nothing here moves, so reading and compiling know nothing of the collector.
 *
 *   text --read.c--> data --expand.c--> data of few forms --compile.c--> nodes --eval.c-->
 *
 * Each datum and node knows its line: that is what a profile shows.
 */
#pragma once

#include "vm.h"

enum datum_kind { DATUM_LIST, DATUM_SYMBOL, DATUM_STRING, DATUM_FLONUM, DATUM_PLAIN };

struct datum {
	enum datum_kind kind;
	uint32_t line;
	struct datum *first; /* of a list: its elements, by their `next` */
	struct datum *next;
	struct symbol *symbol;
	const char *text; /* of a string */
	size_t length;
	double flonum;
	value plain; /* a value that is not on the heap */
};

enum node_kind {
	NODE_PLAIN,    /* a value that is not on the heap */
	NODE_CONSTANT, /* vm->constants[index] */
	NODE_LOCAL,    /* variable `index` of the environment `depth` outwards */
	NODE_GLOBAL,
	NODE_SET_LOCAL,  /* parts: the value */
	NODE_SET_GLOBAL, /* likewise; it must have been defined */
	NODE_DEFINE,     /* a global variable */
	NODE_IF,         /* parts: the test and both branches */
	NODE_AND,
	NODE_OR,
	NODE_SEQUENCE,
	NODE_LAMBDA,
	NODE_LET,    /* parts: values for a new environment, then the body in it */
	NODE_LETREC, /* the same; the values are evaluated in the new environment, in order */
	NODE_CALL,   /* parts: the function, arguments */
};

struct node {
	enum node_kind kind;
	bool tail; /* nothing of its function is left to do afterwards */
	uint32_t line;
	uint32_t depth, index;
	union {
		value plain;
		struct symbol *symbol;
		const struct lambda *lambda;
	};
	uint32_t part_count;
	const struct node *parts[];
};

/* Reads the next datum from *text, which *line is the line of; NULL at the end of the text. */
struct datum *read_datum(struct vm *vm, const char *file, const char **text, uint32_t *line);

/*
 * Derived forms (cond, case, let*, named let, do, when, unless) as simpler ones; others as they
 * are.
 */
struct datum *expand(struct vm *vm, const char *file, struct datum *form);

/* A form of the top level as a function without parameters. */
const struct lambda *compile(struct vm *vm, const char *file, struct datum *form);

/* Ends the program with what is wrong with its text. */
__attribute__((format(printf, 3, 4))) _Noreturn void syntax_fail(const char *file, uint32_t line,
                                                                 const char *format, ...);

/* ---- Making data. ---- */

struct datum *datum_symbol(struct vm *vm, const char *name, uint32_t line);
/* The elements are copied, as far as they are not lists themselves. */
struct datum *datum_list(struct vm *vm, uint32_t line, struct datum *const *elements, size_t count);
bool datum_is_form(const struct datum *datum, const char *name);
uint32_t datum_length(const struct datum *list);
