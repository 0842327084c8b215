/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_allocator - an allocator that does what a test tells it, preloaded after the agent.
 *
 * It forwards to glibc's own functions, unless the next call is scripted.  The test finds the script
 * by dlsym(RTLD_DEFAULT, "script_allocator").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct script_allocator {
	/* Called once inside the next real call, which is then as it was scripted; then forgotten. */
	void (*during)(void *p, size_t bytes);

	/* Of the next allocation or reallocation; then forgotten. */
	bool fails;        /* NULL and ENOMEM */
	void *result;      /* what it returns; NULL: what glibc says */
	bool zero_is_kept; /* realloc(p, 0) returns a block, as jemalloc does */

	size_t usable_bytes; /* what xallocx() returns */

	/* What was called. */
	int last_flags;
	size_t malloc_count, calloc_count, realloc_count, aligned_count, free_count;
	void *last_freed;
};
