/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_debt - what a process that has ended was over the overhead that it had to hold.
 *
 * Its start, for instance, may have cost more than a short life could pay for.  Others pay then
 * (session/recorder_costs.h).
 */
#pragma once

#include "record/session/session_counts.h"
#include "region/layout.h"

/*
 * Adds the debt to counts->unpaid_ns, less the time for samples that the agent has counted and the
 * recorder has not seen yet.  `charged_ns`: what the recorder charged to the process;
 * `seen_recorder_ns`: GG_COUNT_RECORDER_NS as last read.
 */
void gg_process_debt_take(struct gg_session_counts *counts, const struct gg_region_header *header,
                          int64_t charged_ns, uint64_t seen_recorder_ns);
