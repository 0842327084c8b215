/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_internal - the filter of a query, applied to a model once; shared by the files of
 * src/query.
 */
#pragma once

#include "model/model.h"
#include "query/model_heirs.h"
#include "query/query.h"

/* The life of a sample's block, over all of its holders that the filter selects. */
struct gg_block {
	int64_t from_ns;
	int64_t until_ns; /* GG_TIME_NONE: it is live at the end */
	/* The earliest end; it differs where the time of a free or of an end was lost. */
	int64_t until_least_ns;
	bool is_first; /* this sample represents the block */
	bool is_left;  /* some holder never freed it ... */
	/* ... and the last such holder ended between these times; GG_TIME_NONE: unknown */
	int64_t left_least_ns, left_ns;
	/* The latest end of an heir that nobody saw and that may have had it; INT64_MIN: none. */
	int64_t heir_until_ns;
	/* struct gg_heir_times: when such an heir may have left it. */
	int64_t heir_left_least_ns, heir_left_most_ns;
};

/* A moment at which exact counts of a process changed. */
struct gg_exact_tick {
	uint32_t process;
	int64_t time_ns;
};

struct gg_query_filter {
	const struct gg_model *model;
	struct gg_query query;
	uint8_t *process_in; /* by process: selected; NULL: all */
	int64_t *untils;     /* by process, if only some are selected (gg_model_find_until_ns) */
	int64_t *stopped_ns; /* by process: from then on exact counts know no frees; NULL: none */
	struct gg_exact_tick *ticks; /* sorted; NULL: no exact block can have been inherited */
	size_t tick_count;
	uint8_t *stack_in;  /* by stack's top: selected; NULL: all */
	uint32_t *label_of; /* GG_BY_LABEL: by process, the first process with the same value */
	struct gg_block *blocks; /* by sample; NULL: no sample was inherited */
	struct gg_unseen_heirs heirs;
	struct gg_pinned pinned; /* pinned: the blocks of looks */
	double interval_bytes;   /* the largest sampling interval of the selection */
	bool is_incomplete;      /* in the window samples were dropped, or sampling was off */
	bool lacks_java;         /* Java objects of the selected processes are missing */
	int64_t most_ns;         /* peak: the moment at which the most can have been live */
};

/* Fails as gg_query_rows() does.  After a failure there is nothing to close. */
GG_MUST_CHECK int gg_query_filter_open(struct gg_query_filter *filter, const struct gg_model *model,
                                       const struct gg_query *query, struct gg_error *error);
void gg_query_filter_close(struct gg_query_filter *filter);

/* The block of sample i.  False if the filter leaves it out, or another sample represents it. */
bool gg_query_filter_block(const struct gg_query_filter *filter, size_t i,
                           struct gg_block *ret_block);

/* The time in which sample i's own process held the block. */
struct gg_block gg_query_filter_own_block(const struct gg_query_filter *filter, size_t i);

/* True if the filter selects the sample's process and stack. */
bool gg_query_filter_selects(const struct gg_query_filter *filter,
                             const struct gg_model_sample *sample);

/*
 * True if the metric counts existing blocks, each once, and not events.  A query for the peak must
 * have become one for live at the peak's moment.
 */
bool gg_query_filter_is_of_blocks(const struct gg_query_filter *filter);

/*
 * True if a row has every block that its processes hold, even if other processes hold it as well.
 */
bool gg_query_filter_is_apart(const struct gg_query_filter *filter);

/* True if the filter selects the aggregate's process and stack. */
bool gg_query_filter_has_aggregate(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate);
/* The time in which all samples of the aggregate certainly lived; until_ns <= from_ns: none. */
struct gg_block gg_query_block_of_aggregate(const struct gg_query_filter *filter,
                                            const struct gg_profile_aggregate *aggregate);

/*
 * The time by which all samples of the aggregate were gone, at some unknown time before: from its
 * process, and from heirs that nobody saw.
 */
int64_t gg_query_filter_gone(const struct gg_query_filter *filter,
                             const struct gg_profile_aggregate *aggregate);

/* struct gg_block_times, held_until_ns. */
int64_t gg_query_filter_held_until(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate);

/* True if the selected processes did more in (from_ns, to_ns] than their samples tell. */
bool gg_query_filter_is_incomplete(const struct gg_query_filter *filter, int64_t from_ns,
                                   int64_t to_ns);
/* True if the process held inherited blocks that the profile lacks, and the metric counts these. */
bool gg_query_filter_is_heir(const struct gg_query_filter *filter, uint32_t process);

/*
 * Exposes the tally to the selection's sampling interval, and to dropped samples.  The second
 * function is for a tally that can have no Java objects.
 */
void gg_query_filter_expose(const struct gg_query_filter *filter, struct gg_tally *tally);
void gg_query_filter_expose_other(const struct gg_query_filter *filter, struct gg_tally *tally);

/* True if the sample, or the aggregate, may be of Java objects of which others are missing. */
bool gg_query_filter_lacks_like(const struct gg_query_filter *filter,
                                const struct gg_model_sample *sample,
                                const struct gg_profile_aggregate *aggregate);

/* Pinned: the bounds that gg_query_filter_expose() sets. */
struct gg_pinned_scope gg_query_filter_pinned_scope(const struct gg_query_filter *filter);

/* One selected item: the number of a sample with the times of its block, or an aggregate. */
struct gg_pick {
	size_t sample;
	struct gg_block block;
	const struct gg_profile_aggregate *aggregate; /* NULL: a sample */
	const struct gg_pinned_block *pinned;         /* NULL: another metric than pinned */
	bool is_uncertain; /* nobody knows: its times were lost, or only sums were kept */
};

/* Adds what was picked: to what is certain, or to what may be. */
void gg_query_filter_add_pick(const struct gg_query_filter *filter, const struct gg_pick *pick,
                              struct gg_tally *tally);
typedef void gg_query_filter_visit(const struct gg_pick *pick, void *context);

/*
 * Visits what the metric selects; peak must have become live.  apart: each sample for itself, also
 * where several processes hold one block.
 */
void gg_query_filter_each(const struct gg_query_filter *filter, bool apart,
                          gg_query_filter_visit *visit, void *context);
/* Visits the aggregates that an end of the window divides. */
void gg_query_filter_each_unplaced(const struct gg_query_filter *filter,
                                   gg_query_filter_visit *visit, void *context);

/* The tally of the peak (gg_query_peak_tally), within a scope. */
void gg_query_filter_peak_tally(const struct gg_query_filter *filter, const struct gg_peak *peak,
                                struct gg_tally *ret_tally);
GG_MUST_CHECK int gg_query_filter_peak(const struct gg_query_filter *filter,
                                       struct gg_peak *ret_peak, struct gg_error *error);

/* Turns a query for the peak into one for live at the peak's moment. */
GG_MUST_CHECK int gg_query_filter_find_moment(struct gg_query_filter *filter,
                                              struct gg_error *error);
/* Raises the upper bound of a peak, which may belong to another moment where times were lost. */
void gg_query_filter_widen_peak(const struct gg_query_filter *filter, const struct gg_query *query,
                                struct gg_tally *total);
