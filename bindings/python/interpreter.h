/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter - finds the CPython of this process: its functions and its layout.
 *
 * Every build exports these names: Debian's executable, a shared libpython, and programs that embed
 * one and export its symbols.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "layout.h"

/* The same as PyMemAllocatorEx of Python's header cpython/pymem.h (PEP 445). */
struct gg_python_allocator {
	void *context;
	void *(*malloc)(void *context, size_t bytes);
	void *(*calloc)(void *context, size_t number, size_t bytes);
	void *(*realloc)(void *context, void *p, size_t bytes);
	void (*free)(void *context, void *p);
};

/* The same as PyObjectArenaAllocator. */
struct gg_python_arenas {
	void *context;
	void *(*alloc)(void *context, size_t bytes);
	void (*free)(void *context, void *p, size_t bytes);
};

enum gg_python_domain { GG_PYTHON_RAW, GG_PYTHON_MEM, GG_PYTHON_OBJ };

struct gg_python {
	const struct gg_python_layout *layout;
	void (*get_allocator)(int domain, struct gg_python_allocator *ret_allocator);
	void (*set_allocator)(int domain, struct gg_python_allocator *allocator);
	int (*is_initialized)(void);
	const char *(*allocator_name)(void); /* may be NULL; only after Python has started */
	void *(*registered_state)(void);     /* that of the calling thread, or NULL */
	/*
	 * Returns the state that runs now.  Until 3.11 this is the state of whichever thread
	 * has the lock.  From 3.12 on it is the calling thread's, or NULL without the lock.
	 */
	void *(*current_state)(void);
	int (*line)(void *code, int position);
	unsigned long (*thread_id)(void);
	const void *code_type, *type_type;
	int (*is_finalizing)(void); /* may be NULL; whether the interpreter ends */
	/* May be NULL. */
	void (*get_arenas)(struct gg_python_arenas *ret_arenas);
	void (*set_arenas)(struct gg_python_arenas *arenas);
	/* Makes the main thread call a function at a safe moment; may be NULL. */
	int (*add_pending_call)(int (*function)(void *argument), void *argument);
	uintptr_t loop_begin, loop_end; /* code of the interpreter's loop; 0: not known */
};

/*
 * Finds the interpreter.  NULL: the adapter knows no interpreter of this process; `ret_why` is
 * the reason, or NULL if the process has no Python at all.  Both texts live as long as the process.
 *
 * Threads: one at a time.
 */
const struct gg_python *gg_python_find(const char **ret_why);
