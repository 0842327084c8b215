/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight - what one sample stands for: 1/p allocations and size/p bytes, with their variances.
 *
 * Only this module turns a draw into numbers, for the agent's totals and for readers alike.  Weigh
 * each sample first, then add up: sums of weights are unbiased, even over samples with different
 * intervals and schemes, and so are the sums of variances.
 *
 *   struct gg_weight w = gg_weight_of(&draw, size_bytes);
 *   live_bytes += w.bytes, live_bytes_variance += w.bytes_variance;
 *
 * Variances    each is the sample's share in an unbiased estimate of the variance of the sum:
 *              (1-p)/p^2 allocations^2 (Horvitz & Thompson 1952), 0 where p is 1.  For stride it
 *              assumes that each allocation meets the sample points at a random phase.  In truth
 *              the points depend on each other, and no sample tells how (docs/ESTIMATION.md).
 * Accuracy     relative error below 1e-14, of variances below 2e-13 (test_stats_weight).
 * Zero size    stands for allocations, and for 0 bytes.
 * Threads      any; the functions are pure, and need no library but libc.
 */
#pragma once

#include <stdint.h>

#include "stats/sampling/scheme.h"

struct gg_weight {
	double probability;    /* p of an allocation of that size, under that draw's scheme */
	double count;          /* allocations that the sample stands for */
	double count_variance; /* allocations^2 */
	double bytes;          /* count * size */
	double bytes_variance; /* bytes^2 */
};

/* For valid draws (gg_draw_is_valid()).  Other draws with values below 2^103 get a number, not
 * NaN. */
struct gg_weight gg_weight_of(const struct gg_draw *draw, uint64_t size_bytes);

/*
 * The length from which poisson-count takes every allocation: the least length >= R ln 100, at
 * which the probability of covering a sample point is at least 99 %.  Saturates at 2^63.
 */
uint64_t gg_weight_cutoff_bytes(double interval_bytes);
