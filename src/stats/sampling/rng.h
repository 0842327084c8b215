/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng - random numbers for the samplers: uniform, exponential and geometric.
 *
 * The generator is xoroshiro128++ (Blackman & Vigna, "Scrambled linear pseudorandom number
 * generators", ACM Trans. Math. Softw. 47, 2021): 128 bits of state, period 2^128 - 1, a handful of
 * instructions, all 64 bits of its output good.  Not for secrets.
 *
 * Seeds     the same seed and stream give the same numbers, on every machine.  Streams are for
 *           threads: different streams of one seed start at different states, and that two of n
 *           threads ever meet within m numbers each has probability n^2 m / 2^128.
 * Lifetime  all-zero is "not seeded" (the generator never reaches it).  A forked child has its
 *           parent's state and must seed anew.
 * Cost      beside libm's path in bench_stats.
 * Threads   owned by one thread; no atomics.
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

/* Starts at a place that the system's generator chooses. */
GG_COLD void gg_rng_seed_from_system(struct gg_rng *rng);

static inline bool gg_rng_is_seeded(const struct gg_rng *rng)
{
	return (rng->state[0] | rng->state[1]) != 0;
}

static inline uint64_t gg_rng_rotate_left(uint64_t word, int count)
{
	return word << count | word >> (64 - count);
}

/* The next 64 bits. */
static inline uint64_t gg_rng_next(struct gg_rng *rng)
{
	uint64_t a = rng->state[0], b = rng->state[1];
	uint64_t result = gg_rng_rotate_left(a + b, 17) + a;

	b ^= a;
	rng->state[0] = gg_rng_rotate_left(a, 49) ^ b ^ b << 21;
	rng->state[1] = gg_rng_rotate_left(b, 28);
	return result;
}

/* A multiple of 2^-53 in [0, 1). */
static inline double gg_rng_uniform(struct gg_rng *rng)
{
	return (double)(gg_rng_next(rng) >> 11) * 0x1p-53;
}

/* An integer in [0, bound), all equally likely; bound >= 1. */
uint64_t gg_rng_below(struct gg_rng *rng, uint64_t bound);

/*
 * Exponential with mean 1, of a full tail: P(draw > t) is exp(-t) for every t that can be seen, to
 * a relative 1e-9 and better (the grain of a draw is below 2^-30 of it, everywhere).  By the
 * ziggurat (ziggurat.h), which takes no logarithm: measured in bench_stats, at half the time of
 * libm's log and a third of a logarithm of our own.
 */
double gg_rng_exponential(struct gg_rng *rng);

/*
 * How many bytes a mark with probability q each comes after: floor(ln(1-u) / ln(1-q)), as
 * floor(scale * exponential), scale = -1/ln(1-q) (gg_rng_geometric_scale).  With a scale of R it is
 * the whole bytes before the next mark of a Poisson process of that mean interval.  At most 2^63,
 * which stands for everything beyond.
 */
uint64_t gg_rng_geometric(struct gg_rng *rng, double scale);

/* -1/ln(1 - 1/interval): 0 (every byte a mark) for an interval of 1 or less. */
double gg_rng_geometric_scale(double interval);
