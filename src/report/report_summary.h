/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_summary - computes the numbers in the head of every report: totals, and RSS beside them.
 *
 * The numbers cover the query's processes at its moment, whatever its focus and grouping are.
 *
 * Threads  Any; it only reads the model.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "query/query.h"
#include "query/resident_memory.h"

/* The kernel's maximum RSS of one process, which misses nothing between readings. */
struct gg_highest_rss {
	double bytes;         /* negative: unknown */
	int64_t time_ns;      /* time of the reading; the maximum was then or before */
	bool is_of_end;       /* true: ru_maxrss of wait4(); false: VmHWM */
	size_t process_count; /* the maximum is over this many processes */
};

struct gg_report_summary {
	int64_t moment_ns; /* GG_TIME_NONE: at the end */
	struct gg_tally live, allocated;
	struct gg_tally left; /* what each process held at its own exit (query.h) */
	uint32_t pid;         /* the query's; 0: all processes */
	size_t process_count; /* processes that the numbers cover; 0: unknown (merged profiles) */
	/*
	 * Live memory at the time of `resident`, which may be before the moment, and the parts of
	 * it that are slack and mappings.
	 */
	struct gg_tally live_then;
	double slack_bytes, mapping_bytes;
	bool has_peak; /* false: the profile has no history */
	int64_t peak_ns;
	struct gg_tally peak; /* live memory at the peak */
	/*
	 * The last reading up to the moment, and a reading at a time when as much was live as at
	 * the peak.  The latter may not exist.
	 */
	struct gg_resident resident, at_peak;
	bool has_rest; /* `resident` and live_then belong to one moment and to the same processes */
	struct gg_highest_rss highest;
	uint64_t sample_count, dropped_count; /* dropped: samples that did not fit */
	double interval_bytes,
		least_interval_bytes;          /* the largest sampling interval, the smallest */
	struct gg_model_unresolved unresolved; /* frames without names */
};

/*
 * Uses the query's pid, and to_ns if the metric is live; other metrics have the end as their
 * moment.
 */
GG_MUST_CHECK int gg_report_summary_of(struct gg_report_summary *summary,
                                       const struct gg_model *model, const struct gg_query *query,
                                       struct gg_error *error);

/*
 * The part of RSS that nothing accounts for, such as free memory that the allocator keeps, at the
 * time of the reading.  It is negative if some live memory is not resident, or by chance, because
 * the live heap is an estimate.  NAN without has_rest, and if lost samples or times leave only a
 * bound of the live heap.
 */
double gg_report_summary_rest(const struct gg_report_summary *summary);
