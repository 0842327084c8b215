/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_limits - keeps the region small where the program's address space is limited.
 *
 * A region reserves addresses for tables that may grow.  If RLIMIT_AS or RLIMIT_DATA is set, all
 * reserved addresses count against the program's limit, used or not.
 */
#pragma once

#include "base/compiler.h"
#include "region/writer/region.h"

/* At the start: makes the tables so small that they take a 32nd of the limit at most. */
GG_COLD void gg_address_limits_fit(struct gg_region_options *options);

/* When the program ends: logs a line if it lowered its limit after the start, to less than four
 * times what the agent had reserved by then. */
GG_COLD void gg_address_limits_report(void);
