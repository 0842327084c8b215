/* SPDX-License-Identifier: Apache-2.0 */
/* page_bins - chooses the edges of the bins, and finds the bin of a time. */
#include "page/page_bins.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/binary_search.h"
#include "model/model.h"
#include "page/page_run.h"
#include "query/query.h"

/* Returns the moment of the peak of the processes with that pid (0: all); -1: nothing was live. */
static int64_t find_peak(const struct gg_page_run *run, uint32_t pid)
{
	struct gg_query query;
	struct gg_peak peak = { 0 };

	gg_query_init(&query);
	query.pid = pid;
	if (gg_query_peak(run->model, &query, &peak, NULL) < 0 || !(peak.bytes > 0))
		return -1;
	return peak.time_ns > 0 ? peak.time_ns : 0;
}

/* Samples of the processes with one pid. */
struct pid_samples {
	uint32_t pid;
	size_t sample_count;
};

static int compare_pids(const void *left, const void *right)
{
	const struct pid_samples *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int compare_counts(const void *left, const void *right)
{
	const struct pid_samples *a = left, *b = right;

	if (a->sample_count != b->sample_count)
		return a->sample_count > b->sample_count ? -1 : 1;
	return compare_pids(left, right);
}

static int compare_times(const void *left, const void *right)
{
	const struct gg_page_peak *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Fills in the pids, those with most samples first.  Returns how many there are, or -ENOMEM. */
static int list_pids(const struct gg_model *model, struct pid_samples **ret_pids)
{
	struct pid_samples *pids = calloc(model->process_count + 1, sizeof(*pids));
	size_t count = 0;

	if (pids == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < model->process_count; i++)
		pids[i].pid = model->processes[i].pid;
	for (size_t i = 0; i < model->sample_count; i++)
		pids[model->samples[i].process].sample_count++;
	qsort(pids, model->process_count, sizeof(*pids), compare_pids);
	for (size_t i = 0; i < model->process_count; i++) {
		if (pids[i].pid == 0)
			continue;
		if (count > 0 && pids[count - 1].pid == pids[i].pid)
			pids[count - 1].sample_count += pids[i].sample_count;
		else
			pids[count++] = pids[i];
	}
	qsort(pids, count, sizeof(*pids), compare_counts);
	*ret_pids = pids;
	return (int)count;
}

int gg_page_find_peaks(struct gg_page_run *run)
{
	struct pid_samples *pids;
	int count;

	run->peak_ns = -1;
	if (!gg_model_has_history(run->model))
		return 0;
	run->peak_ns = find_peak(run, 0);
	count = run->peak_ns >= 0 ? list_pids(run->model, &pids) : 0;
	if (count < 0)
		return gg_page_out_of_memory(run);
	for (int i = 0; count > 1 && i < count && run->peak_count < GG_PAGE_PEAKS_MAX; i++) {
		int64_t time_ns = find_peak(run, pids[i].pid);

		if (time_ns >= 0)
			run->peaks[run->peak_count++] = (struct gg_page_peak){ pids[i].pid, time_ns,
				                                               -1 };
	}
	if (run->peak_ns >= 0)
		free(pids);
	qsort(run->peaks, run->peak_count, sizeof(*run->peaks), compare_times);
	return 0;
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

/* Inserts a moment into the ascending edges if it is not there.  Returns how many there are. */
static uint32_t add_edge(int64_t *edges, uint32_t count, int64_t time_ns)
{
	uint32_t at = count;

	for (uint32_t i = 0; i < count; i++)
		if (edges[i] == time_ns)
			return count;
	for (; at > 0 && edges[at - 1] > time_ns; at--)
		edges[at] = edges[at - 1];
	edges[at] = time_ns;
	return count + 1;
}

/* Returns the edge at that moment, or -1. */
static int32_t edge_of(const struct gg_page_bins *bins, int64_t time_ns)
{
	for (uint32_t i = 0; i <= bins->count; i++)
		if (bins->edges[i] == time_ns)
			return (int32_t)i;
	return -1;
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
	for (uint32_t i = 0; i < run->detail.bins; i++)
		bins->edges[at++] = (int64_t)((double)end * i / run->detail.bins);
	bins->edges[at++] = end;
	if (run->peak_ns >= 0)
		at = add_edge(bins->edges, at, run->peak_ns);
	for (uint32_t i = 0; i < run->peak_count; i++)
		at = add_edge(bins->edges, at, run->peaks[i].time_ns);
	gg_assert(at <= GG_COUNT(bins->edges));
	bins->count = at - 1;
	bins->peak_edge = edge_of(bins, run->peak_ns);
	for (uint32_t i = 0; i < run->peak_count; i++)
		run->peaks[i].edge = edge_of(bins, run->peaks[i].time_ns);
}

uint32_t gg_page_bin(const struct gg_page_bins *bins, int64_t time_ns)
{
	gg_assert(bins->count > 0 && bins->count < GG_COUNT(bins->edges));
	/* Bin b covers times after edge b up to edge b + 1. */
	return (uint32_t)gg_lower_bound(0, bins->count - 1, b, bins->edges[b + 1] < time_ns);
}
