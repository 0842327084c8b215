/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm - the interpreter: a program is read (read.c), compiled to a tree of nodes (expand.c,
 * compile.c), and evaluated by recursion on the C stack (eval.c).
 *
 *   struct vm vm;
 *
 *   vm_init(&vm, &options);
 *   vm_run(&vm, "program.scm", text);
 *   vm_done(&vm);
 *
 * Roots        what C code holds while something allocates must be where the collector finds it: on
 *              the value stack (vm_push), in a frame, in a symbol's value, in the table of
 *              constants.
 * Frames       each running Scheme function has a `struct frame` on the C stack: its environment,
 *              and where in the program it is.  A profiler needs no more than that list to show the
 *              Scheme stack, and the frames' own addresses to put them between the native frames.
 * Errors       of the program end it: vm_fail() prints where and why, and exits with status 1.
 * Lifetime     syntax, nodes and symbols live in an arena until vm_done().
 * Threads      one.
 */
#pragma once

#include "heap.h"
#include "value.h"

struct datum;
struct node;
struct arena_block;

/* A function of the program. */
struct lambda {
	const char *name, *file;
	uint32_t line;
	uint32_t parameter_count;
	const struct node *body;
};

/* A function that is running. */
struct frame {
	struct frame *caller;
	const struct lambda *lambda;
	const struct node *at; /* the call, or other node, that it is in */
	value environment;
};

enum { SYMBOL_BUCKETS = 256 };

struct vm {
	struct heap heap;
	struct frame *frame; /* innermost */
	value *stack, *sp, *stack_end;
	const char *native_limit; /* of the C stack: no Scheme function is called below */

	struct symbol *symbols[SYMBOL_BUCKETS];
	value *constants; /* quoted data of the program */
	uint32_t constant_count, constant_capacity;

	struct arena_block *arena;
	const char *const *arguments; /* of the program; ends with NULL */
};

struct vm_options {
	struct heap_options heap; /* its profile's frames are set by vm_init() */
	const char *const *arguments;
};

void vm_init(struct vm *vm, const struct vm_options *options);
void vm_done(struct vm *vm);

/* Runs the program in `text`, which is that file's. */
void vm_run(struct vm *vm, const char *file, const char *text);

/* Prints "FILE:LINE: in FUNCTION: MESSAGE" and ends the program. */
__attribute__((format(printf, 2, 3))) _Noreturn void vm_fail(struct vm *vm, const char *format,
                                                             ...);

/* Memory that stays until vm_done(); zero. */
void *vm_arena(struct vm *vm, size_t bytes);

struct symbol *vm_symbol(struct vm *vm, const char *name, size_t length);

/* A value for the table of constants: its index. */
uint32_t vm_constant(struct vm *vm, value v);

/* The value stack: what is pushed is a root until it is popped. */
static inline void vm_push(struct vm *vm, value v)
{
	if (__builtin_expect(vm->sp == vm->stack_end, 0))
		vm_fail(vm, "recursion too deep");
	*vm->sp++ = v;
}

/* ---- Objects. ---- */

static inline value vm_pair(struct vm *vm, const value *car, const value *cdr)
{
	struct object *pair = heap_new(&vm->heap, TYPE_PAIR, object_size(2));

	pair->fields[0] = *car;
	pair->fields[1] = *cdr;
	return from_object(pair);
}

static inline value vm_flonum(struct vm *vm, double number)
{
	struct object *flonum = heap_new(&vm->heap, TYPE_FLONUM, object_size(1));

	memcpy(flonum->fields, &number, sizeof(number));
	return from_object(flonum);
}

/* Makes a string of that many bytes, which the caller fills. */
struct object *vm_new_string(struct vm *vm, size_t length);
/* All elements are *fill, which is a root. */
value vm_vector(struct vm *vm, size_t length, const value *fill);

/* ---- The parts. ---- */

/* eval.c: runs a body that has no variables of its own. */
value vm_eval_body(struct vm *vm, const struct lambda *body);

/* frames.c: for geiger_heap_set_frame_provider(). */
size_t vm_frames(void *user, struct geiger_frame *frames, size_t capacity);

/* primitives: binds their names. */
void vm_add_primitives(struct vm *vm, const struct primitive *primitives, size_t count);
void vm_add_list_primitives(struct vm *vm);
void vm_add_number_primitives(struct vm *vm);
void vm_add_text_primitives(struct vm *vm);

/* print.c: as `display` does, or as `write`. */
void vm_print(value v, bool write);
