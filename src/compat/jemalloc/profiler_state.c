/* SPDX-License-Identifier: Apache-2.0 */
/* profiler_state - translates jemalloc's settings into the agent's, and back. */
#include "compat/jemalloc/profiler_state.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "region/control.h"

enum {
	TRIGGER_TRIES = 1000,
	/*
	 * The smallest step between high-water marks.  A heap that grows to 10 GiB writes some 190
	 * dumps.
	 */
	GDUMP_GROWTH_BYTES = 1 << 20,
	GDUMP_GROWTH_PERCENT = 5
};

/* 1 + the last argument of prof.reset; 0: no call had one yet. */
static uint64_t lg_asked_plus_1;

int gg_profiler_check_agent(void)
{
	return gg_compat_settings()->agent != NULL ? 0 : ENOENT;
}

int gg_profiler_check_on(void)
{
	const struct gg_compat_settings *s = gg_compat_settings();

	return s->agent != NULL && s->conf.prof ? 0 : ENOENT;
}

int gg_profiler_read_command(const struct gg_ctl_call *call, void *value, size_t bytes)
{
	int status = gg_profiler_check_on();

	if (status == 0)
		status = gg_ctl_call_check_write_only(call);
	return status != 0 ? status : gg_ctl_call_read_new(call, value, bytes);
}

/* Reads the new value of a switch.  ENOENT with prof:false, which makes switches read-only. */
static int read_switch(const struct gg_ctl_call *call, bool *ret_value)
{
	int status = gg_profiler_check_on();

	return status != 0 ? status : gg_ctl_call_read_new(call, ret_value, sizeof(*ret_value));
}

int gg_profiler_answer_switch(const struct gg_ctl_call *call, bool (*get)(void),
                              void (*set)(bool on))
{
	int status = gg_profiler_check_agent();
	bool value, was = false;

	if (status != 0)
		return status;
	if (gg_compat_settings()->conf.prof)
		was = get();
	if (call->new != NULL) {
		status = read_switch(call, &value);
		if (status != 0)
			return status;
		set(value);
	}
	return gg_ctl_call_write_old_bool(call, was);
}

uint64_t gg_profiler_interval_of(uint64_t lg)
{
	uint64_t interval = UINT64_C(1) << lg;

	gg_assert(lg < 64);
	return interval < GG_REGION_INTERVAL_MAX ? interval : GG_REGION_INTERVAL_MAX;
}

size_t gg_profiler_lg_sample(void)
{
	const struct gg_compat_settings *s = gg_compat_settings();
	struct gg_agent_settings now;
	uint64_t asked = gg_load_relaxed(&lg_asked_plus_1);
	uint64_t lg = asked != 0 ? asked - 1 : s->conf.lg_prof_sample;

	s->agent->read_settings(&now);
	/*
	 * Different logarithms may have the same interval, because intervals have a maximum.  So
	 * the program's own number counts while its interval holds.  `geiger control` or the
	 * environment may have changed the interval since.
	 */
	if (now.interval_bytes == 0 || now.interval_bytes == gg_profiler_interval_of(lg))
		return lg;
	return 63 - (size_t)__builtin_clzll(now.interval_bytes);
}

/*
 * apply_settings() applies the interval to this thread at once; other threads check within 8 MiB.
 */
void gg_profiler_set_lg_sample(size_t lg)
{
	const struct gg_agent_functions *agent = gg_compat_settings()->agent;
	struct gg_agent_request request = { .interval_bytes = gg_profiler_interval_of(lg) };

	gg_store_relaxed(&lg_asked_plus_1, lg + 1);
	agent->change(&request);
	agent->apply_settings();
}

void gg_profiler_reset(void)
{
	gg_compat_settings()->agent->dump_reset();
}

/* --- dumps --- */

static bool change_triggers(const struct gg_agent_triggers *triggers)
{
	/* -EBUSY: another thread is copying the settings, which have about 1000 bytes. */
	for (int i = 0; i < TRIGGER_TRIES; i++) {
		int status = gg_compat_settings()->agent->set_triggers(triggers);

		if (status != -EBUSY)
			return status == 0;
		sched_yield();
	}
	return false;
}

static void set_prefix(struct gg_agent_triggers *triggers, const char *prefix)
{
	size_t length = strnlen(prefix, sizeof(triggers->prefix) - 1);

	memcpy(triggers->prefix, prefix, length);
	triggers->prefix[length] = '\0';
}

/* jemalloc dumps at every new maximum of its memory; here a dump needs a minimum of growth. */
static void set_growth(struct gg_agent_triggers *triggers, bool on)
{
	triggers->growth_bytes = on ? GDUMP_GROWTH_BYTES : 0;
	triggers->growth_percent = on ? GDUMP_GROWTH_PERCENT : 0;
}

void gg_profiler_triggers(struct gg_agent_triggers *ret_triggers)
{
	const struct gg_option_string *conf = &gg_compat_settings()->conf;

	*ret_triggers = (struct gg_agent_triggers){
		.form = conf->prof_accum ? GG_AGENT_DUMP_HEAP_V2 : GG_AGENT_DUMP_HEAP_V2_LIVE,
		.names = conf->prof_pid_namespace ? GG_AGENT_NAMES_JEMALLOC_NAMESPACE
		                                  : GG_AGENT_NAMES_JEMALLOC,
		.final = conf->prof_final,
		.leak = conf->prof_leak,
		.leak_error = conf->prof_leak_error,
		.is_off = !conf->prof_active,
	};

	if (conf->lg_prof_interval >= 0)
		ret_triggers->allocated_bytes = UINT64_C(1) << conf->lg_prof_interval;
	set_growth(ret_triggers, conf->prof_gdump);
	set_prefix(ret_triggers, conf->prof_prefix);
}

int gg_profiler_dump(const char *path)
{
	const struct gg_compat_settings *s = gg_compat_settings();

	if (path == NULL)
		return s->agent->dump_next('m');
	return s->agent->dump(path, s->conf.prof_accum ? GG_AGENT_DUMP_HEAP_V2
	                                               : GG_AGENT_DUMP_HEAP_V2_LIVE);
}

void gg_profiler_set_active(bool on)
{
	const struct gg_agent_functions *agent = gg_compat_settings()->agent;
	const struct gg_agent_request change = { .set_active = true, .active = on };
	struct gg_agent_triggers triggers;

	agent->change(&change);
	agent->apply_settings();
	/* While profiling is off, jemalloc writes only dumps that the program asks for. */
	agent->get_triggers(&triggers);
	if (triggers.is_off != !on) {
		triggers.is_off = !on;
		change_triggers(&triggers);
	}
}

/* Dumps at high-water marks are on if the triggers have a step for them. */
bool gg_profiler_gdump(void)
{
	struct gg_agent_triggers triggers;

	gg_compat_settings()->agent->get_triggers(&triggers);
	return triggers.growth_bytes != 0;
}

void gg_profiler_set_gdump(bool on)
{
	struct gg_agent_triggers triggers;

	gg_compat_settings()->agent->get_triggers(&triggers);
	if ((triggers.growth_bytes != 0) == on)
		return;
	set_growth(&triggers, on);
	change_triggers(&triggers);
}

bool gg_profiler_set_prefix(const char *prefix)
{
	struct gg_agent_triggers triggers;

	if (prefix == NULL)
		return false;
	gg_compat_settings()->agent->get_triggers(&triggers);
	set_prefix(&triggers, prefix);
	return change_triggers(&triggers);
}

void gg_profiler_prefix(char prefix[GG_AGENT_PREFIX_MAX])
{
	struct gg_agent_triggers triggers;

	gg_compat_settings()->agent->get_triggers(&triggers);
	memcpy(prefix, triggers.prefix, sizeof(triggers.prefix));
}
