/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_call - the arguments of one mallctl(), and jemalloc's rules for old and new values.
 *
 *   old   The caller receives it if it has a buffer.  The length must be that of the value.  If
 *         not, as much as fits is written, the length says how much that was, and the call fails
 *         with EINVAL, although a new value has been set.
 *   new   A new value must have the length of the value.
 *
 * Functions return 0 or a positive errno value, as mallctl() does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gg_ctl_call {
	const size_t *mib; /* numbers in the name stand in their places */
	void *old;
	size_t *old_bytes;
	void *new;
	size_t new_bytes;
};

int gg_ctl_call_write_only(const struct gg_ctl_call *call);
int gg_ctl_call_read_or_write(const struct gg_ctl_call *call);

int gg_ctl_call_give(const struct gg_ctl_call *call, const void *value, size_t bytes);
int gg_ctl_call_give_bool(const struct gg_ctl_call *call, bool value);

/* What can be read alone. */
int gg_ctl_call_constant(const struct gg_ctl_call *call, const void *value, size_t bytes);

/* Takes the new value if there is one. */
int gg_ctl_call_take(const struct gg_ctl_call *call, void *value, size_t bytes);
