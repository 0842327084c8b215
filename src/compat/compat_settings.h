/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_settings - holds the settings by other profilers' options, and the agent that gets them.
 *
 * jemalloc's options come from four places, of which a later one overrides an earlier one:
 *
 *   the string `malloc_conf` of the program, the link /etc/malloc.conf, MALLOC_CONF, GEIGER_CONF
 *
 * If a jemalloc underneath profiles as well, all but GEIGER_CONF belong to it.  It then answers the
 * calls to its own profiler as well, unless GEIGER_CONF asks for a profile of geiger's.
 *
 * The options are read once: for the agent before it starts (compat_begin.c), or by the first call.
 *
 * Threads  any.  A thread that comes while another one reads gets the defaults.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"
#include "compat/jemalloc/option_string.h"

struct gg_compat_settings {
	const struct gg_agent_functions *agent; /* NULL: there is no agent, or it is too old */
	struct gg_option_string conf;
	bool is_theirs; /* the calls go to the jemalloc underneath */
};

const struct gg_compat_settings *gg_compat_settings(void);

/*
 * Returns the settings like gg_compat_settings(), for the agent that calls.  NULL: another thread
 * reads them now.
 */
const struct gg_compat_settings *gg_compat_settings_with(const struct gg_agent_functions *agent);

/* True if the agent's table is long enough to have that function, and the function is set. */
#define GG_COMPAT_SETTINGS_AGENT_HAS(agent, function)                                        \
	((agent) != NULL &&                                                                  \
	 (agent)->bytes >= offsetof(struct gg_agent_functions, function) + sizeof(void *) && \
	 (agent)->function != NULL)
