/* SPDX-License-Identifier: Apache-2.0 */
/* weight - computes weights and variances of samples for each scheme. */
#include "stats/sampling/weight.h"

#include <math.h> /* INFINITY; nothing that libm would have to provide */

#include <string.h>

#include "stats/sampling/elementary.h"

#define LN_100 0x1.26bb1bbb55516p+2

uint64_t gg_weight_cutoff_bytes(double interval_bytes)
{
	double cutoff = interval_bytes * LN_100;
	uint64_t whole;

	if (!(cutoff > 1))
		return 1;
	if (cutoff >= 0x1p63)
		return UINT64_C(1) << 63;
	whole = (uint64_t)cutoff;
	return whole + ((double)whole < cutoff);
}

/*
 * The mean number x of sample points on an allocation, with p = 1 - exp(-x); INFINITY where p is 1.
 * An interval of 1 (or less, which no sampler draws) decides first: otherwise exp(-1) of all
 * one-byte allocations would be lost.
 */
static double mean_sample_points(const struct gg_draw *draw, double length)
{
	double interval = draw->sampling_interval;

	if (draw->scheme == GG_SCHEME_OPTIMAL)
		return interval > 0 ? length / interval : INFINITY;
	if (!(interval > 1))
		return INFINITY;
	if (draw->scheme == GG_SCHEME_BERNOULLI)
		return -gg_log1p(-1 / interval) * length;
	return length / interval;
}

/*
 * Weighs an allocation that either is a sample or is not: the count is 1/p, and its variance
 * (1-p)/p^2.  Both are computed from the odds against it, 1/(e^x - 1), so that no digits are lost
 * where p is close to 0 or 1.
 */
static void weigh_by_inclusion(double x, struct gg_weight *weight)
{
	weight->probability = -gg_expm1(-x);
	weight->count = 1 / weight->probability;
	weight->count_variance = weight->count / gg_expm1(x);
}

/*
 * Weighs n sample points where x are expected: n/x allocations.  n is a Poisson number, so n/x^2
 * has the mean 1/x, which is the variance of n/x.
 */
static void weigh_by_count(const struct gg_draw *draw, double x, struct gg_weight *weight)
{
	weight->probability = -gg_expm1(-x);
	weight->count = draw->sample_point_count / x;
	weight->count_variance = weight->count / x;
}

/*
 * Weighs sample points at a fixed distance and a random phase: n is x rounded down or up, and up
 * with probability x - floor(x).  The samples share the variance: each has 1/p of it.
 */
static void weigh_by_stride(const struct gg_draw *draw, double x, uint64_t length,
                            struct gg_weight *weight)
{
	double up = x < 0x1p53 ? x - (double)(uint64_t)x : 0;
	uint64_t points = draw->sample_point_count;

	if (points == UINT32_MAX && draw->offset_bytes < length && draw->sampling_interval < 0x1p63)
		points = gg_stride_sample_point_count(draw->offset_bytes, length,
		                                      (uint64_t)draw->sampling_interval);
	weight->probability = x < 1 ? x : 1;
	weight->count = (double)points / x;
	weight->count_variance = up * (1 - up) / (x * x) / weight->probability;
}

static void weigh_by_coin(double interval, struct gg_weight *weight)
{
	weight->count = interval > 1 ? interval : 1;
	weight->probability = 1 / weight->count;
	weight->count_variance = weight->count * (weight->count - 1);
}

/*
 * The place of x: its power of two, its next three bits, rounded, and its last two.  The sizes of a
 * class have the same x, but for rounding in the last bits.
 */
static struct gg_weight_cache_entry *place_of(struct gg_weight_cache *cache, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits = (bits + (UINT64_C(1) << 48)) >> 49 << 2 | (bits & 3);
	return &cache->places[bits % GG_WEIGHT_CACHE_PLACES];
}

static void weigh_by_inclusion_cached(double x, struct gg_weight_cache *cache,
                                      struct gg_weight *weight)
{
	struct gg_weight_cache_entry *entry = place_of(cache, x);

	if (entry->x != x) {
		weigh_by_inclusion(x, weight);
		*entry = (struct gg_weight_cache_entry){ x, weight->probability, weight->count,
			                                 weight->count_variance };
	}
	weight->probability = entry->probability;
	weight->count = entry->count;
	weight->count_variance = entry->count_variance;
}

struct gg_weight gg_weight_of(const struct gg_draw *draw, uint64_t size_bytes)
{
	return gg_weight_of_cached(draw, size_bytes, NULL);
}

struct gg_weight gg_weight_of_cached(const struct gg_draw *draw, uint64_t size_bytes,
                                     struct gg_weight_cache *cache)
{
	struct gg_weight weight = { .probability = 1, .count = 1 };
	uint64_t length_bytes = gg_length_bytes(size_bytes);
	double size = (double)size_bytes, x = mean_sample_points(draw, (double)length_bytes);

	if (draw->scheme == GG_SCHEME_PER_ALLOCATION)
		weigh_by_coin(draw->sampling_interval, &weight);
	else if (x == INFINITY)
		; /* it is taken for certain, and stands for itself */
	else if (draw->scheme == GG_SCHEME_STRIDE)
		weigh_by_stride(draw, x, length_bytes, &weight);
	else if (draw->scheme != GG_SCHEME_POISSON_COUNT && cache != NULL)
		weigh_by_inclusion_cached(x, cache, &weight);
	else if (draw->scheme != GG_SCHEME_POISSON_COUNT)
		weigh_by_inclusion(x, &weight);
	else if (length_bytes < gg_weight_cutoff_bytes(draw->sampling_interval))
		weigh_by_count(draw, x, &weight);
	weight.bytes = size * weight.count;
	weight.bytes_variance = size * size * weight.count_variance;
	return weight;
}
