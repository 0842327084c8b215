/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_sums - the sums of a query before they become rows, and the keys of rows.
 */
#pragma once

#include "base/array.h"
#include "query/query_internal.h"
#include "stats/estimate/plain_tally.h"

#define GG_NO_SLOT UINT32_MAX

/* One tally for each key that has samples. */
struct gg_groups {
	size_t key_count, count;
	uint32_t *slot_of; /* by key; GG_NO_SLOT: the query selects nothing with it */
	uint32_t *keys;    /* by slot, ascending */
	struct gg_tally *tallies;
};

/* Two tallies for each location: self, and total with everything that it called. */
struct gg_frame_sums {
	uint32_t *slot_of;
	GG_ARRAY(uint32_t) keys;
	GG_ARRAY(struct gg_plain_tally) sums; /* two for each slot: self, total */
};

/*
 * Adds up tallies of stacks by function, line, or module.  Returns 0 or -ENOMEM; call _done() in
 * either case.
 */
GG_MUST_CHECK int gg_frame_sums_of(struct gg_frame_sums *frame_sums, const struct gg_model *model,
                                   enum gg_grouping by, size_t key_count,
                                   const struct gg_groups *stacks);
void gg_frame_sums_done(struct gg_frame_sums *frame_sums);

/* The key of the row of a sample, and of an aggregate; for rows of locations it is the stack. */
uint32_t gg_query_key_of_sample(const struct gg_query_filter *filter,
                                const struct gg_model_sample *sample);
uint32_t gg_query_key_of_aggregate(const struct gg_query_filter *filter,
                                   const struct gg_profile_aggregate *aggregate);
/* The key of the row that has the sample itself, also for rows of locations. */
uint32_t gg_query_self_key_of_sample(const struct gg_query_filter *filter,
                                     const struct gg_model_sample *sample);
/*
 * Returns an array with the index of each key's row; GG_NO_ROW: no row has the key.  The caller
 * frees it.  NULL: out of memory.
 */
#define GG_NO_ROW UINT32_MAX
uint32_t *gg_query_rows_of_keys(const struct gg_model *model, const struct gg_query_result *result);
/* All keys of a grouping are below this number. */
size_t gg_query_key_count(const struct gg_model *model, enum gg_grouping by);

/*
 * Sets `via` of each row by function, line, or stack from the sums of stacks.  -ENOMEM.
 */
GG_MUST_CHECK int gg_query_find_vias(struct gg_query_result *result, const struct gg_model *model,
                                     enum gg_grouping by, const struct gg_groups *stacks);

/* Adds a sample to the estimates of slack and of mappings, which the head of a report shows. */
void gg_query_add_parts(const struct gg_model_sample *sample, double *slack_bytes,
                        double *mapping_bytes);
