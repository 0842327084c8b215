/* SPDX-License-Identifier: Apache-2.0 */
/* rng - random words, and uniform, geometric and exponential numbers. */
#include "stats/sampling/rng.h"

#include "base/assert.h"
#include "base/hash.h"
#include "stats/sampling/elementary.h"
#include "stats/sampling/ziggurat.h"

void gg_rng_seed(struct gg_rng *rng, uint64_t seed, uint64_t stream)
{
	/* gg_hash_integer() is a bijection of its key, so streams of one seed differ in
	 * state[0], and so do seeds of one stream.  The second word breaks the symmetry between
	 * the two. */
	rng->state[0] = gg_hash_integer(stream, seed);
	rng->state[1] = gg_hash_integer(seed + UINT64_C(0x9e3779b97f4a7c15), rng->state[0]);
	if (!gg_rng_is_seeded(rng))
		rng->state[1] = 1;
}

void gg_rng_seed_from_system(struct gg_rng *rng)
{
	gg_rng_seed(rng, gg_hash_random_seed(), gg_hash_random_seed());
}

/*
 * Multiplies and shifts, and rejects the few products that would favor some results (Lemire 2019).
 */
uint64_t gg_rng_below(struct gg_rng *rng, uint64_t bound)
{
	unsigned __int128 product = (unsigned __int128)gg_rng_next(rng) * bound;

	gg_assert(bound >= 1 && gg_rng_is_seeded(rng));
	if ((uint64_t)product < bound) {
		uint64_t threshold = -bound % bound;

		while ((uint64_t)product < threshold)
			product = (unsigned __int128)gg_rng_next(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

/* A uniform number in (0, 1), with a full mantissa even if it is small. */
static double fine_uniform(struct gg_rng *rng)
{
	uint64_t word = gg_rng_next(rng);
	double u = (double)(gg_rng_next(rng) >> 12 | UINT64_C(1) << 52) * 0x1p-53; /* [1/2, 1) */

	for (; word == 0; word = gg_rng_next(rng))
		u *= 0x1p-64;
	for (int zeros = __builtin_clzll(word); zeros > 0; zeros--)
		u /= 2;
	return u;
}

/* True if the point of layer i > 0 at x, at a random height in that layer, is below the curve. */
static bool is_under_curve(struct gg_rng *rng, unsigned i, double x)
{
	double low = 1 + gg_expm1(-0x1p53 * gg_ziggurat[i].width), high = 1;

	if (i + 1 < GG_ZIGGURAT_LAYERS)
		high += gg_expm1(-0x1p53 * gg_ziggurat[i + 1].width);
	return low + gg_rng_uniform(rng) * (high - low) < 1 + gg_expm1(-x);
}

/*
 * Finishes one draw in 45: its point may be above the curve, or is too coarse.  The tail begins
 * beyond the strip of layer 0.  It is r plus another exponential, because the law has no memory, so
 * it has no end.  A point above the curve is discarded, and the draw starts again.
 */
static GG_COLD double slow_exponential(struct gg_rng *rng, uint64_t word)
{
	double start = 0;

	for (;; word = gg_rng_next(rng)) {
		unsigned i = word % GG_ZIGGURAT_LAYERS;
		uint64_t j = word >> 11;
		bool coarse = j < GG_ZIGGURAT_COARSE, inside;
		double fraction = coarse ? fine_uniform(rng) : 0;
		double x = ((double)j + fraction) * gg_ziggurat[i].width;

		inside = coarse ? i + 1 < GG_ZIGGURAT_LAYERS
		                : j - GG_ZIGGURAT_COARSE < gg_ziggurat[i].accept;
		if (inside || (i > 0 && is_under_curve(rng, i, x)))
			return start + x;
		if (i == 0)
			start += GG_ZIGGURAT_TAIL;
	}
}

/* Draws a point below exp(-x): 8 bits of one word choose its layer, 53 bits its place there. */
double gg_rng_exponential(struct gg_rng *rng)
{
	uint64_t word = gg_rng_next(rng), j = word >> 11;
	const struct gg_ziggurat_layer *layer = &gg_ziggurat[word % GG_ZIGGURAT_LAYERS];

	if (gg_likely(j - GG_ZIGGURAT_COARSE < layer->accept))
		return (double)(int64_t)j * layer->width;
	return slow_exponential(rng, word);
}

uint64_t gg_rng_geometric(struct gg_rng *rng, double scale)
{
	double gap = gg_rng_exponential(rng) * scale;

	gg_assert(scale >= 0);
	return gap < 0x1p63 ? (uint64_t)(int64_t)gap : UINT64_C(1) << 63;
}

double gg_rng_geometric_scale(double interval)
{
	return interval > 1 ? -1 / gg_log1p(-1 / interval) : 0;
}
