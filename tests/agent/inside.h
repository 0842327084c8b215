/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside - runs a test program under the agent, and lets it read its own region.
 *
 *   INSIDE("GEIGER_INTERVAL=1")        the environment, besides the agent and a directory
 *
 *   TEST(a_block_is_recorded)
 *   {
 *           void *p = malloc(100);
 *           CHECK(inside_is_live(p));
 *
 * Before main() the program starts itself again, with the agent preloaded.  GEIGER_AGENT is the
 * path of the agent.  With INSIDE_ATTACH the program loads the agent by itself instead, as
 * `geiger attach` does (late.h).  INSIDE_PRELOAD, if it is set, names libraries that are preloaded
 * after it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/reader/view.h"

/* Restarts the program unless it runs under the agent. */
void inside_restart(const char *const environment[]);

#define INSIDE(...)                                                                    \
	__attribute__((constructor(101))) static void restart(void)                    \
	{                                                                              \
		inside_restart((const char *const[]){ __VA_ARGS__, (const char *)0 }); \
	}

/*
 * Reads the region of the calling process as it is now; the caller frees the view.  Ends the
 * program if it has no region.  Reading allocates, so at an interval of 1 it is recorded as well.
 */
struct gg_region_view inside_view(void);

/* Returns the live sample at that address; id 0: no sample. */
struct gg_region_sample inside_live(const void *p);
bool inside_is_live(const void *p);

uint64_t inside_counter(uint32_t counter);

/*
 * True if totals and live samples agree to the last bit.  A child checks it, so that nothing moves.
 */
bool inside_is_consistent(void);

/* Writes to the control word, as another process does. */
void inside_control(bool active, uint64_t interval_bytes);

/* The path of the newest region of that process; valid until the next call. */
const char *inside_region(int pid);

/* The directory of the regions. */
const char *inside_directory(void);
