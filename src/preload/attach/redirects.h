/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirects - the functions whose callers an attach leads to hooks, and the order of the changes.
 *
 * A slot of an allocation that is missed leaves memory unseen.  A slot of a free that is missed
 * leaves a live sample that never dies, which looks like a leak.  So the frees of all modules
 * change first, then what allocates and frees, and the allocations last; a detach goes the other
 * way.
 *
 * Threads   The table is made once, by the first attach, and does not change afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gg_redirect_rank {
	GG_REDIRECT_FREE,    /* also functions that do neither, such as sigaction() */
	GG_REDIRECT_CHANGE,  /* realloc() and its relatives */
	GG_REDIRECT_ALLOCATE /* malloc() and its relatives */
};

enum { GG_REDIRECT_RANKS = GG_REDIRECT_ALLOCATE + 1, GG_REDIRECTS_MOST = 128 };

struct gg_redirect {
	const char *name;
	uint64_t real, hook;
	/*
	 * The address of the name in a program at fixed addresses that takes the address of the
	 * function: the program's own linkage table, which leads to the program's slot.  0: none.
	 */
	uint64_t in_program;
	enum gg_redirect_rank rank;
	bool is_first; /* the loader binds the name to the real function, except in odd modules */
	bool is_extra; /* of extra_functions.h: the allocator's own slots stay as they are */
};

/*
 * Makes the table, on the first call, after gg_real_find() and under the loader's lock.  False: no
 * allocator was found.
 */
bool gg_redirects_find(void);

const struct gg_redirect *gg_redirects(size_t *ret_count);

/* Returns the redirect of that name, or NULL for any other name, which is quick. */
const struct gg_redirect *gg_redirect_of(const char *name);

/* The base address of the object that has the allocator. */
uint64_t gg_redirects_allocator(void);
