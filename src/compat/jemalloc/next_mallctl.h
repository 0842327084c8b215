/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_mallctl - a jemalloc underneath: the next mallctl() in the loader's order.
 *
 * Threads  any; looked up once, which may allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All of them or none. */
struct gg_next_mallctl_calls {
	int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
	int (*nametomib)(const char *name, size_t *mib, size_t *depth);
	int (*bymib)(const size_t *mib, size_t depth, void *old, size_t *old_bytes, void *new,
	             size_t new_bytes);
};

/* NULL: there is none. */
const struct gg_next_mallctl_calls *gg_next_mallctl_calls(void);

/* Does it profile, by its own account? */
bool gg_next_mallctl_profiles(void);
