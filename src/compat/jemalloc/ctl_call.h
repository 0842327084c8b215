/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_call - holds the arguments of one mallctl(), and applies jemalloc's rules for its values.
 *
 *   old   The caller receives it if it has a buffer.  The buffer must have the value's length.  If
 *         not, the call writes as much as fits, sets the length to that, and fails with EINVAL,
 *         although a new value has been set.
 *   new   A new value must have the length of the value.
 *
 * Functions return 0 or a positive errno value, as mallctl() does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gg_ctl_call {
	const size_t *mib; /* has the numbers of the name at the places of their parts */
	void *old;
	size_t *old_bytes;
	void *new;
	size_t new_bytes;
};

/* 0, or EPERM if the caller wants the old value (write_only), or both values (read_or_write). */
int gg_ctl_call_check_write_only(const struct gg_ctl_call *call);
int gg_ctl_call_check_read_or_write(const struct gg_ctl_call *call);

/* Writes the old value, if the caller has a buffer for it. */
int gg_ctl_call_write_old(const struct gg_ctl_call *call, const void *value, size_t bytes);
int gg_ctl_call_write_old_bool(const struct gg_ctl_call *call, bool value);

/* Answers a read-only name: EPERM if there is a new value. */
int gg_ctl_call_read_only(const struct gg_ctl_call *call, const void *value, size_t bytes);

/* Takes the new value if there is one. */
int gg_ctl_call_read_new(const struct gg_ctl_call *call, void *value, size_t bytes);
