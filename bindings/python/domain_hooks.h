/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain_hooks - the functions that stand in front of Python's allocators.
 *
 *   kind      in front of                   a sampled block            its free
 *   ANY       any allocator                 is made like the others    a look-up at each free
 *   ARENAS    CPython's own, alone          comes from malloc          only the raw domain's hook
 *   EXACT     any, with exact counts        -                          -
 *
 * ARENAS is the cheapest: CPython's allocator gives back to the raw domain each block that does not
 * lie in its arenas, so blocks that are no samples are freed without a hook.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/agent_functions.h"
#include "interpreter.h"

enum gg_python_hooks_kind {
	GG_PYTHON_HOOKS_ANY,
	GG_PYTHON_HOOKS_ARENAS,
	GG_PYTHON_HOOKS_EXACT,
	GG_PYTHON_HOOKS_KINDS
};

struct gg_python_counted {
	struct gg_python_allocator real; /* the functions underneath */
	uint32_t heap;                   /* 0: not installed */
};

/* The state of the hooks.  Its writer installs them: before Python starts, or with its lock. */
struct gg_python_domain_hooks {
	struct gg_python_counted domains[GG_PYTHON_OBJ + 1];
	const struct gg_python *python;
	int (*is_finalizing)(void);         /* that of Python, if it has one */
	const struct gg_exact_calls *exact; /* NULL: the process samples */
	/*
	 * Blocks of mem and obj of at most this size come from Python's arenas.  0: all of them may
	 * come from malloc.  For ANY alone.
	 */
	size_t arena_limit_bytes;
	bool with_native; /* stacks also have the interpreter's own frames */
};

extern __attribute__((visibility("hidden"))) struct gg_python_domain_hooks gg_python_hooks;

/* By kind and domain.  The contexts are NULL; a free that is NULL needs no hook. */
extern __attribute__((visibility("hidden")))
const struct gg_python_allocator gg_python_hook_tables[][GG_PYTHON_OBJ + 1];

/* For the stacks of malloc's samples (abi/agent_functions.h). */
size_t gg_python_read_frames(struct gg_agent_frame *frames, size_t max, char *texts_bytes,
                             size_t texts_max);

/* Call it before Python frees an arena, in which frames may lie. */
void gg_python_hooks_wait(void);

/*
 * Puts ANY in the place of ARENAS if the interval has become too small for samples from malloc.
 * hooks.c has it.  Call it with Python's lock; an allocation may be under way.
 */
void gg_python_hooks_follow_interval(void);

/*
 * Takes the hooks of mem and obj away if the recording has ended and they are in front.  hooks.c
 * has it.  Call it with Python's lock; an allocation may be under way.
 */
void gg_python_hooks_leave_if_unwanted(void);

/* Forgets which blocks are samples.  The caller has taken the hooks of mem and obj away. */
void gg_python_hooks_forget(void);

/* Call it in a forked child. */
void gg_python_hooks_forked(void);
