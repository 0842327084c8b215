/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin - counts everything that the agent samples; tests preload it before the agent.
 *
 * It counts each allocation and free exactly, by the code that allocated and by thread.  At the end
 * it writes the counts to the file GEIGER_TWIN, if that is set, as one struct twin_log.  For tests
 * that kill the program, a journal of all calls survives (journal.h).
 */
#pragma once

#include <stdint.h>

enum { TWIN_SITES_MAX = 4096, TWIN_BLOCKS_MAX = 1 << 20 };

/*
 * Allocated at a site in a thread; what is live of that; and freed in that thread, of what the site
 * had allocated in any.
 */
struct twin_site {
	uint64_t pc; /* return address; 0: not in use */
	uint32_t tid, padding;
	uint64_t allocated_count, allocated_bytes, live_count, live_bytes;
	uint64_t freed_count, freed_bytes;
};

struct twin_log {
	uint64_t code_begin, code_end; /* of the twin itself */
	uint64_t dropped_count;        /* blocks that found no place: the test is void */
	struct twin_site sites[TWIN_SITES_MAX];
};
