/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_presence - whether a process has the agent, by its environment and its mappings.
 *
 * A process between fork() and exec() looks like one without the agent.  A wrong note would be
 * worse than a missing one, so an unreadable or ambiguous answer means that it may have the agent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True if the process's LD_PRELOAD has the agent, or its environment cannot be read. */
bool gg_agent_presence_in_environment(uint32_t pid);

/* True if the process has mapped a file whose path contains `part`.  `otherwise`: it is unknown. */
bool gg_agent_presence_is_mapped(uint32_t pid, const char *part, bool otherwise);

/*
 * True if the process has mapped libc but not the agent, which the loader would have loaded first.
 * False if its mappings cannot be read.
 */
bool gg_agent_presence_is_refused(uint32_t pid);
