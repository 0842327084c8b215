/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng - generates random numbers for the samplers: uniform, exponential, and geometric.
 *
 * The generator is xoroshiro128++ (Blackman & Vigna, "Scrambled linear pseudorandom number
 * generators", ACM Trans. Math. Softw. 47, 2021).  It has 128 bits of state, a period of 2^128 - 1,
 * and needs a handful of instructions; all 64 bits of its output are good.  It is not for secrets.
 *
 * Seeds     The same seed and stream give the same numbers on every machine.  Streams are for
 *           threads: different streams of one seed start at different states.  The probability that
 *           two of n threads ever meet within m numbers each is n^2 m / 2^128.
 * Lifetime  All-zero means "not seeded"; the generator never reaches that state.  A forked child
 *           has its parent's state and must seed anew.
 * Cost      bench_stats compares it with libm.
 * Threads   One thread owns a generator; there are no atomics.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct gg_rng {
	uint64_t state[2]; /* not both 0, once seeded */
};

/* Starts stream `stream` of `seed`. */
void gg_rng_seed(struct gg_rng *rng, uint64_t seed, uint64_t stream);

/* Starts at a state that the system's generator chooses. */
GG_COLD void gg_rng_seed_from_system(struct gg_rng *rng);

static inline bool gg_rng_is_seeded(const struct gg_rng *rng)
{
	return (rng->state[0] | rng->state[1]) != 0;
}

static inline uint64_t gg_rng_rotate_left(uint64_t word, int count)
{
	return word << count | word >> (64 - count);
}

/* Returns the next 64 bits. */
static inline uint64_t gg_rng_next(struct gg_rng *rng)
{
	uint64_t a = rng->state[0], b = rng->state[1];
	uint64_t result = gg_rng_rotate_left(a + b, 17) + a;

	b ^= a;
	rng->state[0] = gg_rng_rotate_left(a, 49) ^ b ^ b << 21;
	rng->state[1] = gg_rng_rotate_left(b, 28);
	return result;
}

/* Returns a multiple of 2^-53 in [0, 1). */
static inline double gg_rng_uniform(struct gg_rng *rng)
{
	return (double)(gg_rng_next(rng) >> 11) * 0x1p-53;
}

/* Returns an integer in [0, bound), all equally likely; bound >= 1. */
uint64_t gg_rng_below(struct gg_rng *rng, uint64_t bound);

/*
 * Returns an exponential number with mean 1 and a full tail.  P(draw > t) is exp(-t) to a relative
 * 1e-9 or better for every t that can occur; the granularity of a draw is everywhere below 2^-30 of
 * it.  The ziggurat (ziggurat.h) needs no logarithm: in bench_stats it takes half the time of
 * libm's log, and a third of the time of gg_log().
 */
double gg_rng_exponential(struct gg_rng *rng);

/*
 * Returns the number of bytes before the next sample point, if each byte is one with probability q:
 * floor(ln(1-u) / ln(1-q)), computed as floor(scale * exponential) with scale = -1/ln(1-q)
 * (gg_rng_geometric_scale).  With a scale of R, these are the whole bytes before the next sample
 * point of a Poisson process with that mean interval.  The result is at most 2^63, which stands for
 * everything beyond.
 */
uint64_t gg_rng_geometric(struct gg_rng *rng, double scale);

/*
 * Returns -1/ln(1 - 1/interval); 0 for an interval of 1 or less, where every byte is a sample
 * point.
 */
double gg_rng_geometric_scale(double interval);
