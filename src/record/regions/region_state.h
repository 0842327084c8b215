/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_state - one word for the state of a region and its process, as `geiger ls` and the list of
 * `geiger top` print it.  The words are an interface: scripts read them.
 *
 *   alive         the process runs, and began with the agent
 *   attached      it runs, and the agent was attached to it
 *   inherited     it was forked from a process to which the agent was attached
 *   recorded      it runs, and a recorder records it     (GG_REGION_STATE_SAMPLING alone)
 *   off           it runs, and sampling is switched off  (GG_REGION_STATE_SAMPLING alone)
 *   detached      it runs on without the agent
 *   dead          it has ended
 *   starting      it is creating its region
 *   unmade        it died before its region was complete
 *   not a region  the file is another one, despite its name
 *
 * Threads   any.
 */
#pragma once

struct gg_listed_region;

enum gg_region_state_detail {
	GG_REGION_STATE_PROCESS,  /* how the process came to the agent */
	GG_REGION_STATE_SAMPLING, /* off, or else recorded, where it applies to a running process */
};

/* Returns a static word.  `file` is what a visit of gg_region_list_each() gets. */
const char *gg_region_state(const struct gg_listed_region *file,
                            enum gg_region_state_detail detail);
