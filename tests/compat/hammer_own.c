/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hammer_own - has hammer_program run on libgeiger's own copy of the agent, linked in with
 * libgeiger-compat, for the thread sanitizer, which takes the allocator's place itself: what races
 * is all but the samples.
 */
#include <stdlib.h>

#include "abi/agent_functions.h"
#include "base/compiler.h"

GG_EXPORT extern const struct gg_agent_functions *const geiger_agent_interface;
const struct gg_agent_functions *const geiger_agent_interface = &gg_agent_functions;

__attribute__((constructor)) static void start(void)
{
	const struct gg_agent_request request = { .set_active = true, .active = true };

	setenv("MALLOC_CONF", "prof:true,lg_prof_sample:8", 1);
	if (gg_agent_functions.start(&request) != 0)
		abort();
}
