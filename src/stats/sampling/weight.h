/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight - what one sample stands for: 1/p allocations and size/p bytes, with their variances.
 *
 * The one place that turns a draw into numbers, for the agent's totals and for readers alike.
 * Weigh each sample first, then add up: sums of weights are unbiased, also over samples that were
 * drawn with different intervals and schemes, and so are the sums of variances.
 *
 *   struct gg_weight w = gg_weight_of(&draw, size_bytes);
 *   live_bytes += w.bytes, live_bytes_variance += w.bytes_variance;
 *
 * Variances    each is the sample's share in an unbiased estimate of the variance of the sum:
 *              (1-p)/p^2 allocations^2 (Horvitz & Thompson 1952), 0 where p is 1.  For stride it
 *              is what it would be if each allocation met the marks at a random phase; its own
 *              marks depend on each other, and no sample tells how (docs/ESTIMATION.md).
 * Accuracy     relative error below 1e-14, of variances below 2e-13 (test_stats_weight).
 * Zero size    stands for allocations, and for 0 bytes.
 * Threads      any; pure.  Links to libc alone.
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

/* For valid draws (gg_draw_is_valid).  Others get a number too, not NaN, if below 2^103. */
struct gg_weight gg_weight_of(const struct gg_draw *draw, uint64_t size_bytes);

/*
 * The length from which poisson-count takes an allocation as it is: the least one with
 * length >= R ln 100, whose chance of covering a mark is 99 % or more.  Saturates at 2^63.
 */
uint64_t gg_weight_cutoff_bytes(double interval_bytes);
