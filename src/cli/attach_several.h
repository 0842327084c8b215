/* SPDX-License-Identifier: Apache-2.0 */
/* attach_several - attaches to all processes of a name or of a control group. */
#pragma once

#include "base/error.h"
#include "cli/attach_run.h"

/*
 * Attaches to one process after the other, or only looks, and prints a result for each.  `agent` is
 * the path of the agent's library.  Returns 0 or -Exxx: -ESRCH: there is no such process; -EPERM:
 * not all of them are attached to.
 */
GG_MUST_CHECK int gg_attach_several(const char *agent, const struct gg_attach_options *given,
                                    struct gg_error *error);
