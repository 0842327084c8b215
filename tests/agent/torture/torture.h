/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture SEED ROUNDS - does to an allocator, all at once, what programs do one at a time.
 *
 * Threads free and move each other's blocks; threads come and go; forks of every kind happen in
 * between.  Modules are loaded and unloaded with their code on the stack.  There are C++
 * exceptions, coroutines, handlers that allocate, and mappings.
 *
 * Each worker draws its operations from the seed, its number, and the number of the operation,
 * never from other threads' actions.  So the program prints the same and ends the same each time,
 * with the agent or without.  It aborts if a block does not hold what was written into it, or if a
 * child ends in another way than it must.  test_torture.c runs it and checks the regions.
 *
 *   TORTURE_SAFE=1        the allocator may be called at any instruction: handlers allocate
 *                         everywhere, and children of a bare clone() simply continue
 *   TORTURE_MODULES       the folder of the modules torture-module-0.so and so on
 *
 * SIGQUIT prints the stack of the thread that receives it, and so does a crash.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	WORKERS = 4,     /* threads of a round, beside those that live for an operation */
	OWN_BLOCKS = 48, /* of a worker */
	SHARED_BLOCKS = 64,
	OPERATIONS = 2000, /* of a worker in a round */
	DEPTH_MAX = 4      /* operations within operations */
};

/* Which operations may be drawn. */
enum power {
	POWER_BLOCKS = 1,   /* blocks, deep calls, exceptions, coroutines, mappings */
	POWER_CHILDREN = 2, /* and forks */
	POWER_ALL = 3,      /* and threads, modules, programs */
	POWER_NONE = 0      /* after a clone() that locks do not survive: nothing at all */
};

struct dice {
	uint64_t state;
};

struct coroutine;

struct worker {
	uint64_t seed;
	enum power power;
	int depth;
	unsigned char *own[OWN_BLOCKS];
	struct coroutine *coroutine; /* made at its first use */
	uint64_t sum;                /* of all that it did; does not depend on others */
};

extern bool torture_is_safe;
extern bool torture_is_stray; /* a child that came back from a handler: it ends soon */
extern const char *torture_program;

/* Nonzero: a handler on this thread must not allocate. */
extern __thread volatile sig_atomic_t torture_closed;

uint64_t torture_mix(uint64_t a, uint64_t b);
uint64_t torture_draw(struct dice *dice, uint64_t below);
__attribute__((noreturn)) void torture_fail(const char *what);

/* torture.c: one operation; its dice are the caller's. */
void torture_operate(struct worker *worker, uint64_t number);
/* Begins a worker, and checks and frees all that it has. */
void torture_begin(struct worker *worker, uint64_t seed, enum power power);
void torture_end(struct worker *worker);
/* A whole round in this process: its sum. */
uint64_t torture_round(uint64_t seed, int operations);

/* blocks.c: a block knows its size and what must be in it. */
unsigned char *torture_make(struct dice *dice);
void torture_drop(unsigned char *block); /* NULL is fine */
unsigned char *torture_grow(struct dice *dice, unsigned char *block);
void torture_verify(const unsigned char *block);
/* Leaves a block where another thread may find it, and takes what is there, or NULL. */
unsigned char *torture_swap_shared(struct dice *dice, unsigned char *block);
void torture_drop_shared(void);
/* The operation of signal handlers. */
void torture_make_and_drop(void);

/* children.c */
void torture_child(struct worker *worker, struct dice *dice);
void torture_program_child(struct worker *worker, struct dice *dice);
void torture_full_child(uint64_t seed, int kind);
void torture_fork_in_handler(void);
void torture_reap_strays(void);

/* switching.c: operates on another stack, now or later */
void torture_resume(struct worker *worker, uint64_t number);
void torture_end_coroutine(struct worker *worker);

/* throwing.cc */
void torture_throw(struct worker *worker, uint64_t number, int depth);

/* The module's: calls back with its own code on the stack. */
typedef unsigned char *torture_module_call(unsigned char *(*callback)(void *), void *argument);

#ifdef __cplusplus
}
#endif
