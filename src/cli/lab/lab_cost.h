/* SPDX-License-Identifier: Apache-2.0 */
/* lab_cost - what a sample costs on this machine: `geiger debug cost`, alone and under the agent. */
#pragma once

#include "base/error.h"

/* Nanoseconds a sample, its free included.  Takes half a second.  Fails where no agent is found. */
GG_MUST_CHECK int gg_lab_sample_cost(double *ret_ns, struct gg_error *error);
