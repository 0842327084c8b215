/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rng.h"

#include "base/hash.h"
#include "stats/elementary.h"

void gg_rng_seed(struct gg_rng *rng, uint64_t seed, uint64_t stream)
{
	/* gg_hash_integer is a bijection of its key: streams of one seed differ in state[0], seeds
	 * of one stream too.  The second word breaks the symmetry between the two. */
	rng->state[0] = gg_hash_integer(stream, seed);
	rng->state[1] = gg_hash_integer(seed + UINT64_C(0x9e3779b97f4a7c15), rng->state[0]);
	if (!gg_rng_is_seeded(rng))
		rng->state[1] = 1;
}

void gg_rng_seed_from_system(struct gg_rng *rng)
{
	gg_rng_seed(rng, gg_hash_random_seed(), gg_hash_random_seed());
}

/* Multiply and shift, and reject the few products that would favour some results (Lemire 2019). */
uint64_t gg_rng_below(struct gg_rng *rng, uint64_t bound)
{
	unsigned __int128 product = (unsigned __int128)gg_rng_next(rng) * bound;

	if ((uint64_t)product < bound) {
		uint64_t threshold = -bound % bound;

		while ((uint64_t)product < threshold)
			product = (unsigned __int128)gg_rng_next(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

/* Number of zero bits before the first one bit in an endless random stream that starts with word. */
static int leading_zeros(struct gg_rng *rng, uint64_t word)
{
	int count = 0;

	for (; word == 0; word = gg_rng_next(rng))
		count += 64;
	return count + __builtin_clzll(word);
}

/* Uniform in (0, 1) with a full mantissa however small it is. */
static double fine_uniform(struct gg_rng *rng)
{
	int zeros = leading_zeros(rng, gg_rng_next(rng));
	double mantissa = (double)(gg_rng_next(rng) >> 12 | UINT64_C(1) << 52) * 0x1p-53;

	for (; zeros > 0; zeros--)
		mantissa /= 2;
	return mantissa;
}

enum {
	/* Below so many zero bits the rest of the word has 52 or more. */
	ZEROS_MANY = 12,
	/* v below 2^-22 has a grain coarser than 1e-9. */
	FINE_BITS = 22
};

/* The rest of a draw for 1 word in 4000: not enough random bits left, or v too small for them. */
static GG_COLD double fine_exponential(struct gg_rng *rng, uint64_t word)
{
	int zeros = leading_zeros(rng, word);
	double v = fine_uniform(rng);

	if (zeros < ZEROS_MANY)
		v *= 1. / (1 << FINE_BITS); /* why it came here */
	return zeros * (GG_LN2_HIGH + GG_LN2_LOW) - gg_log1p(-v / 2);
}

/*
 * u = 2^-zeros (1 - v/2): the leading zero bits of a random word give the power of two, the bits
 * after its first one bit give v in (0, 1), a half bit added so that it is never 0.  Then
 *
 *   -ln(u) = zeros ln 2 - ln(1 - v/2)
 *
 * has no end (zeros goes on in further words) and no cancellation near 0 (v is exact).  For the
 * kernel, 1 - v/2 below sqrt(1/2) is doubled and the power taken back.
 */
double gg_rng_exponential(struct gg_rng *rng)
{
	uint64_t word = gg_rng_next(rng), bits;
	int zeros = __builtin_clzll(word | 1);
	double f, power = -zeros;

	bits = word << zeros << 1;
	if (gg_unlikely(zeros >= ZEROS_MANY || bits >> (64 - FINE_BITS) == 0))
		return fine_exponential(rng, word);
	f = -((double)(bits >> 12) + 0.5) * 0x1p-53;
	if (f < -0.2929) {
		f = 1 + 2 * f;
		power -= 1;
	}
	return -gg_log_kernel(power, f, 0);
}

uint64_t gg_rng_geometric(struct gg_rng *rng, double scale)
{
	double gap = gg_rng_exponential(rng) * scale;

	return gap < 0x1p63 ? (uint64_t)gap : UINT64_C(1) << 63;
}

double gg_rng_geometric_scale(double interval)
{
	return interval > 1 ? -1 / gg_log1p(-1 / interval) : 0;
}
