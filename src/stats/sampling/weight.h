/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight - computes the weight of one sample: 1/p allocations and size/p bytes, with their
 * variances.  Only this module turns a draw into numbers, for the agent and the analysis alike.
 */
#pragma once

#include <stdint.h>

#include "stats/sampling/scheme.h"

struct gg_weight {
	double probability;    /* p of an allocation of that size, under the scheme of the draw */
	double count;          /* allocations that the sample stands for */
	double count_variance; /* allocations^2 */
	double bytes;          /* count * size */
	double bytes_variance; /* bytes^2 */
};

/* For valid draws (gg_draw_is_valid()).  Other draws with values below 2^103 get a number, not
 * NaN. */
struct gg_weight gg_weight_of(const struct gg_draw *draw, uint64_t size_bytes);

/*
 * Weights of the last draws whose count depends on the mean number x of sample points alone, by x.
 * A process has few x: one for each size class, or for each size.  All-zero: it is empty.
 */
enum { GG_WEIGHT_CACHE_PLACES = 128 };
struct gg_weight_cache {
	struct gg_weight_cache_entry {
		double x; /* 0: none */
		double probability, count, count_variance;
	} places[GG_WEIGHT_CACHE_PLACES];
};

/* gg_weight_of() by a cache, with the same result to the last bit. */
struct gg_weight gg_weight_of_cached(const struct gg_draw *draw, uint64_t size_bytes,
                                     struct gg_weight_cache *cache);

/*
 * The length from which poisson-count takes every allocation: the least length >= R ln 100, at
 * which the probability of covering a sample point is at least 99 %.  Saturates at 2^63.
 */
uint64_t gg_weight_cutoff_bytes(double interval_bytes);
