/* SPDX-License-Identifier: Apache-2.0 */
/* compat_begin - the function that the agent calls before it starts. */
#pragma once

#include "abi/agent_functions.h"
#include "base/compiler.h"

/*
 * Fills *begin with the requests of jemalloc's and gperftools' options.  The agent looks this name
 * up among the loaded objects, so it must stay as it is.
 */
GG_EXPORT void geiger_compat_begin(const struct gg_agent_functions *agent,
                                   struct gg_agent_begin *begin);
