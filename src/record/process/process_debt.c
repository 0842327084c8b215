/* SPDX-License-Identifier: Apache-2.0 */
/* process_debt - what a process that has ended was over its overhead. */
#include "record/process/process_debt.h"

#include "base/percent.h"

#define DAMAGED_NS 86400e9 /* a region that states more is damaged */

void gg_process_debt_take(struct gg_session_counts *counts, const struct gg_region_header *header,
                          int64_t charged_ns, uint64_t seen_recorder_ns)
{
	double share = (double)header->control.overhead_ppm / GG_PPM;
	double cost_ns = (double)header->counters[GG_COUNT_SAMPLING_NS] +
	                 (double)header->counters[GG_COUNT_HOOKS_NS] + (double)charged_ns;
	double debt_ns = cost_ns - share * (double)header->counters[GG_COUNT_PROGRAM_NS];
	double counted_ns = (double)header->counters[GG_COUNT_RECORDER_NS] -
	                    (double)seen_recorder_ns;

	if (!(share > 0))
		return;
	/*
	 * The rest of a share stays unused, because nobody knows what the end of a process costs.
	 */
	if (debt_ns > 0 && debt_ns < DAMAGED_NS)
		counts->unpaid_ns += debt_ns;
	/* The pot has the recorder's own time, so the agent's count of it is not due again. */
	if (counted_ns > 0 && counted_ns < DAMAGED_NS)
		counts->unpaid_ns -= counted_ns;
}
