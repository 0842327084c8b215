/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside - a test program that runs under the agent, and reads its own region.
 *
 *   INSIDE("GEIGER_INTERVAL=1")        the environment, besides the agent and a directory
 *
 *   TEST(a_block_is_recorded)
 *   {
 *           void *p = malloc(100);
 *           CHECK(inside_is_live(p));
 *
 * Before main() the program starts itself again, with the agent preloaded.  GEIGER_AGENT is the path
 * of the agent, INSIDE_PRELOAD (may be missing) of what is preloaded after it.
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

/* The region of the calling process, as it is now; done by the caller.  Ends the program if there
 * is none.  Reading allocates, so at an interval of 1 it is recorded too. */
struct gg_region_view inside_view(void);

/* The live sample at that address; id 0: there is none. */
struct gg_region_sample inside_live(const void *p);
bool inside_is_live(const void *p);

uint64_t inside_counter(uint32_t counter);

/* Do totals and live samples agree, to the last bit?  Asked by a child, so that nothing moves. */
bool inside_is_consistent(void);

/* Writes to the control word, as another process would. */
void inside_control(bool active, uint64_t interval_bytes);

/* The directory of the regions. */
const char *inside_directory(void);
