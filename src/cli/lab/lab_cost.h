/* SPDX-License-Identifier: Apache-2.0 */
/* lab_cost - measures the cost of a sample: runs `geiger debug cost` alone and under the agent. */
#pragma once

#include "base/error.h"

/*
 * Measures the nanoseconds of a sample, its free included.  It takes half a second.  It fails if it
 * finds no agent.
 */
GG_MUST_CHECK int gg_lab_sample_cost(double *ret_ns, struct gg_error *error);
