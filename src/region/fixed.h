/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed - sums of weights that add and subtract exactly.
 *
 * A weight is a double; sums of doubles depend on the order of the additions, so "allocated minus
 * freed is what is live" could only be checked within a tolerance that grows with the run.  Here
 * each weight is rounded once, to a multiple of 2^-20, and added up in 128 bits.  The sums are then
 * independent of order, thread and folding, and the equation holds to the last bit.
 *
 * Rounding  at most 2^-21 a sample, downwards or upwards alike: of a count (>= 1) under 5e-7 of it.
 * Range     a term is cut at 2^100; the largest that a sampler draws with an interval of 2^48 bytes
 *           is a variance of 2^96 bytes^2.  A sum wraps at 2^108; differences stay right even then.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "stats/sampling/weight.h"

enum {
	GG_FIXED_SHIFT = 20, /* fraction bits */
	GG_FIXED_TERM_BITS = 100
};

/* value * 2^20 as two words, two's complement, the low one first: fixed in the file format. */
struct gg_fixed {
	uint64_t low, high;
};

static inline unsigned __int128 gg_fixed_wide(struct gg_fixed a)
{
	return (unsigned __int128)a.high << 64 | a.low;
}

static inline struct gg_fixed gg_fixed_narrow(unsigned __int128 wide)
{
	return (struct gg_fixed){ .low = (uint64_t)wide, .high = (uint64_t)(wide >> 64) };
}

static inline struct gg_fixed gg_fixed_add(struct gg_fixed a, struct gg_fixed b)
{
	return gg_fixed_narrow(gg_fixed_wide(a) + gg_fixed_wide(b));
}

static inline struct gg_fixed gg_fixed_sub(struct gg_fixed a, struct gg_fixed b)
{
	return gg_fixed_narrow(gg_fixed_wide(a) - gg_fixed_wide(b));
}

/* The nearest multiple; 0 for what is negative or not a number. */
static inline struct gg_fixed gg_fixed_from(double value)
{
	uint64_t bits, mantissa;
	int exponent;

	if (!(value > 0))
		return (struct gg_fixed){ 0 };
	if (value >= 0x1p100)
		return gg_fixed_narrow((unsigned __int128)1
		                       << (GG_FIXED_TERM_BITS + GG_FIXED_SHIFT));
	if (value < 0x1p32) /* nearly all: the conversion is one instruction */
		return (struct gg_fixed){ .low = (uint64_t)(value * 0x1p20 + 0.5) };
	/* By hand: the compiler's conversion to 128 bits is a call into libgcc. */
	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 52) - 1075 + GG_FIXED_SHIFT; /* of the mantissa's last bit */
	mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	if (exponent < 0)
		return (struct gg_fixed){ .low = (mantissa + (UINT64_C(1) << (-exponent - 1))) >>
			                         -exponent };
	return gg_fixed_narrow((unsigned __int128)mantissa << exponent);
}

static inline double gg_fixed_value(struct gg_fixed a)
{
	/* The sum of two doubles that differ by 2^64: one rounding of the high word, one of the sum. */
	return (double)(int64_t)a.high * 0x1p44 + (double)a.low * 0x1p-20;
}

/* What samples add up to.  One for what a stack allocated, one for what was freed of that. */
struct gg_sums {
	uint64_t sample_count;
	uint64_t size_bytes;            /* requested by the samples themselves, not scaled */
	struct gg_fixed count;          /* estimated allocations */
	struct gg_fixed count_variance; /* its variance, allocations^2 */
	struct gg_fixed bytes;          /* estimated requested bytes */
	struct gg_fixed bytes_variance; /* bytes^2 */
};

/* What one sample adds. */
static inline struct gg_sums gg_sums_of(const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);

	return (struct gg_sums){
		.sample_count = 1,
		.size_bytes = size_bytes,
		.count = gg_fixed_from(weight.count),
		.count_variance = gg_fixed_from(weight.count_variance),
		.bytes = gg_fixed_from(weight.bytes),
		.bytes_variance = gg_fixed_from(weight.bytes_variance),
	};
}

static inline void gg_sums_add(struct gg_sums *sums, const struct gg_sums *more)
{
	sums->sample_count += more->sample_count;
	sums->size_bytes += more->size_bytes;
	sums->count = gg_fixed_add(sums->count, more->count);
	sums->count_variance = gg_fixed_add(sums->count_variance, more->count_variance);
	sums->bytes = gg_fixed_add(sums->bytes, more->bytes);
	sums->bytes_variance = gg_fixed_add(sums->bytes_variance, more->bytes_variance);
}

static inline void gg_sums_subtract(struct gg_sums *sums, const struct gg_sums *less)
{
	sums->sample_count -= less->sample_count;
	sums->size_bytes -= less->size_bytes;
	sums->count = gg_fixed_sub(sums->count, less->count);
	sums->count_variance = gg_fixed_sub(sums->count_variance, less->count_variance);
	sums->bytes = gg_fixed_sub(sums->bytes, less->bytes);
	sums->bytes_variance = gg_fixed_sub(sums->bytes_variance, less->bytes_variance);
}
