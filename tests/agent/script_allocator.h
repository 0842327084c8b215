/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_allocator - is an allocator that a test controls; it is preloaded after the agent.
 *
 * It forwards calls to glibc's own functions, unless the next call is scripted.  The test finds the
 * script by dlsym(RTLD_DEFAULT, "script_allocator").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct script_allocator {
	/* Runs once, inside the next real call, which happens as scripted. */
	void (*during)(void *p, size_t bytes);

	/* These apply once, to the next allocation or reallocation. */
	bool fails;        /* NULL and ENOMEM */
	void *result;      /* the block that it returns; NULL: a block from glibc */
	bool zero_is_kept; /* realloc(p, 0) returns a block, as jemalloc does */

	size_t usable_bytes; /* the result of xallocx() */

	/* Counts of calls, and arguments of the last one. */
	int last_flags;
	size_t malloc_count, calloc_count, realloc_count, aligned_count, free_count;
	void *last_freed;
};
