/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_settings - the settings that other profilers' options make, and the agent that gets them.
 *
 *   the string `malloc_conf` of the program, the link /etc/malloc.conf, MALLOC_CONF, GEIGER_CONF
 *
 * A later one overrides an earlier one.  If a jemalloc underneath profiles as well, all but
 * GEIGER_CONF belong to it.  Then its calls are its own as well, unless GEIGER_CONF asks for a
 * profile of geiger's.
 *
 * They are read once: for the agent before it starts (compat_begin.c), or else by the first call.
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

/* The same, if the agent is known. */
const struct gg_compat_settings *gg_compat_settings_with(const struct gg_agent_functions *agent);

/* Does the agent's table go as far as that function, and is it set? */
#define GG_COMPAT_SETTINGS_AGENT_HAS(agent, function)                                        \
	((agent) != NULL &&                                                                  \
	 (agent)->bytes >= offsetof(struct gg_agent_functions, function) + sizeof(void *) && \
	 (agent)->function != NULL)
