/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_rows - sums of samples by group, stack, allocation class and fate, which become aggregates
 * of a profile.
 *
 *   struct gg_merge_rows rows = { .out = out, .kinds = &kinds };
 *   struct gg_merge_key key = { .group = group->id, .stack = stack, .fate = GG_MERGE_LIVE };
 *
 *   gg_merge_rows_add(&rows, &key, &sample, error);
 *   gg_merge_rows_write(&rows, error);
 *   gg_merge_rows_done(&rows);
 *
 * Memory   150 bytes for each key.  When there are GG_MERGE_ROWS_MAX, the merge writes all of them
 *          before it reads the next profile.  A key may then occur twice in the result, which does
 *          not change sums.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "format/import/row_sums.h"
#include "format/merge/merge_kinds.h"
#include "profile/profile.h"

enum { GG_MERGE_ROWS_MAX = 1 << 20 };

/* The fate of a block.  For several processes that share it: gg_merge_fate_of_both(). */
enum gg_merge_fate {
	GG_MERGE_FREED,
	GG_MERGE_FREED_LEFT, /* an heir that nobody saw, and that ended, may have left it */
	GG_MERGE_FREED_HELD, /* an heir that nobody saw may hold it at the end (merge_heirs.h) */
	GG_MERGE_LEFT,       /* not freed, and its process ended before the end of its session */
	GG_MERGE_LEFT_HELD,  /* likewise */
	GG_MERGE_LIVE,       /* live at the end of its session (profile/live_at_end.h) */
};

/* The larger one decides, but what an heir may hold of either it may hold of the block. */
static inline enum gg_merge_fate gg_merge_fate_of_both(enum gg_merge_fate a, enum gg_merge_fate b)
{
	enum gg_merge_fate larger = a > b ? a : b, smaller = a > b ? b : a;

	return larger == GG_MERGE_LEFT && smaller == GG_MERGE_FREED_HELD ? GG_MERGE_LEFT_HELD
	                                                                 : larger;
}

/* True if the process that allocated the block has freed it. */
static inline bool gg_merge_fate_is_freed(enum gg_merge_fate fate)
{
	return fate <= GG_MERGE_FREED_HELD;
}

struct gg_merge_key {
	uint32_t group, stack; /* ids of `out` */
	uint32_t kind;         /* a number of merge_kinds.h; 0: nobody knows it */
	enum gg_merge_fate fate;
	bool is_inherited; /* struct gg_profile_aggregate */
	/*
	 * 1 + the size class of samples that were nearly certain (GG_SURE_PROBABILITY); 0: all
	 * others.  A row of mixed sizes does not show which part of it was certain, and the lower
	 * ends of its intervals would rise.
	 */
	uint32_t sure_class;
};

/* One or several samples: their sum, and the properties that a sum may mix. */
struct gg_merge_part {
	struct gg_row_sums sum;
	uint32_t size_class;
	double interval_bytes;
};

struct gg_merge_row {
	struct gg_merge_key key;
	struct gg_merge_part part;
};

struct gg_merge_rows {
	struct gg_profile *out;
	const struct gg_merge_kinds *kinds; /* NULL: all kinds are 0 */
	GG_ARRAY(struct gg_merge_row) rows;
	struct gg_map by_key; /* hash of a key -> index */
};

GG_MUST_CHECK int gg_merge_rows_add(struct gg_merge_rows *rows, const struct gg_merge_key *key,
                                    const struct gg_merge_part *part, struct gg_error *error);
/* Removes one sample from the row that it was added to.  That row must not be written yet. */
void gg_merge_rows_subtract(struct gg_merge_rows *rows, const struct gg_merge_key *key,
                            const struct gg_row_sums *sample);
/* Writes all rows as aggregates, and forgets them. */
GG_MUST_CHECK int gg_merge_rows_write(struct gg_merge_rows *rows, struct gg_error *error);
void gg_merge_rows_done(struct gg_merge_rows *rows);
