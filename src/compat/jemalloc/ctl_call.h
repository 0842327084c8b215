/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_call - the arguments of one mallctl(), and jemalloc's rules for old and new values.
 *
 *   old   given to the caller where he has a place for it.  Its length must be that of the value; if it is
 *         not, as much as fits is written, the length says how much that was, and the call fails: -EINVAL
 *         after the fact, so what was to be set has been set.
 *   new   taken where there is one; its length must be that of the value.
 *
 * Functions return 0 or an errno value, positive, as mallctl() does.
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
