/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "abi/agent_functions.h"
#include "base/compiler.h"

/* The agent looks for it by name. */
GG_EXPORT void geiger_compat_begin(const struct gg_agent_functions *agent,
                                   struct gg_agent_begin *begin);
