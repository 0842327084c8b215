/* SPDX-License-Identifier: Apache-2.0 */
#include "query/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/query.h"
#include "query/resident_memory.h"
#include "stats/estimate/interval.h"

struct timeline_run {
	const struct gg_model *model;
	struct gg_query query;
	struct gg_timeline *timeline;
	size_t at; /* the point that the sweep has reached */
};

static bool is_asked_for(const struct timeline_run *run, const struct gg_profile_process *process)
{
	return run->query.pid == 0 || process->pid == run->query.pid;
}

static int64_t end_of(const struct timeline_run *run, const struct gg_profile_process *process)
{
	return process->end_ns == GG_TIME_NONE ? run->model->end_ns : process->end_ns;
}

/* The span of the timeline: that of the profile, or the life of the selected processes. */
static void choose_moments(const struct timeline_run *run, int64_t spacing_ns)
{
	struct gg_timeline *timeline = run->timeline;
	int64_t start = 0, end = run->model->end_ns;
	const struct gg_profile_process *processes = run->model->processes;

	if (run->query.pid != 0) {
		start = end;
		end = 0;
	}
	for (size_t i = 1; i < run->model->process_count && run->query.pid != 0; i++) {
		if (!is_asked_for(run, &processes[i]))
			continue;
		start = processes[i].start_ns < start ? processes[i].start_ns : start;
		end = end_of(run, &processes[i]) > end ? end_of(run, &processes[i]) : end;
	}
	if (spacing_ns > 0 && (uint64_t)((end - start) / spacing_ns) < timeline->point_count)
		timeline->point_count = (size_t)fmax(2, (double)((end - start) / spacing_ns + 1));
	for (size_t i = 0; i < timeline->point_count; i++) {
		double share = (double)i / (double)(timeline->point_count - 1);
		double after = (double)(end > start ? end - start : 0) * share;

		if (spacing_ns > 0)
			after = round(after / (double)spacing_ns) * (double)spacing_ns;
		timeline->points[i].time_ns = start + (int64_t)after;
	}
}

static int estimate_at_points(struct timeline_run *run, double confidence, struct gg_error *error)
{
	struct gg_timeline *timeline = run->timeline;
	size_t count = timeline->point_count;
	int64_t *times = calloc(count, sizeof(*times));
	struct gg_tally *tallies = calloc(count, sizeof(*tallies));
	int status = 0;

	if (times == NULL || tallies == NULL)
		status = gg_error_memory(error, "timeline");
	for (size_t i = 0; status == 0 && i < count; i++)
		times[i] = timeline->points[i].time_ns;
	if (status == 0)
		status = gg_query_live_at(run->model, &run->query, times, count, tallies, error);
	for (size_t i = 0; status == 0 && i < count; i++) {
		struct gg_timeline_point *point = &timeline->points[i];
		struct gg_interval interval = gg_interval_of(&tallies[i], GG_BYTES, confidence,
		                                             false);

		point->live_bytes = gg_tally_estimate(&tallies[i], GG_BYTES).value;
		point->low = interval.low;
		point->high = interval.high;
		point->most_bytes = point->live_bytes;
	}
	free(times);
	free(tallies);
	return status;
}

/* Advances to the first point at or after the moment, but not beyond the last point. */
static struct gg_timeline_point *point_of(struct timeline_run *run, int64_t time_ns)
{
	struct gg_timeline *timeline = run->timeline;

	while (run->at + 1 < timeline->point_count && timeline->points[run->at].time_ns < time_ns)
		run->at++;
	return &timeline->points[run->at];
}

static void note_change(int64_t time_ns, double live_bytes, double live_count, void *context)
{
	struct gg_timeline_point *point = point_of(context, time_ns);

	(void)live_count;
	point->most_bytes = fmax(point->most_bytes, live_bytes);
}

static int find_peak(struct timeline_run *run, double confidence, struct gg_error *error)
{
	struct gg_timeline *timeline = run->timeline;
	struct gg_peak peak = { 0 };
	struct gg_tally tally;
	struct gg_interval interval;
	int status = gg_query_peak(run->model, &run->query, &peak, error);

	if (status == 0)
		status = gg_query_peak_tally(run->model, &run->query, &peak, &tally, error);
	if (status < 0)
		return status;
	interval = gg_interval_of(&tally, GG_BYTES, confidence, false);
	timeline->peak_ns = peak.time_ns;
	timeline->peak = (struct gg_timeline_point){
		peak.time_ns, peak.bytes, interval.low, interval.high, peak.bytes, -1, 0, false
	};
	return 0;
}

/* RSS by the rule of resident_memory.h: the largest value since the previous point. */
static int add_resident(struct timeline_run *run, struct gg_error *error)
{
	struct gg_timeline *timeline = run->timeline;
	struct gg_residents residents;
	size_t next = 0;
	int status = gg_residents_of(&residents, run->model, run->query.pid, error);

	if (status < 0)
		return status;
	timeline->rss_peak_bytes = -1;
	for (size_t i = 0; i < timeline->point_count; i++) {
		struct gg_timeline_point *point = &timeline->points[i];
		size_t first = next;
		struct gg_resident shown;

		for (; next < residents.count && residents.rounds[next].time_ns <= point->time_ns;
		     next++) {
			shown = gg_residents_at(&residents, residents.rounds[next].time_ns);
			if (next == first || shown.rss >= point->rss_bytes) {
				point->rss_bytes = shown.rss;
				point->rss_ns = shown.time_ns;
				point->is_rss_upper_bound = shown.is_upper_bound;
			}
			if (shown.rss > timeline->rss_peak_bytes) {
				timeline->rss_peak_bytes = shown.rss;
				timeline->rss_peak_ns = shown.time_ns;
				timeline->is_rss_peak_upper_bound = shown.is_upper_bound;
			}
		}
		if (next > first)
			continue;
		shown = gg_residents_remaining_at(&residents, point->time_ns);
		point->rss_bytes = shown.rss;
		point->rss_ns = shown.time_ns;
		point->is_rss_upper_bound = shown.is_upper_bound;
	}
	gg_residents_done(&residents);
	return 0;
}

static void add_aggregates(struct timeline_run *run, int64_t spacing_ns)
{
	const struct gg_profile_aggregate *aggregates = run->model->aggregates;
	const struct gg_profile_process *processes = run->model->processes;

	for (size_t i = 0; i < run->model->aggregate_count; i++)
		if (!aggregates[i].is_exact && spacing_ns == 0 &&
		    is_asked_for(run, &processes[aggregates[i].process]))
			gg_model_add_aggregate(run->model, &run->timeline->without_moments,
			                       &aggregates[i]);
}

/*
 * Moves the point nearest to the peak onto it, except the first and the last point.  Two points are
 * never closer afterwards than half of their former distance.
 */
static void move_point_to_peak(struct gg_timeline *timeline)
{
	struct gg_timeline_point *points = timeline->points;
	int64_t first = points[0].time_ns, last = points[timeline->point_count - 1].time_ns;
	double width = (double)(last - first) / (double)(timeline->point_count - 1);
	double at = width > 0 ? round((double)(timeline->peak_ns - first) / width) : 0;

	if (at >= 1 && at + 1 < (double)timeline->point_count)
		points[(size_t)at].time_ns = timeline->peak_ns;
}

static int run_timeline(const struct gg_model *model, uint32_t pid, size_t point_count,
                        bool is_peak_a_point, double confidence, struct gg_timeline **ret_timeline,
                        struct gg_error *error)
{
	struct timeline_run run = { .model = model, .timeline = calloc(1, sizeof(*run.timeline)) };
	int64_t spacing_ns = gg_model_spacing_ns(model);
	int status = 0;

	if (run.timeline == NULL)
		return gg_error_memory(error, "timeline");
	gg_query_init(&run.query);
	run.query.pid = pid;
	run.timeline->point_count = point_count;
	run.timeline->points = calloc(point_count, sizeof(*run.timeline->points));
	if (run.timeline->points == NULL)
		status = gg_error_memory(error, "timeline");
	if (status == 0)
		status = find_peak(&run, confidence, error);
	if (status == 0) {
		choose_moments(&run, spacing_ns);
		if (is_peak_a_point && run.timeline->peak.live_bytes > 0)
			move_point_to_peak(run.timeline);
		status = estimate_at_points(&run, confidence, error);
	}
	if (status == 0)
		status = gg_query_sweep(model, &run.query, note_change, &run, error);
	if (status == 0)
		status = add_resident(&run, error);
	if (status < 0) {
		gg_timeline_free(run.timeline);
		return status;
	}
	add_aggregates(&run, spacing_ns);
	*ret_timeline = run.timeline;
	return 0;
}

int gg_timeline_run(const struct gg_model *model, uint32_t pid, size_t point_count,
                    double confidence, struct gg_timeline **ret_timeline, struct gg_error *error)
{
	return run_timeline(model, pid, point_count, false, confidence, ret_timeline, error);
}

int gg_timeline_run_with_peak(const struct gg_model *model, uint32_t pid, size_t point_count,
                              double confidence, struct gg_timeline **ret_timeline,
                              struct gg_error *error)
{
	return run_timeline(model, pid, point_count, true, confidence, ret_timeline, error);
}

void gg_timeline_free(struct gg_timeline *timeline)
{
	if (timeline == NULL)
		return;
	free(timeline->points);
	free(timeline);
}
