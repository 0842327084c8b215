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
#include "base/atomic.h"

/* Process-wide settings; any thread reads and writes them, each is a word of its own. */
struct gg_compat_calls {
	uint32_t new_threads_are_off; /* that are new */
	uint32_t watches_frees;       /* somebody wants to know of what was freed */
	uint32_t
		reacts_soon; /* threads look for new settings often, also while nothing is sampled */
};

enum { GG_COMPAT_CALLS_VISIT_BYTES = 64 << 10 };

extern struct gg_compat_calls gg_compat_calls __attribute__((visibility("hidden")));

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

/*
 * What libgeiger-compat wants before the start; looked up among the objects that the loader has mapped.
 * All zeros where it is not there.
 */
void gg_compat_calls_begin(struct gg_agent_begin *ret_begin);
