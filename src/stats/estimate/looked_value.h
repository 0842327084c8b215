/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looked_value - adds values that were looked up for samples, such as the free memory that their
 * blocks keep, and estimates their sum over all blocks.
 *
 *   const struct gg_looked_value looked = { .chance = 0.2, .value = 120, .value_max = 4080 };
 *
 *   gg_plain_tally_add_value(&tally, &draw, size_bytes, &looked);
 *
 * A block of probability p is a sample, and the look then chooses the sample with the chance c.  So
 * the value f of a chosen block stands for f / (pc), whatever f is (docs/ESTIMATION.md, "Values
 * that were looked up").  The tally's bytes are the sum of the values, and its allocations the
 * number of blocks; gg_interval_of() works for both.
 *
 * Upper ends  f does not follow from the block's size, and no sampling interval bounds it.  One
 *             more sample point may stand for value_max / (pc), which the tally keeps as its
 *             reserve.  A group without samples has no upper end.
 * Threads     Any thread; the functions are pure.
 */
#pragma once

#include <stdint.h>

#include "stats/estimate/plain_tally.h"
#include "stats/sampling/scheme.h"

struct gg_looked_value {
	double chance;    /* of the sample to be chosen by the look, in (0, 1]; 0: unknown */
	double value;     /* >= 0 */
	double value_max; /* the largest value that a block like this one may have */
};

/* Adds one sample that a look chose.  An unknown chance leaves the tally without an interval. */
void gg_plain_tally_add_value(struct gg_plain_tally *plain, const struct gg_draw *draw,
                              uint64_t size_bytes, const struct gg_looked_value *looked);
void gg_tally_add_value(struct gg_tally *tally, const struct gg_draw *draw, uint64_t size_bytes,
                        const struct gg_looked_value *looked);
