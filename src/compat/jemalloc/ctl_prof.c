/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_prof - answers the names in prof.*, which control the profile of the whole process.
 *
 * With prof:false, jemalloc reads every switch as off and refuses to set one.  Commands (dump,
 * prefix, reset) fail with ENOENT.  These functions do the same.
 */
#include <errno.h>
#include <stdint.h>

#include "compat/jemalloc/ctl_table.h"
#include "compat/jemalloc/profiler_state.h"

int gg_ctl_prof_active(const struct gg_ctl_call *call)
{
	const struct gg_compat_settings *s = gg_compat_settings();
	struct gg_agent_settings now = { .is_active = false };
	int status = gg_profiler_check_agent();
	bool value = false;

	if (status == 0)
		status = gg_ctl_call_read_new(call, &value, sizeof(value));
	if (status != 0)
		return status;
	if (s->conf.prof)
		s->agent->read_settings(&now);
	/*
	 * With prof:false, jemalloc refuses true; it accepts false, because that changes nothing.
	 */
	if (call->new != NULL && !s->conf.prof && value)
		return ENOENT;
	if (call->new != NULL && s->conf.prof)
		gg_profiler_set_active(value);
	return gg_ctl_call_write_old_bool(call, now.is_active);
}

static bool new_threads_are_sampled(void)
{
	return gg_compat_settings()->agent->thread_active_init(-1);
}

static void sample_new_threads(bool on)
{
	gg_compat_settings()->agent->thread_active_init(on);
}

int gg_ctl_prof_thread_active_init(const struct gg_ctl_call *call)
{
	return gg_profiler_answer_switch(call, new_threads_are_sampled, sample_new_threads);
}

/* Without a path, the dump gets the next name of the prefix. */
int gg_ctl_prof_dump(const struct gg_ctl_call *call)
{
	const char *path = NULL;
	int status = gg_profiler_read_command(call, &path, sizeof(path));

	if (status != 0)
		return status;
	return gg_profiler_dump(path) == 0 ? 0 : EFAULT;
}

/* Switches dumps at high-water marks on and off. */
int gg_ctl_prof_gdump(const struct gg_ctl_call *call)
{
	return gg_profiler_answer_switch(call, gg_profiler_gdump, gg_profiler_set_gdump);
}

int gg_ctl_prof_prefix(const struct gg_ctl_call *call)
{
	const char *prefix = NULL;
	int status = gg_profiler_read_command(call, &prefix, sizeof(prefix));

	if (status != 0)
		return status;
	return gg_profiler_set_prefix(prefix) ? 0 : EFAULT;
}

/* Answers with the allocated bytes from one automatic dump to the next; 0: no such dumps. */
int gg_ctl_prof_interval(const struct gg_ctl_call *call)
{
	const struct gg_compat_settings *s = gg_compat_settings();
	uint64_t interval = 0;

	if (gg_profiler_check_agent() != 0)
		return ENOENT;
	if (s->conf.prof && s->conf.lg_prof_interval >= 0)
		interval = UINT64_C(1) << s->conf.lg_prof_interval;
	return gg_ctl_call_read_only(call, &interval, sizeof(interval));
}

int gg_ctl_prof_lg_sample(const struct gg_ctl_call *call)
{
	size_t lg;

	if (gg_profiler_check_agent() != 0)
		return ENOENT;
	lg = gg_compat_settings()->conf.prof ? gg_profiler_lg_sample() : 0;
	return gg_ctl_call_read_only(call, &lg, sizeof(lg));
}

/*
 * Makes later dumps leave out the samples so far.  The optional new value is the binary logarithm
 * of a new sampling interval; jemalloc clamps it to 63, the largest shift of a 64-bit number.
 */
int gg_ctl_prof_reset(const struct gg_ctl_call *call)
{
	size_t lg = 0;
	int status = gg_profiler_read_command(call, &lg, sizeof(lg));

	if (status != 0)
		return status;
	gg_profiler_reset();
	if (call->new != NULL)
		gg_profiler_set_lg_sample(lg < 64 ? lg : 63);
	return 0;
}
