/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_bins - the bins of time, to which the page rounds when blocks begin and end.
 */
#pragma once

#include "page/page_run.h"

/*
 * Finds the peak of live memory, and those of the processes with most samples.  They become edges
 * of the bins.  -ENOMEM.
 */
GG_MUST_CHECK int gg_page_find_peaks(struct gg_page_run *run);
/* Chooses the edges for the detail of the run. */
void gg_page_choose_bins(struct gg_page_run *run);
/* Returns the bin that contains the time. */
uint32_t gg_page_bin(const struct gg_page_bins *bins, int64_t time_ns);
