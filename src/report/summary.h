/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary - what the head of every report says: how much there was, and how it compares with what the
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
#include "profile/ask.h"

/* Bytes of the kernel's books, summed over processes; negative: not known. */
struct gg_resident {
	int64_t time_ns; /* of the last reading that is in it */
	double rss, anonymous, file, stack, swap;
	size_t process_count; /* 0: there was no reading */
};

struct gg_summary {
	int64_t moment_ns; /* GG_TIME_NONE: at the end */
	struct gg_tally live, allocated;
	/*
	 * What was live when `resident` was read, which may be earlier: how much of that is usable size
	 * beyond the requested one, and how much is mappings.
	 */
	struct gg_tally live_then;
	double slack_bytes, mapping_bytes;
	bool has_peak; /* false: without history nobody knows */
	int64_t peak_ns;
	struct gg_tally peak;                  /* what was live then */
	struct gg_resident resident, at_peak;  /* at the moment, and at the peak */
	uint64_t sample_count, dropped_count;  /* dropped: samples that found no place */
	double interval;                       /* the largest sampling interval, bytes */
	struct gg_model_unresolved unresolved; /* frames without names */
};

/* query: its pid, and to_ns where the metric is live; the moment is the end for all others. */
GG_MUST_CHECK int gg_summary_of(struct gg_summary *summary, const struct gg_model *model,
                                const struct gg_question *query, struct gg_error *error);

/*
 * What RSS holds beside the live heap, all at the time of its reading.  rest: what nobody accounts
 * for, such as free memory that the allocator keeps; negative where some of the live memory is not
 * resident, or by chance, as the live heap is an estimate.
 */
double gg_summary_rest(const struct gg_summary *summary);
