/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools - HEAPPROFILE and its relatives, and the calls of <gperftools/heap-profiler.h>.
 *
 *   HEAPPROFILE=/var/tmp/x      dumps /var/tmp/x.0001.heap, ... in gperftools' format, while the
 *                               program runs and at its end
 *   HeapProfilerStart("x")      does so from then on, until HeapProfilerStop()
 *
 * The numbers are estimates from samples, where gperftools counts everything; docs/MIGRATING.md has
 * each variable and call.  If a gperftools underneath has a heap profiler, it answers instead.
 *
 * Threads  any; two threads that start and stop at once race
 */
#pragma once

#include <stdbool.h>

#include "abi/agent_functions.h"

/*
 * Before the agent starts.  True: the environment asks for a heap profile, and *begin has its
 * settings.
 */
bool gg_gperftools_begin(struct gg_agent_begin *begin);

/* The triggers by the environment, with that prefix. */
void gg_gperftools_triggers(const char *prefix, struct gg_agent_triggers *ret_triggers);

/* Looks a function of the gperftools underneath up.  NULL: there is none. */
void *gg_gperftools_real(const char *name);
/* The agent's functions.  NULL: there is no agent, or it is too old. */
const struct gg_agent_functions *gg_gperftools_agent(void);

/* True if HEAPPROFILE has started the profile. */
bool gg_gperftools_is_started(void);
