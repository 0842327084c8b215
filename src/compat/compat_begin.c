/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_begin - what the agent asks before it starts.
 *
 * Who preloads libgeiger-compat has jemalloc's or gperftools' options mean here what they mean there:
 * without one of them nothing is recorded, and no region is made.  If both are there jemalloc's count.  Under `geiger record`, and where
 * GEIGER_ACTIVE says so, there is a recording all the same.
 *
 *   sampling interval   lg_prof_sample, where it was given; else GEIGER_INTERVAL; else 2^19
 *   on or off           prof_active, where it was given; else GEIGER_ACTIVE
 *   depth of stacks     GEIGER_MAX_FRAMES, where it was given; else prof_bt_max
 */
#include "compat/compat_begin.h"

#include <stdlib.h>

#include "compat/compat_settings.h"
#include "compat/gperftools/gperftools.h"
#include "compat/jemalloc/profiler_state.h"
#include "compat/jemalloc/sample_log.h"

static bool is_set(const char *name)
{
	const char *value = secure_getenv(name);

	return value != NULL && *value != '\0';
}

static bool is_asked_for_elsewhere(void)
{
	const char *active = secure_getenv("GEIGER_ACTIVE");

	return is_set("GEIGER_RECORDER") ||
	       (active != NULL && active[0] == '1' && active[1] == '\0');
}

void geiger_compat_begin(const struct gg_agent_functions *agent, struct gg_agent_begin *begin)
{
	static struct gg_agent_triggers triggers;
	static const struct gg_history_wish classes = { .set_classes = true, .classes = true };
	const struct gg_compat_settings *s = gg_compat_settings_with(agent);

	if (s == NULL || s->agent == NULL || begin->bytes < sizeof(*begin))
		return;
	if (!s->conf.prof) {
		begin->waits = !gg_gperftools_begin(begin) && !is_asked_for_elsewhere();
		return;
	}
	if (s->conf.has_sample)
		begin->interval_bytes = gg_profiler_interval_of(s->conf.lg_prof_sample);
	if (s->conf.has_active || !is_set("GEIGER_ACTIVE")) {
		begin->set_active = true;
		begin->active = s->conf.prof_active;
	}
	if (!is_set("GEIGER_MAX_FRAMES"))
		begin->max_frames = s->conf.prof_bt_max;
	gg_profiler_triggers(&triggers);
	begin->triggers = &triggers;
	if (s->conf.prof_recent_alloc_max != 0)
		gg_profiler_set_recent(s->conf.prof_recent_alloc_max);
	if (s->conf.prof_stats)
		s->agent->history->set(&classes);
	if (s->conf.prof_log)
		gg_sample_log_start(NULL);
	s->agent->thread_active_init(s->conf.prof_thread_active_init);
}
