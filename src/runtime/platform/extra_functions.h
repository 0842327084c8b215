/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interface - what the allocator underneath offers beside malloc() and its relatives: operator new
 * and delete of its own, jemalloc's mallocx family, tcmalloc's tc_ functions.
 *
 * A name is taken where the loader would have found the allocator's, and only there: over glibc none
 * is.  So a program that asks whether mallocx() exists hears the truth, operators of the program's
 * own stay its own, and those of libstdc++, which call malloc(), are not counted twice.
 *
 *   hidden   the hooks are exported with a version (GEIGER_HIDDEN, agent.map) that the loader
 *            gives to nobody who does not ask for it, and nobody does
 *   taken    at the start (process.h), once the region is there: those whose next definition is in
 *            the object that the real malloc() is in.  Their version becomes the one that fits
 *            all, so that symbols which the loader looks up from then on are ours; and slots which
 *            it has filled before with the allocator's functions get ours (got_patch.h)
 *
 * The allocator's own calls of these names are bound to itself first: its posix_memalign() may be a
 * call of tc_memalign().  Where its operator new calls malloc() or a relative, that call passes our
 * hook; gg_extra_functions_has_code() tells it from a call of the program.  One that ends in a jump to
 * malloc() could not be told, and would count twice: none of the three allocators has such.
 *
 * Names that are the same function as another one (tc_malloc, in tcmalloc) share that one's hook,
 * and are taken only if they are.
 *
 * Not seen  functions that the program got before the start, or by dlsym() from a handle.
 * Threads   gg_extra_functions is written before anybody can come to a hook that reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments are integers in registers, and a function reads as many of them as it has. */
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

/* Takes what there is to take.  Once, after gg_real_find(). */
void gg_extra_functions_take(void);

/* Is it code of a function that was taken: the allocator's, not the program's? */
bool gg_extra_functions_has_code(const void *pc);

/* Exports a function by another name, hidden until it is taken. */
#define GG_EXTRA_FUNCTIONS_NAME(function, name) \
	__asm__(".symver " #function ", " #name "@GEIGER_HIDDEN")
