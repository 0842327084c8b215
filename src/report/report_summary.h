/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_summary - what the head of every report says: how much there was, and how it compares with what the
 * kernel saw.
 *
 * The numbers are of the query's processes and of its moment, whatever its focus and grouping are.
 *
 * Threads  any; the model is only read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "query/query.h"
#include "query/resident_memory.h"

/* The kernel's own maximum of any one process: nothing is missed between readings. */
struct gg_highest_rss {
	double bytes;         /* negative: not known */
	int64_t time_ns;      /* when it was read; the maximum was then or before */
	bool is_of_end;       /* ru_maxrss of wait4(), else VmHWM */
	size_t process_count; /* that it is the maximum of, all of them */
};

struct gg_report_summary {
	int64_t moment_ns; /* GG_TIME_NONE: at the end */
	struct gg_tally live, allocated;
	struct gg_tally left; /* what each process held at its own exit (query.h) */
	size_t process_count; /* that the numbers are of; 0: not known, as several are one in merged profiles */
	/*
	 * What was live when `resident` was read, which may be earlier: how much of that is usable size
	 * beyond the requested one, and how much is mappings.
	 */
	struct gg_tally live_then;
	double slack_bytes, mapping_bytes;
	bool has_peak; /* false: without history nobody knows */
	int64_t peak_ns;
	struct gg_tally peak; /* what was live then */
	/*
	 * The last reading up to the moment; and one when as much was live as at the peak, which there
	 * may not be.
	 */
	struct gg_resident resident, at_peak;
	bool has_rest; /* `resident` and live_then are of one moment and of the same processes */
	struct gg_highest_rss highest;
	uint64_t sample_count, dropped_count; /* dropped: samples that found no place */
	double interval, least_interval; /* the largest sampling interval and the smallest, bytes */
	struct gg_model_unresolved unresolved; /* frames without names */
};

/* query: its pid, and to_ns where the metric is live; the moment is the end for all others. */
GG_MUST_CHECK int gg_report_summary_of(struct gg_report_summary *summary,
                                       const struct gg_model *model, const struct gg_query *query,
                                       struct gg_error *error);

/*
 * With has_rest: what RSS holds beside the live heap, all at the time of its reading.  rest: what nobody accounts
 * for, such as free memory that the allocator keeps; negative where some of the live memory is not
 * resident, or by chance, as the live heap is an estimate.  NAN without has_rest, and where the live heap
 * is known by a bound alone: samples or their times were lost.
 */
double gg_report_summary_rest(const struct gg_report_summary *summary);
