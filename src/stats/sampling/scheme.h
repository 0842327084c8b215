/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheme - how allocations are chosen, and what is kept of each choice.
 *
 *   scheme           an allocation of length L is a sample if                 p(L)
 *   poisson          a mark of a Poisson process falls on it                  1 - exp(-L/R)
 *   bernoulli        one of L coins falls on "mark", each with q = 1/R        1 - (1-q)^L
 *   poisson-count    as poisson, and the marks on it are counted; from the    1 - exp(-L/R), or
 *                    99 % cutoff on (L >= R ln 100) it is always taken        1 from the cutoff on
 *   stride           one of the marks R bytes apart falls on it               min(1, L/R)
 *   per-allocation   a coin with 1/R falls on "mark"                          1/R
 *   optimal          as poisson, with an interval R of its size class         1 - exp(-L/R)
 *
 * R is the sampling interval.  Lengths are bytes on the stream that marks fall on: max(size, 1).
 * So a zero-size allocation has a chance too, and for all others length and size are one number:
 * published formulas, other people's dumps and R bytes a mark hold as they are.  (Size + 1 for
 * everything would cost the same one instruction, and bend each of those by the number of
 * allocations.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* In files: never renumber. */
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
 * How one sample was drawn: recorded with it; p and weights follow from it and the size
 * (gg_weight_of), so a later change of interval or scheme never touches samples already taken.
 */
struct gg_draw {
	/*
	 * The mean sampling interval that the mark was drawn with: bytes, allocations for
	 * per-allocation.  1 is every allocation.  For optimal that of the size class,
	 * 0 where p is 1.
	 */
	double interval;
	/* Bytes of the allocation before its first mark; 0 where marks are not on bytes
	 * (per-allocation) or none was needed (poisson-count from the cutoff on). */
	uint64_t offset_bytes;
	uint32_t
		sample_point_count; /* on the allocation; 1 unless the scheme counts (poisson-count, stride) */
	enum gg_scheme scheme;
};

/* What an allocation of size_bytes takes of the stream that marks fall on. */
static inline uint64_t gg_length_bytes(uint64_t size_bytes)
{
	return size_bytes + (size_bytes == 0);
}

/* Marks `interval` bytes apart on an allocation whose first one is at offset; offset < length. */
static inline uint64_t gg_stride_sample_point_count(uint64_t offset, uint64_t length,
                                                    uint64_t interval)
{
	return 1 + (length - 1 - offset) / interval;
}

/* The name in options, reports and files, such as "poisson-count"; NULL if it is not a scheme. */
const char *gg_scheme_name(enum gg_scheme scheme);

/* The scheme of that name.  0, or -EINVAL with *ret_scheme untouched. */
GG_MUST_CHECK int gg_scheme_parse(const char *name, enum gg_scheme *ret_scheme);

/* Can a sampler have drawn it?  Readers of files ask before they weigh a sample. */
bool gg_draw_is_valid(const struct gg_draw *draw);
