/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheme - defines how allocations are chosen, and the record of each choice.
 *
 *   scheme           an allocation of length L is a sample if                 p(L)
 *   poisson          a point of a Poisson process falls on it                 1 - exp(-L/R)
 *   bernoulli        one of L coins shows heads, each with q = 1/R            1 - (1-q)^L
 *   poisson-count    as poisson, and its sample points are counted; from the  1 - exp(-L/R), or
 *                    99 % cutoff on (L >= R ln 100) it is always taken        1 from the cutoff on
 *   stride           one of the points R bytes apart falls on it              min(1, L/R)
 *   per-allocation   a coin with 1/R shows heads                              1/R
 *   optimal          as poisson, with an interval R of its size class         1 - exp(-L/R)
 *
 * R is the sampling interval.  The length of an allocation is its part of the stream on which
 * sample points fall: max(size, 1).  So even a zero-size allocation has a chance.  For all other
 * allocations length and size are equal, so published formulas, dumps of other profilers, and "R
 * bytes a point" hold without a correction.  (Length = size + 1 would cost the same one
 * instruction, and shift each of these by the number of allocations.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/*
 * The sampling interval of the agent, libgeiger, recordings, and the laboratory, unless the user
 * chooses another one.
 */
enum { GG_DEFAULT_INTERVAL_BYTES = 512 * 1024 };

/* Files hold these numbers: never renumber. */
enum gg_scheme {
	GG_SCHEME_POISSON,
	GG_SCHEME_BERNOULLI,
	GG_SCHEME_POISSON_COUNT,
	GG_SCHEME_STRIDE,
	GG_SCHEME_PER_ALLOCATION,
	GG_SCHEME_OPTIMAL,
};

#define GG_SCHEME_COUNT (GG_SCHEME_OPTIMAL + 1)

/*
 * The scheme of a process in which every allocation was counted.  No sampler draws by it, and no
 * sample has it.
 */
#define GG_SCHEME_EXACT ((enum gg_scheme)16)

/*
 * The scheme of samples that another sampler drew, and which is known not to keep to poisson by an
 * unknown amount.  They are weighed as by poisson, and no sum with one of them has a confidence
 * interval.  No sampler of ours draws by it.
 */
#define GG_SCHEME_BIASED ((enum gg_scheme)6)

/*
 * How one sample was drawn.  It is recorded with the sample, and together with the size it gives
 * the probability and the weights (gg_weight_of()).  So a later change of interval or scheme does
 * not affect samples that exist.
 */
struct gg_draw {
	/*
	 * The mean sampling interval of the draw: in bytes, or for per-allocation in allocations.
	 * 1 takes every allocation.  Optimal has the interval of the size class, and 0 if p is 1.
	 */
	double sampling_interval;
	/* Bytes of the allocation before its first sample point; 0 for per-allocation, and for
	 * poisson-count from the cutoff on, which need no point. */
	uint64_t offset_bytes;
	/* Sample points on it; 1 unless the scheme counts them (poisson-count, stride). */
	uint32_t sample_point_count;
	enum gg_scheme scheme;
};

/* Returns the length of the stream that an allocation of size_bytes takes. */
static inline uint64_t gg_length_bytes(uint64_t size_bytes)
{
	return size_bytes + (size_bytes == 0);
}

/*
 * Returns how many sample points an allocation covers, if they are `interval` bytes apart and the
 * first is at offset < length.
 */
static inline uint64_t gg_stride_sample_point_count(uint64_t offset, uint64_t length,
                                                    uint64_t interval)
{
	return 1 + (length - 1 - offset) / interval;
}

/*
 * Returns the name in options, reports, and files, such as "poisson-count"; NULL if it is not a
 * scheme.
 */
const char *gg_scheme_name(enum gg_scheme scheme);

/*
 * Finds the scheme of that name, of those that our samplers have.  Returns 0, or -EINVAL with
 * *ret_scheme untouched.
 */
GG_MUST_CHECK int gg_scheme_parse(const char *name, enum gg_scheme *ret_scheme);

/*
 * True if a sampler can have made this draw.  Readers of files check this before they weigh a
 * sample.
 */
bool gg_draw_is_valid(const struct gg_draw *draw);
