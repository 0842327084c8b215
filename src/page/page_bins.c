/* SPDX-License-Identifier: Apache-2.0 */
/* page_bins - chooses the edges of the bins, and finds the bin of a time. */
#include "page/page_bins.h"

#include "base/assert.h"
#include "base/binary_search.h"
#include "model/model.h"
#include "page/page_run.h"
#include "query/query.h"

void gg_page_find_peak(struct gg_page_run *run)
{
	struct gg_query query;
	struct gg_peak peak = { 0 };

	gg_query_init(&query);
	run->peak_ns = -1;
	if (gg_model_has_history(run->model) &&
	    gg_query_peak(run->model, &query, &peak, NULL) == 0 && peak.bytes > 0)
		run->peak_ns = peak.time_ns > 0 ? peak.time_ns : 0;
}

/*
 * The first bin covers the time before the first observation.  The others have whole grid steps,
 * whose length doubles until there are few enough bins.
 */
static void choose_watched(struct gg_page_run *run)
{
	const struct gg_page_options *options = run->options;
	struct gg_page_bins *bins = &run->bins;
	int64_t end = run->model->end_ns, step = options->watched_grid_ns, edge;
	uint32_t at = 0;

	while ((end - options->watched_from_ns) / step > (int64_t)run->detail.bins - 2)
		step *= 2;
	bins->peak_edge = -1;
	bins->edges[at++] = 0;
	bins->edges[at++] = options->watched_from_ns;
	for (edge = (options->watched_from_ns / step + 1) * step; edge < end; edge += step)
		bins->edges[at++] = edge;
	if (end > bins->edges[at - 1])
		bins->edges[at++] = end;
	bins->count = at - 1;
}

void gg_page_choose_bins(struct gg_page_run *run)
{
	struct gg_page_bins *bins = &run->bins;
	int64_t end = run->model->end_ns;
	uint32_t at = 0;

	if (run->options->watched_from_ns > 0 && run->options->watched_grid_ns > 0 &&
	    run->peak_ns < 0) {
		choose_watched(run);
		return;
	}
	if (end < (int64_t)run->detail.bins)
		end = run->detail.bins; /* a profile without times accepts any edges */
	bins->peak_edge = -1;
	for (uint32_t i = 0; i <= run->detail.bins; i++) {
		int64_t edge = (int64_t)((double)end * i / run->detail.bins);

		if (i == run->detail.bins)
			edge = end;
		if (run->peak_ns >= 0 && bins->peak_edge < 0 && run->peak_ns <= edge) {
			bins->peak_edge = (int32_t)at;
			if (run->peak_ns < edge)
				bins->edges[at++] = run->peak_ns;
		}
		bins->edges[at++] = edge;
	}
	gg_assert(at <= GG_COUNT(bins->edges));
	bins->count = at - 1;
}

uint32_t gg_page_bin(const struct gg_page_bins *bins, int64_t time_ns)
{
	gg_assert(bins->count > 0 && bins->count <= GG_PAGE_BINS_MAX + 1);
	/* Bin b covers times after edge b up to edge b + 1. */
	return (uint32_t)gg_lower_bound(0, bins->count - 1, b, bins->edges[b + 1] < time_ns);
}
