/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leak_types - divides the live memory of a leak's row by the type of the object.
 *
 *   struct gg_type_sums sums;
 *   struct gg_tally *tally;
 *
 *   if (gg_type_sums_init(&sums, model->type_count, interval_bytes) < 0)
 *           return -ENOMEM;
 *   if ((tally = gg_type_sums_find(&sums, type)) != NULL)
 *           gg_tally_add(tally, &sample->draw, sample->size_bytes);
 *   if (gg_type_sums_take(&sums, 0.95, false, &types, &type_count) < 0)
 *           return -ENOMEM;
 *   gg_type_sums_done(&sums);
 *
 * One set of sums serves all rows in turn: _take() returns the types of one row and empties the
 * sums.  A row may also have memory of type 0, "[no type]": its heap names no types, or nobody
 * could tell the type of that block.
 *
 * Cost      a look-up in an array for each sample; 450 bytes for each type of one row.
 * Threads   one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "stats/estimate/tally.h"

/* The live memory of one type in a row. */
struct gg_leak_type {
	uint32_t type; /* of the model; 0: no type is known */
	uint64_t sample_count;
	double live_bytes, low_bytes, high_bytes; /* high INFINITY: no bound */
};

struct gg_type_sum {
	uint32_t type;
	struct gg_tally tally;
};

struct gg_type_sums {
	GG_ARRAY(struct gg_type_sum) sums; /* of the types that the row has */
	uint32_t *places; /* index in `sums` plus 1, by type; 0: the row lacks the type */
	double interval_bytes;
};

/* -ENOMEM: then nothing needs _done(). */
GG_MUST_CHECK int gg_type_sums_init(struct gg_type_sums *ret_sums, size_t type_count,
                                    double interval_bytes);
void gg_type_sums_done(struct gg_type_sums *sums);

/* The tally of a type, until the next call.  NULL: memory is out. */
struct gg_tally *gg_type_sums_find(struct gg_type_sums *sums, uint32_t type);

/*
 * The types of the row, the largest first.  The caller frees *ret_types, which is NULL for a row
 * without samples.  is_incomplete: there are no upper bounds.
 */
GG_MUST_CHECK int gg_type_sums_take(struct gg_type_sums *sums, double confidence,
                                    bool is_incomplete, struct gg_leak_type **ret_types,
                                    size_t *ret_count);
