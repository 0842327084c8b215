/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/profile.h"

#include <errno.h>

#include "base/atomic.h"
#include "region/control.h"

/* 1 + what prof.reset was given last; 0: nothing. */
static uint64_t lg_asked_plus_1;

int gg_profile_there(void)
{
	return gg_settings()->agent != NULL ? 0 : ENOENT;
}

int gg_profile_on(void)
{
	const struct gg_settings *s = gg_settings();

	return s->agent != NULL && s->conf.prof ? 0 : ENOENT;
}

uint64_t gg_profile_interval_of(uint64_t lg)
{
	uint64_t interval = UINT64_C(1) << lg;

	return interval < GG_REGION_INTERVAL_MAX ? interval : GG_REGION_INTERVAL_MAX;
}

size_t gg_profile_lg_sample(void)
{
	const struct gg_settings *s = gg_settings();
	struct gg_agent_settings now;
	uint64_t asked = gg_load_relaxed(&lg_asked_plus_1);
	uint64_t lg = asked != 0 ? asked - 1 : s->conf.lg_prof_sample;

	s->agent->look(&now);
	/* Somebody else may have changed it: `geiger control`, or the environment. */
	if (now.interval_bytes == 0 || now.interval_bytes == gg_profile_interval_of(lg))
		return lg;
	return 63 - (size_t)__builtin_clzll(now.interval_bytes);
}

void gg_profile_set_lg_sample(size_t lg)
{
	const struct gg_agent_interface *agent = gg_settings()->agent;
	struct gg_agent_wish wish = { .interval_bytes = gg_profile_interval_of(lg) };

	gg_store_relaxed(&lg_asked_plus_1, lg + 1);
	agent->change(&wish);
	agent->look_now();
}

void gg_profile_reset(void)
{
	gg_settings()->agent->dump_reset();
}

int gg_profile_dump(const char *path)
{
	const struct gg_settings *s = gg_settings();

	if (path == NULL)
		return -EINVAL;
	return s->agent->dump(path, s->conf.prof_accum ? GG_AGENT_DUMP_HEAP_V2
	                                               : GG_AGENT_DUMP_HEAP_V2_LIVE);
}

bool gg_profile_gdump(void)
{
	return false;
}

void gg_profile_set_gdump(bool wish)
{
	(void)wish;
}

bool gg_profile_set_prefix(const char *prefix)
{
	return prefix != NULL;
}

const char *gg_profile_prefix(void)
{
	return gg_settings()->conf.prof_prefix;
}
