/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_opt - answers config.*, opt.*, version and epoch. */
#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "compat/compat_settings.h"
#include "compat/jemalloc/ctl_table.h"

/* Without the agent, names answer as in a jemalloc that was built without a profiler. */
static bool has_profiler(void)
{
	return gg_compat_settings()->agent != NULL;
}

int gg_ctl_config_prof(const struct gg_ctl_call *call)
{
	bool has = has_profiler();

	return gg_ctl_call_read_only(call, &has, sizeof(has));
}

int gg_ctl_config_no(const struct gg_ctl_call *call)
{
	bool no = false;

	return gg_ctl_call_read_only(call, &no, sizeof(no));
}

/* Answers a read-only option with its current value. */
static int option(const struct gg_ctl_call *call, const void *value, size_t bytes)
{
	return has_profiler() ? gg_ctl_call_read_only(call, value, bytes) : ENOENT;
}

#define SWITCH(name)                                                                 \
	int gg_ctl_opt_##name(const struct gg_ctl_call *call)                        \
	{                                                                            \
		return option(call, &gg_compat_settings()->conf.name, sizeof(bool)); \
	}

SWITCH(prof)
SWITCH(prof_accum)
SWITCH(prof_active)
SWITCH(prof_final)
SWITCH(prof_gdump)
SWITCH(prof_leak)
SWITCH(prof_leak_error)
SWITCH(prof_pid_namespace)
SWITCH(prof_stats)
SWITCH(prof_sys_thread_name)
SWITCH(prof_thread_active_init)

int gg_ctl_opt_sample(const struct gg_ctl_call *call)
{
	size_t value = gg_compat_settings()->conf.lg_prof_sample;

	return option(call, &value, sizeof(value));
}

int gg_ctl_opt_interval(const struct gg_ctl_call *call)
{
	ssize_t value = gg_compat_settings()->conf.lg_prof_interval;

	return option(call, &value, sizeof(value));
}

int gg_ctl_opt_prof_recent_alloc_max(const struct gg_ctl_call *call)
{
	ssize_t value = gg_compat_settings()->conf.prof_recent_alloc_max;

	return option(call, &value, sizeof(value));
}

int gg_ctl_opt_prof_bt_max(const struct gg_ctl_call *call)
{
	unsigned value = gg_compat_settings()->conf.prof_bt_max;

	return option(call, &value, sizeof(value));
}

int gg_ctl_opt_prof_prefix(const struct gg_ctl_call *call)
{
	const char *value = gg_compat_settings()->conf.prof_prefix;

	return option(call, &value, sizeof(value));
}

/* Times come from the monotonic clock, whatever the option says. */
int gg_ctl_opt_prof_time_resolution(const struct gg_ctl_call *call)
{
	const char *value = "default";

	return option(call, &value, sizeof(value));
}

/* Answers with the version of jemalloc that has these names, and with ours as a suffix. */
int gg_ctl_version(const struct gg_ctl_call *call)
{
	const char *value = "5.3.0-0-geiger-" GG_VERSION;

	return gg_ctl_call_read_only(call, &value, sizeof(value));
}

/*
 * In jemalloc, writing the epoch refreshes statistics.  Ours are always current, so it only counts.
 */
int gg_ctl_epoch(const struct gg_ctl_call *call)
{
	static uint64_t epoch = 1;
	uint64_t now = 0;
	int status = gg_ctl_call_read_new(call, &now, sizeof(now));

	if (status != 0)
		return status;
	/* Relaxed: the number publishes no other data. */
	if (call->new != NULL)
		gg_add_relaxed(&epoch, 1);
	now = gg_load_relaxed(&epoch);
	return gg_ctl_call_write_old(call, &now, sizeof(now));
}
