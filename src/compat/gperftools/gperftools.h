/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools - translates gperftools' HEAPPROFILE variables into the agent's triggers.
 *
 *   HEAPPROFILE=/var/tmp/x      dumps /var/tmp/x.0001.heap, ... in gperftools' format, while the
 *                               program runs and at its end
 *   HeapProfilerStart("x")      dumps x.0001.heap, ... from then on, until HeapProfilerStop()
 *
 * The numbers are estimates from samples, while gperftools counts every allocation.
 * docs/MIGRATING.md describes each variable and call.  If a gperftools underneath has a heap
 * profiler, that profiler answers.
 *
 * Threads  any.  Two threads that start and stop the profiler at once race.
 */
#pragma once

#include <stdbool.h>

#include "abi/agent_functions.h"

/*
 * Reads the environment before the agent starts.  True: it asks for a heap profile, and *begin has
 * its settings.
 */
bool gg_gperftools_begin(struct gg_agent_begin *begin);

/* Computes the triggers from the environment, with that prefix. */
void gg_gperftools_triggers(const char *prefix, struct gg_agent_triggers *ret_triggers);

/* Looks a function up in the gperftools underneath.  NULL: there is no such function. */
void *gg_gperftools_real(const char *name);

/* Returns the agent's functions.  NULL: there is no agent, or it is too old. */
const struct gg_agent_functions *gg_gperftools_agent(void);

/* True if HEAPPROFILE has started the profile. */
bool gg_gperftools_is_started(void);
