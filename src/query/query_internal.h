/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_internal - the scope of a query: its filters, applied to a model once; what the files of the
 * queries share.
 */
#pragma once

#include "model/model_internal.h"
#include "query/query.h"

/* When the block of a sample was there, over all of its holders in the scope. */
struct gg_block {
	int64_t from_ns, until_ns; /* until_ns: GG_TIME_NONE if it is live at the end */
	int64_t until_least_ns;    /* an earlier time where the time of its end was lost */
	bool is_first;             /* this sample stands for the block */
	bool is_left;              /* some holder never freed it ... */
	int64_t left_ns;           /* ... and then that holder ended: the last of them */
};

struct gg_query_filter {
	const struct gg_model *model;
	struct gg_query query;
	uint8_t *process_in;     /* of each process; NULL: all are */
	int64_t *untils;         /* of each process, if only some are in (gg_model_find_untils) */
	uint8_t *stack_in;       /* of each stack's top; NULL: all are */
	uint32_t *label_of;      /* of each process, the first one with its value; GG_BY_LABEL */
	struct gg_block *blocks; /* of each sample; NULL: nothing was inherited */
	double interval;         /* the largest that the scope was exposed to, bytes */
	bool is_incomplete; /* in the query's window samples were dropped, or sampling was off */
	int64_t most_ns;    /* of a peak: when the most can have been live */
};

/* As gg_query_rows() refuses.  On failure there is nothing to close. */
GG_MUST_CHECK int gg_query_filter_open(struct gg_query_filter *scope, const struct gg_model *model,
                                       const struct gg_query *query, struct gg_error *error);
void gg_query_filter_close(struct gg_query_filter *scope);

/* Block of sample i; false if it is outside of the scope or not the one that stands for its block. */
bool gg_query_filter_block(const struct gg_query_filter *scope, size_t i,
                           struct gg_block *ret_block);

/* Does the metric (peak must have become live) count blocks, each once, and not what happened to them? */
bool gg_query_filter_is_of_blocks(const struct gg_query_filter *scope);

/* Are the row's process and stack in the scope? */
bool gg_query_filter_has_coarse(const struct gg_query_filter *scope,
                                const struct gg_profile_coarse *coarse);
/* When all samples of the row were there for certain; until_ns <= from_ns: at no time. */
struct gg_block gg_coarse_block(const struct gg_profile_coarse *coarse);

/* Is what the scope's processes held or did in (from_ns, to_ns] more than their samples tell? */
bool gg_query_filter_is_incomplete(const struct gg_query_filter *scope, int64_t from_ns,
                                   int64_t to_ns);
/* The tally was exposed to the scope's sampling interval, and to what was dropped. */
void gg_query_filter_expose(const struct gg_query_filter *scope, struct gg_tally *tally);

/* What a metric selects: a sample, by its number, with the times of its block; or a coarse row. */
struct gg_pick {
	size_t sample;
	struct gg_block block;
	const struct gg_profile_coarse *coarse; /* NULL: a sample */
	bool is_uncertain; /* it may be selected or not: its times were lost, or only sums were kept */
};

/* Adds what was picked: to what is certain, or to what may be. */
void gg_query_filter_add_pick(const struct gg_query_filter *scope, const struct gg_pick *pick,
                              struct gg_tally *tally);
typedef void gg_query_filter_visit(const struct gg_pick *pick, void *context);

/*
 * Visits what the metric selects; peak must have become live.  apart: each sample for itself, also
 * where several processes hold one block.
 */
void gg_query_filter_each(const struct gg_query_filter *scope, bool apart,
                          gg_query_filter_visit *visit, void *context);
/* The same for coarse rows that cannot be placed. */
void gg_query_filter_each_unplaced(const struct gg_query_filter *scope,
                                   gg_query_filter_visit *visit, void *context);

/* The tally of the peak (gg_query_peak_tally), within a scope. */
void gg_query_filter_peak_tally(const struct gg_query_filter *scope, const struct gg_peak *peak,
                                struct gg_tally *ret_tally);
GG_MUST_CHECK int gg_query_filter_peak(const struct gg_query_filter *scope,
                                       struct gg_peak *ret_peak, struct gg_error *error);
