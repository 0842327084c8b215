/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_requests - the requests of libgeiger-compat, in words that the sample path reads.
 *
 * Threads    any thread reads and writes the words; each stands alone.
 * Cost       without libgeiger-compat one load for each sample.
 */
#pragma once

#include <stdint.h>

#include "abi/agent_functions.h"
#include "base/compiler.h"

struct gg_compat_requests {
	uint32_t new_threads_are_off; /* threads that start from now on are not sampled */
	uint32_t counts_frees;        /* the program reads how much each thread has freed */
};

extern struct gg_compat_requests gg_compat_requests __attribute__((visibility("hidden")));

/*
 * Asks libgeiger-compat for its requests before the start, and hands it the agent's functions.
 * Looks for it among the objects that the loader has mapped.  All members but `bytes` are zero if
 * it is not there.
 */
GG_COLD void gg_compat_requests_read(struct gg_agent_begin *ret_begin);
