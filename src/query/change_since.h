/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_since - tests how live memory changed since an earlier moment, row by row, in one model.
 *
 *   struct gg_changes *changes;
 *
 *   if (gg_changes_since_find(model, &query, &(struct gg_change_options){ .since_ns = mark_ns,
 *                            .confidence = 0.95, .false_discovery_rate = 0.05 },
 *                            &changes, error) == 0)
 *           ... gg_changes_since_of(changes, row->key) ...
 *   gg_changes_since_free(changes);
 *
 * Common blocks  A block that was live at both moments is the same sample twice, so it cancels.
 *                The change is the sum of the blocks that came less the sum of those that went.
 *                These two groups are independent, and compare.h tests their difference as
 *                `geiger diff` tests two profiles.
 * Rows           Every row with a block at either moment is tested, also if nothing of it is live
 *                now.  The false discovery rate is held over all of them.
 * Cost           two passes over the samples.
 * Memory         a byte for each sample, 4 bytes for each key of the model, and two tallies for
 *                each row with a block at either moment.
 * Threads        Any number of calls on one model.  One thread owns a result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "stats/estimate/compare.h"

struct gg_change_options {
	int64_t since_ns;            /* the earlier moment; the later one is the query's */
	double confidence;           /* of each interval; 0 < confidence < 1 */
	double false_discovery_rate; /* over all rows; 0 < rate < 1 */
	/*
	 * No aggregate has a block that was live at either moment.  This is so if both moments are
	 * those of polls of a region, and nothing was compacted since (polling.h).
	 */
	bool skips_aggregates;
};

struct gg_change {
	struct gg_difference difference; /* of bytes, or of allocations, as the query says */
	double q_value;                  /* the least rate at which the row is significant */
	bool is_significant;
};

struct gg_changes {
	size_t key_count, row_count;
	uint32_t *slot_of; /* by key; UINT32_MAX: the row has no block at either moment */
	struct gg_change *rows;
	struct gg_change total; /* a test of its own */
};

/*
 * The query's metric must be live.  Rows belong to what they allocated themselves.  Fails as
 * gg_query_rows() does.
 */
GG_MUST_CHECK int gg_changes_since_find(const struct gg_model *model, const struct gg_query *query,
                                        const struct gg_change_options *options,
                                        struct gg_changes **ret_changes, struct gg_error *error);
void gg_changes_since_free(struct gg_changes *changes); /* NULL is fine */

/*
 * The false discovery rate of look k of a run, from 1 on, for the rows and for the total each:
 * share / (2 k (k + 1)).  The rates of all looks sum to
 * `share` for both, so by a union bound a steady program shows a change in at most that share of
 * all runs.
 */
static inline double gg_changes_since_level(double share, uint64_t look_count)
{
	double k = (double)look_count;

	return share / (2 * k * (k + 1));
}

/* The change of the row with that key, or NULL: the row has no block at either moment. */
const struct gg_change *gg_changes_since_of(const struct gg_changes *changes, uint32_t key);
