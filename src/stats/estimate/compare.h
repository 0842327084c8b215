/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare - computes differences of two independent profiles, and which of many differences are
 * significant.
 *
 *   struct gg_difference d = gg_difference_of(&before, &after, GG_BYTES, 1, 0.95);
 *   printf("%+g (%+g..%+g), p = %g\n", d.value, d.low, d.high, d.p_value);
 *
 * Interval  By the method of variance estimates recovery (Zou & Donner, Stat. Med. 27 (2008) 1693),
 *           from the intervals [l, u] of each side (interval.h):
 *
 *     low  = d - sqrt((after - l_after)^2 + (u_before - before)^2)
 *     high = d + sqrt((u_after - after)^2 + (before - l_before)^2)
 *
 * For large groups this is the sum of the variances.  For small ones it has the skew of each side,
 * and it works if one of them has no sample.
 *
 * p-value  The smallest a for which the interval with confidence 1 - a excludes 0, so the two never
 *          contradict each other.  It is two-sided.  If nothing changed, P(p <= a) is at most a,
 *          down to a = 1e-5 and below (test_stats_compare has the exact sums).  The conditional
 *          binomial test on the samples is never more powerful.
 * Threads  Any thread; the functions are pure and do not allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/estimate/tally.h"

struct gg_difference {
	double value; /* after - scale * before, of the estimates */
	double low, high;
	/*
	 * The p-value of "nothing changed"; 0 if it is below GG_P_VALUE_LEAST.  It is NaN, with low
	 * = -INFINITY and high = INFINITY, if the error of either side is unknown, or if samples of
	 * either side were dropped (tally.h, `incomplete`).  If samples may or may not belong to a
	 * side, the interval and the p-value hold in either case.
	 */
	double p_value;
};

/* Smaller p-values become 0, because a double cannot tell a confidence of 1 - p from 1. */
#define GG_P_VALUE_LEAST 1e-12

/*
 * Computes the difference of two groups.  `scale` multiplies `before`, for runs of different length
 * or load; 1 compares the runs as they were.  scale > 0, finite.  0 < confidence < 1.
 *
 * For allocations of a side without a sample, the function assumes that unseen ones are no smaller
 * than the smallest sample of the other side: no sample gives information about smaller ones.
 */
struct gg_difference gg_difference_of(const struct gg_tally *before, const struct gg_tally *after,
                                      enum gg_quantity quantity, double scale, double confidence);

/*
 * True if the p-value of gg_difference_of() is certainly above `limit`; then *ret_value is the
 * difference.  False if it is not, or if that is not known.  It costs a tenth of the p-value.
 */
bool gg_difference_p_exceeds(const struct gg_tally *before, const struct gg_tally *after,
                             enum gg_quantity quantity, double scale, double limit,
                             double *ret_value);

/*
 * Computes the false discovery rate (Benjamini & Hochberg 1995).  Turns each p-value into q, the
 * least rate at which its row is among the discoveries: of the rows with q <= 0.05, on average at
 * most 5 % are false, if the rows are independent or positively dependent.  NaN ("not tested")
 * stays NaN and does not count.
 *
 * `order` has room for `count` indices; the function fills it with the tested rows by ascending
 * p-value.  Returns the number of tested rows.  O(n log n).
 */
size_t gg_false_discovery(double *p_values, size_t count, size_t *order);
