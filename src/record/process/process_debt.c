/* SPDX-License-Identifier: Apache-2.0 */
/* process_debt - what a process that has ended was over its overhead. */
#include "record/process/process_debt.h"

#include "base/percent.h"

void gg_process_debt_take(struct gg_session_counts *counts, const struct gg_region_header *header,
                          int64_t charged_ns)
{
	double share = (double)header->control.overhead_ppm / GG_PPM;
	double cost_ns = (double)header->counters[GG_COUNT_SAMPLING_NS] +
	                 (double)header->counters[GG_COUNT_HOOKS_NS] + (double)charged_ns;
	double debt_ns = cost_ns - share * (double)header->counters[GG_COUNT_PROGRAM_NS];

	/*
	 * The rest of a share stays unused, because nobody knows what the end of a process costs.
	 */
	if (share > 0 && debt_ns > 0 && debt_ns < 86400e9)
		counts->unpaid_ns += debt_ns;
}
