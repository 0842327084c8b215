/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_calls - what libgeiger-compat asks of the agent for other profilers' calls (abi/agent_functions.h).
 *
 * Threads    any; those of a thread are its own.  None allocates or waits.  errno is kept.
 * Cost       what is not used costs nothing on the paths of allocations and frees.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"

/* A line to stderr or GEIGER_LOG. */
void gg_compat_calls_say(const char *line);

/* Is the calling thread sampled?  wish 0, 1: from now on no, yes; -1: as it is.  What it was before. */
bool gg_compat_calls_thread_active(int wish);
/* The same of threads that are new. */
bool gg_compat_calls_thread_active_init(int wish);

/* The calling thread goes by the settings from its next allocation on. */
void gg_compat_calls_look(void);

/* How reports and dumps call the thread: the first 15 bytes.  0, -ENOENT: nothing is recorded. */
int gg_compat_calls_thread_name(const char *name);

/* The calling thread's. */
void gg_compat_calls_thread_bytes(struct gg_agent_bytes *ret_bytes);
