/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_begin - decides by jemalloc's and gperftools' options whether and how the agent starts.
 *
 * With libgeiger-compat preloaded, these options mean what they mean in jemalloc and gperftools.
 * If none of them asks for a profile, the agent records nothing and makes no region.  It starts in
 * any case under `geiger record`, and with GEIGER_ACTIVE=1.  gperftools' options count only without
 * prof:true.  With prof:true, a setting comes from the first of these that is there:
 *
 *   sampling interval   lg_prof_sample, GEIGER_INTERVAL, 2^19 bytes
 *   on or off           prof_active, GEIGER_ACTIVE, on
 *   depth of stacks     GEIGER_MAX_FRAMES, prof_bt_max
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

/* True if geiger's own environment asks for a recording, whatever other profilers' options say. */
static bool is_asked_for_elsewhere(void)
{
	const char *active = secure_getenv("GEIGER_ACTIVE");

	return is_set("GEIGER_RECORDER") ||
	       (active != NULL && active[0] == '1' && active[1] == '\0');
}

void geiger_compat_begin(const struct gg_agent_functions *agent, struct gg_agent_begin *begin)
{
	static struct gg_agent_triggers triggers;
	static const struct gg_history_request classes = { .set_classes = true, .classes = true };
	const struct gg_compat_settings *s = gg_compat_settings_with(agent);

	/*
	 * A shorter struct belongs to an older agent, which does not know all members.  Without a
	 * request, the environment decides.
	 */
	if (s == NULL || s->agent == NULL || begin->bytes < sizeof(*begin))
		return;
	if (!s->conf.prof) {
		begin->waits = !gg_gperftools_begin(begin) && !is_asked_for_elsewhere();
		return;
	}
	if (s->conf.has_sample)
		begin->interval_bytes = gg_profiler_interval_of(s->conf.lg_prof_sample);
	/*
	 * conf.prof_active is true by default, so it decides unless the environment alone speaks.
	 */
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
