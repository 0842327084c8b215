/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_mallctl - finds a jemalloc underneath: the next mallctl() in the loader's order.
 *
 * Threads  any.  The first call looks the functions up, which may allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The functions of one jemalloc; all of them are set. */
struct gg_next_mallctl_calls {
	int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
	int (*nametomib)(const char *name, size_t *mib, size_t *depth);
	int (*bymib)(const size_t *mib, size_t depth, void *old, size_t *old_bytes, void *new,
	             size_t new_bytes);
};

/* Returns the functions of the jemalloc underneath.  NULL: the process has no such jemalloc. */
const struct gg_next_mallctl_calls *gg_next_mallctl_calls(void);

/* True if the jemalloc underneath says that its own profiler runs (opt.prof). */
bool gg_next_mallctl_profiles(void);
