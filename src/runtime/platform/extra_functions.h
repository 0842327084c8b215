/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extra_functions - hooks for functions that some allocators export beside malloc() and its
 * relatives.
 *
 * They are operator new and delete of the allocator's own, jemalloc's mallocx family, and
 * tcmalloc's tc_ functions.  A name is hooked only if the loader would have found it in the
 * allocator underneath; with glibc no name is.  A program that checks whether mallocx() exists
 * therefore gets the true answer.  The program's own operators stay its own.  Those of libstdc++,
 * which call malloc(), are not counted twice.
 *
 * Hidden   The hooks are exported with a version (GEIGER_HIDDEN, agent.map) that the loader gives
 *          only to objects that ask for it, and no object does.
 * Taken    The start (start.h) takes those whose next definition is in the object that has the real
 *          malloc().  It changes their version to the one that fits every object, so the loader
 *          binds later look-ups to our hooks, and it patches slots that are bound already
 *          (got_patch.h).
 *
 * The allocator's own calls of these names are bound to itself, so its posix_memalign() may call
 * its tc_memalign() unseen.  If its operator new calls malloc(), that call passes our hook, and
 * gg_extra_functions_has_code() tells it from a call of the program.  An operator that jumps to
 * malloc() would be counted twice; none of the three allocators has such an operator.
 *
 * Names of one function, such as tc_malloc and malloc in tcmalloc, share one hook, and are taken
 * only if they are the same function.
 *
 * Not seen  functions whose address the program got before the start, or by dlsym() from a handle
 * Threads   gg_extra_functions is written before any thread can reach a hook that reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All arguments are integers in registers, and a function reads only those that it has. */
typedef void *gg_extra_functions_allocate(size_t bytes, uintptr_t second, uintptr_t third);
typedef void gg_extra_functions_free(void *p, uintptr_t second, uintptr_t third);

struct gg_extra_functions {
	gg_extra_functions_allocate *new_one, *new_array;
	gg_extra_functions_allocate *new_one_nothrow, *new_array_nothrow;
	gg_extra_functions_allocate *new_one_aligned, *new_array_aligned;
	gg_extra_functions_allocate *new_one_aligned_nothrow, *new_array_aligned_nothrow;
	gg_extra_functions_free *delete_one, *delete_array;
	gg_extra_functions_free *delete_one_nothrow, *delete_array_nothrow;
	gg_extra_functions_free *delete_one_sized, *delete_array_sized;
	gg_extra_functions_free *delete_one_aligned, *delete_array_aligned;
	gg_extra_functions_free *delete_one_aligned_nothrow, *delete_array_aligned_nothrow;
	gg_extra_functions_free *delete_one_sized_aligned, *delete_array_sized_aligned;
	gg_extra_functions_allocate *mallocx;
	void *(*rallocx)(void *p, size_t bytes, int flags);
	size_t (*xallocx)(void *p, size_t bytes, size_t extra_bytes, int flags);
	gg_extra_functions_free *dallocx, *sdallocx;
	gg_extra_functions_allocate *tc_malloc_skip_new_handler;
	gg_extra_functions_free *tc_free_sized;
	gg_extra_functions_free *cfree;
};

extern struct gg_extra_functions gg_extra_functions __attribute__((visibility("hidden")));

/* Takes all hooks whose conditions hold.  Once, after gg_real_find(). */
void gg_extra_functions_take(void);

/* A function that the allocator has, and its hook. */
struct gg_extra_function {
	const char *name;
	uint64_t real, hook;
	bool is_first; /* the loader finds it there, and not in the program or another library */
};

/*
 * For an attach, instead of gg_extra_functions_take(): makes the hooks complete, and leaves their
 * names hidden and all slots as they are.  Returns the number of functions.  Once.  A function need
 * not be the first of its name, because each slot tells which function it leads to.
 */
size_t gg_extra_functions_find(struct gg_extra_function *ret_functions, size_t most);

/* True if the pc is in the allocator's code of a function that was taken. */
bool gg_extra_functions_has_code(const void *pc);

/* Exports a function by another name, hidden until it is taken. */
#ifdef GG_STATIC
#define GG_EXTRA_FUNCTIONS_NAME(function, name) _Static_assert(1, "no names without a loader")
#else
#define GG_EXTRA_FUNCTIONS_NAME(function, name) \
	__asm__(".symver " #function ", " #name "@GEIGER_HIDDEN")
#endif
