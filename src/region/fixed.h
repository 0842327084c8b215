/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed - adds and subtracts weights exactly, as fixed-point numbers.
 *
 * A weight is a double, and sums of doubles depend on the order of the additions.  With doubles,
 * "allocated - freed = live" could only be checked within a tolerance that grows with the run.
 * Here each weight is rounded once, to a multiple of 2^-20, and added up in 128 bits.  The sums are
 * then independent of order, thread, and folding, and the equation holds to the last bit.
 *
 * Rounding  At most 2^-21 for each sample, downwards as often as upwards.  For a count (>= 1) this
 *           is below 5e-7 of it.
 * Range     A term is cut at 2^100.  The largest term that a sampler draws with an interval of 2^48
 *           bytes is a variance of 2^96 bytes^2.  A sum wraps at 2^108; differences stay right even
 *           then.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "stats/sampling/weight.h"

enum {
	GG_FIXED_SHIFT = 20, /* fraction bits */
	GG_FIXED_TERM_BITS = 100
};

/*
 * value * 2^20 in two words, as two's complement, the low word first.  The file format depends on
 * it.
 */
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

/* Returns the nearest multiple of 2^-20; 0 for negative numbers and NaN. */
static inline struct gg_fixed gg_fixed_from(double value)
{
	uint64_t bits, mantissa;
	int exponent;

	if (!(value > 0))
		return (struct gg_fixed){ 0 };
	if (value >= 0x1p100)
		return gg_fixed_narrow((unsigned __int128)1
		                       << (GG_FIXED_TERM_BITS + GG_FIXED_SHIFT));
	if (value < 0x1p32) /* nearly all values: the conversion is one instruction */
		return (struct gg_fixed){ .low = (uint64_t)(value * 0x1p20 + 0.5) };
	/*
	 * This conversion is written out, because the compiler's conversion to 128 bits calls
	 * libgcc.
	 */
	memcpy(&bits, &value, sizeof(bits));
	/* Exponent of the mantissa's last bit. */
	exponent = (int)(bits >> 52) - 1075 + GG_FIXED_SHIFT;
	mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	if (exponent < 0)
		return (struct gg_fixed){ .low = (mantissa + (UINT64_C(1) << (-exponent - 1))) >>
			                         -exponent };
	return gg_fixed_narrow((unsigned __int128)mantissa << exponent);
}

static inline double gg_fixed_value(struct gg_fixed a)
{
	/* Adds two doubles.  The high word is rounded once, and the sum once. */
	return (double)(int64_t)a.high * 0x1p44 + (double)a.low * 0x1p-20;
}

/*
 * The sums over samples.  A stack has one structure for everything that it allocated, and one for
 * the part that was freed.
 */
struct gg_sums {
	uint64_t sample_count;
	uint64_t size_bytes;            /* requested by the samples themselves, not scaled */
	struct gg_fixed count;          /* estimated allocations */
	struct gg_fixed count_variance; /* its variance, allocations^2 */
	struct gg_fixed bytes;          /* estimated requested bytes */
	struct gg_fixed bytes_variance; /* bytes^2 */
};

/* Sums of allocations that were all counted: no variance. */
static inline struct gg_sums gg_sums_exact(uint64_t count, uint64_t bytes)
{
	return (struct gg_sums){
		.sample_count = count,
		.size_bytes = bytes,
		.count = gg_fixed_narrow((unsigned __int128)count << GG_FIXED_SHIFT),
		.bytes = gg_fixed_narrow((unsigned __int128)bytes << GG_FIXED_SHIFT),
	};
}

/* Returns the contribution of one sample.  cache: NULL, or what gg_weight_of_cached() uses. */
static inline struct gg_sums gg_sums_of_cached(const struct gg_draw *draw, uint64_t size_bytes,
                                               struct gg_weight_cache *cache)
{
	struct gg_weight weight = gg_weight_of_cached(draw, size_bytes, cache);

	return (struct gg_sums){
		.sample_count = 1,
		.size_bytes = size_bytes,
		.count = gg_fixed_from(weight.count),
		.count_variance = gg_fixed_from(weight.count_variance),
		.bytes = gg_fixed_from(weight.bytes),
		.bytes_variance = gg_fixed_from(weight.bytes_variance),
	};
}

static inline struct gg_sums gg_sums_of(const struct gg_draw *draw, uint64_t size_bytes)
{
	return gg_sums_of_cached(draw, size_bytes, NULL);
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
