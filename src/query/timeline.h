/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline - live memory and RSS over time, at evenly spaced moments.
 *
 *   struct gg_timeline *timeline;
 *
 *   if (gg_timeline_run(model, 0, 160, 0.95, &timeline, error) == 0)
 *           ... timeline->points[0..160) ...
 *   gg_timeline_free(timeline);
 *
 * The first point is at the start and the last point at the end of the profile, or of the processes
 * with the pid.  A process counts from its start to its end.
 *
 * RSS follows the rule of resident_memory.h: for several processes it is either proportional, so
 * that shared pages count once, or an upper bound.
 *
 * Aggregates (records.h) have no moments, so the live estimate leaves them out; without_moments has
 * their sum.  A profile of snapshots has a point for each of them, or for some.
 *
 * Cost      1 M samples take about 0.3 s; 64 bytes a point, 600 while it runs.
 * Threads   Any number of runs on one model.  One thread owns a result.
 */
#pragma once

#include <stdbool.h>

#include "model/model.h"
#include "stats/estimate/tally.h"

struct gg_timeline_point {
	int64_t time_ns;
	double live_bytes, low, high; /* the estimate at that moment and its confidence interval */
	double most_bytes;            /* the largest estimate since the previous point */
	double rss_bytes; /* the largest reading since the previous point; negative: unknown */
	int64_t rss_ns;   /* time of that reading, or of the last one before */
	bool is_rss_upper_bound; /* shared pages count in each process */
};

struct gg_timeline {
	struct gg_timeline_point *points;
	size_t point_count;
	int64_t peak_ns; /* of the largest live estimate; meaningless if nothing was ever live */
	struct gg_timeline_point peak;
	int64_t rss_peak_ns;
	double rss_peak_bytes; /* negative: no reading */
	bool is_rss_peak_upper_bound;
	struct gg_tally without_moments; /* allocated and freed at unknown times */
};

/* -EINVAL for an unknown pid (0: all processes); -ENOMEM.  point_count >= 2. */
GG_MUST_CHECK int gg_timeline_run(const struct gg_model *model, uint32_t pid, size_t point_count,
                                  double confidence, struct gg_timeline **ret_timeline,
                                  struct gg_error *error);

/* Also moves the point nearest to the peak onto it; the first and the last point stay. */
GG_MUST_CHECK int gg_timeline_run_with_peak(const struct gg_model *model, uint32_t pid,
                                            size_t point_count, double confidence,
                                            struct gg_timeline **ret_timeline,
                                            struct gg_error *error);
void gg_timeline_free(struct gg_timeline *timeline); /* NULL is fine */
