/* SPDX-License-Identifier: Apache-2.0 */
/* compat_begin - the function that the agent calls before it starts. */
#pragma once

#include "abi/agent_functions.h"
#include "base/compiler.h"

/* The agent looks for this name among the loaded objects. */
GG_EXPORT void geiger_compat_begin(const struct gg_agent_functions *agent,
                                   struct gg_agent_begin *begin);
