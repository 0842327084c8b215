/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools - HEAPPROFILE and its relatives, and the calls of <gperftools/heap-profiler.h>.
 *
 *   HEAPPROFILE=/var/tmp/x      dumps /var/tmp/x.0001.heap, ... in gperftools' form, while the program runs and at its end
 *   HeapProfilerStart("x")      the same from there on, until HeapProfilerStop()
 *
 * What is written are estimates from samples, where gperftools counts everything; docs/MIGRATING.md
 * has each variable and call.  Where a gperftools underneath has a heap profiler, all of it is its own.
 *
 * Threads  any; two that start and stop at once are on their own.
 */
#pragma once

#include <stdbool.h>

#include "abi/agent_functions.h"

/* Before the agent starts.  True: the environment asks for a heap profile, and *begin says which. */
bool gg_gperftools_begin(struct gg_agent_begin *begin);

/* Dumps as the environment has them, with that prefix. */
void gg_gperftools_triggers(const char *prefix, struct gg_agent_triggers *ret_triggers);

/* A name of gperftools' underneath; NULL: there is none. */
void *gg_gperftools_real(const char *name);
/* The agent's, if it is there and not too old; else NULL. */
const struct gg_agent_functions *gg_gperftools_agent(void);

/* HEAPPROFILE has started it. */
bool gg_gperftools_is_started(void);
