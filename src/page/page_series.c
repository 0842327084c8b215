/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_series - memory over time, and the lifetimes of blocks.
 */
#include "page/page_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/binary_search.h"
#include "base/json.h"
#include "model/model.h"
#include "page/page_bins.h"
#include "page/page_columns.h"
#include "page/page_run.h"
#include "query/timeline.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/plain_tally.h"

enum { POINT_COUNT = 241, SERIES_DIGITS = 7 };

struct point {
	double time_ns, live, live_low, live_high, most, rss, rss_ns, rss_is_upper_bound;
	double allocated, allocated_low, allocated_high, allocated_count;
};

static struct gg_plain_tally plain_tally_of(const struct gg_page_run *run,
                                            const struct gg_page_pick *pick)
{
	struct gg_tally tally = { 0 };
	struct gg_plain_tally plain = { 0 };

	if (pick->sample != NULL) {
		gg_plain_tally_add_sample(&plain, &pick->sample->draw, pick->sample->size_bytes);
	} else {
		gg_model_add_aggregate(run->model, &tally, pick->aggregate);
		gg_plain_tally_of(&plain, &tally);
	}
	return plain;
}

static struct gg_tally tally_of(const struct gg_page_run *run, const struct gg_plain_tally *plain)
{
	struct gg_tally tally;

	gg_plain_tally_tally(plain, &tally);
	gg_tally_expose(&tally, gg_model_exposure(run->model, 0));
	if (gg_model_lacks_objects(run->model, 0))
		tally.incomplete = 1;
	return tally;
}

/* Returns the first point at or after the time, but at least 1. */
static size_t find_point(const struct point *points, size_t count, double time_ns)
{
	return gg_lower_bound(1, count - 1, i, points[i].time_ns < time_ns);
}

/* Sets the allocations of each point since the previous one. */
static int add_rates(struct gg_page_run *run, struct point *points, size_t count)
{
	struct gg_plain_tally *sums = calloc(count, sizeof(*sums));
	double span = points[count - 1].time_ns - points[0].time_ns;

	if (sums == NULL)
		return gg_page_out_of_memory(run);
	for (size_t i = 0; i < run->pick_count; i++) {
		const struct gg_page_pick *pick = &run->picks[i];
		struct gg_plain_tally plain;

		if (pick->is_inherited || pick->sample == NULL || !(span > 0))
			continue;
		plain = plain_tally_of(run, pick);
		gg_plain_tally_add(&sums[find_point(points, count, (double)pick->born_ns)], &plain);
	}
	for (size_t i = 1; i < count; i++) {
		struct gg_tally tally = tally_of(run, &sums[i]);
		struct gg_interval bytes = gg_interval_of(&tally, GG_BYTES,
		                                          run->options->confidence, false);

		points[i].allocated = gg_tally_estimate(&tally, GG_BYTES).value;
		points[i].allocated_low = bytes.low;
		points[i].allocated_high = bytes.high;
		points[i].allocated_count = gg_tally_estimate(&tally, GG_ALLOCATIONS).value;
	}
	free(sums);
	return 0;
}

static void write_moments(const struct point *points, size_t count, struct gg_json *json)
{
	GG_PAGE_DOUBLES(json, "time_ns", points, count, time_ns, 17);
	GG_PAGE_DOUBLES(json, "live", points, count, live, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "live_low", points, count, live_low, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "live_high", points, count, live_high, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "most", points, count, most, SERIES_DIGITS);
}

static void write_points(const struct point *points, size_t count, struct gg_json *json)
{
	write_moments(points, count, json);
	GG_PAGE_DOUBLES(json, "rss", points, count, rss, 12);
	GG_PAGE_DOUBLES(json, "rss_ns", points, count, rss_ns, 17);
	GG_PAGE_DOUBLES(json, "rss_is_upper_bound", points, count, rss_is_upper_bound, 1);
	GG_PAGE_DOUBLES(json, "allocated", points, count, allocated, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "allocated_low", points, count, allocated_low, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "allocated_high", points, count, allocated_high, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "allocated_count", points, count, allocated_count, SERIES_DIGITS);
}

static void write_peaks(const struct gg_timeline *timeline, struct gg_json *json)
{
	if (timeline->peak.live_bytes > 0) {
		gg_json_open(json, "peak", '{');
		gg_json_number(json, "time_ns", (double)timeline->peak_ns);
		gg_json_number(json, "estimate", timeline->peak.live_bytes);
		gg_json_number(json, "low", timeline->peak.low);
		gg_json_number(json, "high", timeline->peak.high);
		gg_json_close(json);
	} else {
		gg_json_text(json, "peak", NULL);
	}
	if (timeline->rss_peak_bytes >= 0) {
		gg_json_open(json, "rss_peak", '{');
		gg_json_number(json, "time_ns", (double)timeline->rss_peak_ns);
		gg_json_number(json, "bytes", timeline->rss_peak_bytes);
		gg_json_bool(json, "is_upper_bound", timeline->is_rss_peak_upper_bound);
		gg_json_close(json);
	} else {
		gg_json_text(json, "rss_peak", NULL);
	}
	gg_json_number(json, "without_moments_bytes",
	               gg_tally_estimate(&timeline->without_moments, GG_BYTES).value);
}

/* Returns the points of a timeline without rates, or NULL for want of memory.  The caller frees. */
static struct point *points_of(const struct gg_timeline *timeline)
{
	struct point *points = calloc(timeline->point_count, sizeof(*points));

	for (size_t i = 0; points != NULL && i < timeline->point_count; i++) {
		const struct gg_timeline_point *point = &timeline->points[i];

		points[i] = (struct point){
			.time_ns = (double)point->time_ns,
			.live = point->live_bytes,
			.live_low = point->low,
			.live_high = point->high,
			.most = point->most_bytes,
			.rss = point->rss_bytes < 0 ? NAN : point->rss_bytes,
			.rss_ns = point->rss_bytes < 0 ? NAN : (double)point->rss_ns,
			.rss_is_upper_bound = point->is_rss_upper_bound,
		};
	}
	return points;
}

static int write_timeline(struct gg_page_run *run, struct gg_json *json)
{
	struct gg_timeline *timeline;
	struct point *points;
	int status = gg_timeline_run_with_peak(run->model, 0, POINT_COUNT, run->options->confidence,
	                                       &timeline, run->error);

	if (status < 0)
		return status;
	points = points_of(timeline);
	status = points == NULL ? gg_page_out_of_memory(run)
	                        : add_rates(run, points, timeline->point_count);
	if (status == 0) {
		write_points(points, timeline->point_count, json);
		write_peaks(timeline, json);
	}
	gg_timeline_free(timeline);
	free(points);
	return status;
}

/* A region has no history, so the observations of its reader become the series. */
static int write_watched(struct gg_page_run *run, struct gg_json *json)
{
	size_t count = run->options->watched_count;
	struct point *points = calloc(count + 1, sizeof(*points));

	if (points == NULL)
		return gg_page_out_of_memory(run);
	for (size_t i = 0; i < count; i++) {
		const struct gg_page_watch *watch = &run->options->watched[i];

		points[i] = (struct point){
			.time_ns = (double)watch->time_ns,
			.live = watch->live_bytes,
			.live_low = watch->low,
			.live_high = watch->high,
			.most = watch->live_bytes,
			.rss = watch->rss_bytes < 0 ? NAN : watch->rss_bytes,
			.rss_ns = watch->rss_bytes < 0 ? NAN : (double)watch->time_ns,
			.allocated_high = NAN,
		};
		if (i > 0)
			points[i].allocated = fmax(0, watch->allocated_bytes -
			                                      watch[-1].allocated_bytes);
	}
	write_points(points, count, json);
	gg_json_text(json, "peak", NULL);
	gg_json_text(json, "rss_peak", NULL);
	gg_json_number(json, "without_moments_bytes", 0);
	free(points);
	return 0;
}

int gg_page_series_write_before(struct gg_page_run *run, struct gg_json *json)
{
	struct gg_timeline *timeline;
	struct point *points;
	size_t count;
	int status;

	if (!gg_model_has_history(run->before)) {
		gg_json_text(json, "before_series", NULL);
		return 0;
	}
	status = gg_timeline_run_with_peak(run->before, 0, POINT_COUNT, run->options->confidence,
	                                   &timeline, run->error);
	if (status < 0)
		return status;
	points = points_of(timeline);
	count = timeline->point_count;
	gg_timeline_free(timeline);
	if (points == NULL)
		return gg_page_out_of_memory(run);
	gg_json_open(json, "before_series", '{');
	write_moments(points, count, json);
	gg_json_close(json);
	free(points);
	return 0;
}

int gg_page_series_write(struct gg_page_run *run, struct gg_json *json)
{
	int status;

	gg_json_open(json, "series", '{');
	if (run->options->watched != NULL)
		status = write_watched(run, json);
	else
		status = write_timeline(run, json);
	gg_json_close(json);
	return status;
}

/* --- lifetimes ----------------------------------------------------------------------------- */

/* Two lifetime ranges for each decade from 1 us on.  The first begins at 0; the last has no end. */
enum { LIFE_COUNT = 20 };

struct life {
	double samples;
	double bytes, bytes_low, bytes_high, count, count_low, count_high;
};

struct life_cell {
	uint32_t born, life;
	double n, bytes, bytes_variance, count, count_variance;
};

static double life_edge(int i)
{
	return i == 0 ? 0 : round(pow(10, 3 + (i - 1) / 2.0));
}

static uint32_t life_of(const struct gg_page_pick *pick)
{
	double lived = (double)(pick->gone_ns - pick->born_ns);
	uint32_t life = 0;

	if (pick->is_left)
		return LIFE_COUNT;
	while (life + 1 < LIFE_COUNT && lived > life_edge((int)life + 1))
		life++;
	return life;
}

static void write_whole(const struct gg_page_run *run, const struct gg_plain_tally *sums,
                        struct gg_json *json)
{
	struct life rows[LIFE_COUNT + 1];
	size_t count = LIFE_COUNT + 1;

	for (size_t i = 0; i < count; i++) {
		struct gg_tally tally = tally_of(run, &sums[i]);
		double confidence = run->options->confidence;
		struct gg_interval bytes = gg_interval_of(&tally, GG_BYTES, confidence, false);
		struct gg_interval counts = gg_interval_of(&tally, GG_ALLOCATIONS, confidence,
		                                           false);

		rows[i] = (struct life){
			(double)tally.sample_count,
			gg_tally_estimate(&tally, GG_BYTES).value,
			bytes.low,
			bytes.high,
			gg_tally_estimate(&tally, GG_ALLOCATIONS).value,
			counts.low,
			counts.high,
		};
	}
	gg_json_open(json, "whole", '{');
	GG_PAGE_DOUBLES(json, "samples", rows, count, samples, 15);
	GG_PAGE_DOUBLES(json, "bytes", rows, count, bytes, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_low", rows, count, bytes_low, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_high", rows, count, bytes_high, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "count", rows, count, count, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "count_low", rows, count, count_low, SERIES_DIGITS);
	GG_PAGE_DOUBLES(json, "count_high", rows, count, count_high, SERIES_DIGITS);
	gg_json_close(json);
}

static void add_life(struct life_cell *cell, const struct gg_tally *tally)
{
	struct gg_estimate bytes = gg_tally_estimate(tally, GG_BYTES);
	struct gg_estimate count = gg_tally_estimate(tally, GG_ALLOCATIONS);

	cell->n += (double)tally->sample_count;
	cell->bytes += bytes.value;
	cell->bytes_variance += bytes.variance;
	cell->count += count.value;
	cell->count_variance += count.variance;
}

static void write_cells(struct life_cell *cells, size_t count, struct gg_json *json)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (cells[i].n > 0)
			cells[kept++] = cells[i];
	gg_json_open(json, "cells", '{');
	GG_PAGE_INTEGERS(json, "born", cells, kept, born);
	GG_PAGE_INTEGERS(json, "life", cells, kept, life);
	GG_PAGE_DOUBLES(json, "n", cells, kept, n, 15);
	GG_PAGE_DOUBLES(json, "bytes", cells, kept, bytes, 5);
	GG_PAGE_DOUBLES(json, "bytes_variance", cells, kept, bytes_variance, 5);
	GG_PAGE_DOUBLES(json, "count", cells, kept, count, 5);
	GG_PAGE_DOUBLES(json, "count_variance", cells, kept, count_variance, 5);
	gg_json_close(json);
}

int gg_page_lifetimes_write(struct gg_page_run *run, struct gg_json *json)
{
	struct gg_plain_tally sums[LIFE_COUNT + 1] = { 0 };
	size_t cell_count = (size_t)run->bins.count * (LIFE_COUNT + 1), without_times = 0;
	struct life_cell *cells = calloc(cell_count, sizeof(*cells));

	if (cells == NULL)
		return gg_page_out_of_memory(run);
	for (size_t i = 0; i < run->pick_count; i++) {
		const struct gg_page_pick *pick = &run->picks[i];
		uint32_t born = gg_page_bin(&run->bins, pick->born_ns), life = life_of(pick);
		struct life_cell *cell = &cells[born * (LIFE_COUNT + 1) + life];
		struct gg_plain_tally plain;
		struct gg_tally tally;

		if (pick->is_inherited)
			continue;
		if (pick->sample == NULL && !pick->is_left) {
			without_times += pick->aggregate->sums.sample_count;
			continue;
		}
		if (pick->sample != NULL && !pick->is_left &&
		    (pick->sample->flags & GG_PROFILE_SAMPLE_LATE_FREE) != 0) {
			without_times++;
			continue;
		}
		plain = plain_tally_of(run, pick);
		gg_plain_tally_add(&sums[life], &plain);
		gg_plain_tally_tally(&plain, &tally);
		cell->born = born;
		cell->life = life;
		add_life(cell, &tally);
	}
	gg_json_open(json, "lifetimes", '{');
	gg_json_open(json, "edges_ns", '[');
	for (int i = 0; i < LIFE_COUNT; i++)
		gg_json_number(json, NULL, life_edge(i));
	gg_json_text(json, NULL, NULL);
	gg_json_close(json);
	write_whole(run, sums, json);
	write_cells(cells, cell_count, json);
	gg_json_integer(json, "without_times", without_times);
	gg_json_close(json);
	free(cells);
	return 0;
}
