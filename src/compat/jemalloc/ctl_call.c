/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_call - copies the old and new values of a mallctl(). */
#include "compat/jemalloc/ctl_call.h"

#include <errno.h>
#include <string.h>

static bool has_old(const struct gg_ctl_call *call)
{
	return call->old != NULL && call->old_bytes != NULL;
}

static bool has_new(const struct gg_ctl_call *call)
{
	return call->new != NULL || call->new_bytes != 0;
}

/* 0, or EPERM if there is a new value. */
static int check_read_only(const struct gg_ctl_call *call)
{
	return has_new(call) ? EPERM : 0;
}

int gg_ctl_call_check_write_only(const struct gg_ctl_call *call)
{
	return call->old != NULL || call->old_bytes != NULL ? EPERM : 0;
}

int gg_ctl_call_check_read_or_write(const struct gg_ctl_call *call)
{
	return has_old(call) && has_new(call) ? EPERM : 0;
}

int gg_ctl_call_write_old(const struct gg_ctl_call *call, const void *value, size_t bytes)
{
	size_t given = bytes;

	if (!has_old(call))
		return 0;
	/* If the length is wrong, jemalloc copies what fits, and then fails. */
	if (*call->old_bytes != bytes)
		given = bytes <= *call->old_bytes ? bytes : *call->old_bytes;
	memcpy(call->old, value, given);
	if (*call->old_bytes == bytes)
		return 0;
	*call->old_bytes = given;
	return EINVAL;
}

int gg_ctl_call_write_old_bool(const struct gg_ctl_call *call, bool value)
{
	return gg_ctl_call_write_old(call, &value, sizeof(value));
}

int gg_ctl_call_read_only(const struct gg_ctl_call *call, const void *value, size_t bytes)
{
	int status = check_read_only(call);

	return status != 0 ? status : gg_ctl_call_write_old(call, value, bytes);
}

int gg_ctl_call_read_new(const struct gg_ctl_call *call, void *value, size_t bytes)
{
	if (call->new == NULL)
		return 0;
	if (call->new_bytes != bytes)
		return EINVAL;
	memcpy(value, call->new, bytes);
	return 0;
}
