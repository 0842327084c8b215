/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare - differences of two independent profiles, and which of many differences are significant.
 *
 *   struct gg_difference d = gg_difference_of(&before, &after, GG_BYTES, 1, 0.95);
 *   printf("%+g (%+g..%+g), p = %g\n", d.value, d.low, d.high, d.p_value);
 *
 * Interval  by the method of variance estimates recovery (Zou & Donner, Stat. Med. 27 (2008) 1693),
 *           from the intervals [l, u] of each side (interval.h):
 *             low  = d - sqrt((after - l_after)^2 + (u_before - before)^2)
 *             high = d + sqrt((u_after - after)^2 + (before - l_before)^2)
 *           For large groups that is the sum of the variances; for small ones it has the skew of
 *           each side, and works with no sample on one of them.
 * p-value   the smallest a for which the interval with confidence 1 - a does not hold 0: so the two
 *           never contradict each other.  Two-sided.  Under "nothing changed" P(p <= a) is at most
 *           a, down to a = 1e-5 and below (test_stats_compare has the exact sums); the conditional
 *           binomial test on the samples is never more powerful.
 * Threads   any; pure; no allocation.
 */
#pragma once

#include <stddef.h>

#include "stats/estimate/tally.h"

struct gg_difference {
	double value; /* after - scale * before, of the estimates */
	double low, high;
	/*
	 * That nothing changed; below GG_P_VALUE_LEAST: 0.  NaN where the error of either side is not
	 * known, or where samples of either side were dropped (tally.h, `incomplete`): then low is
	 * -INFINITY, high INFINITY.  Where samples may belong to a side or not, the interval and the
	 * p-value hold for whichever of them do.
	 */
	double p_value;
};

/* Smaller p-values are given as 0: a confidence of 1 - p could not be told from 1. */
#define GG_P_VALUE_LEAST 1e-12

/*
 * scale: what `before` is multiplied by, for runs of different length or load; 1 compares the runs
 * as they were.  scale > 0, finite.  0 < confidence < 1.
 *
 * Allocations where one side has no sample: it is assumed that unseen ones there would be no
 * smaller than the smallest sampled on the other side (no sample says anything on smaller ones).
 */
struct gg_difference gg_difference_of(const struct gg_tally *before, const struct gg_tally *after,
                                      enum gg_quantity quantity, double scale, double confidence);

/*
 * False discovery rate (Benjamini & Hochberg 1995).  Turns each p-value into the least rate at which
 * its row is among the discoveries: of the rows with q <= 0.05, at most 5 % are false on average,
 * if the rows are independent or positively dependent.  NaN ("not tested") stays NaN and does not
 * count.
 *
 * order: room for `count` indices, the caller's; filled with the tested rows by ascending p-value.
 * Returns how many rows were tested.  O(n log n).
 */
size_t gg_false_discovery(double *p_values, size_t count, size_t *order);
