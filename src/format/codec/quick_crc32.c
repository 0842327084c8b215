/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quick_crc32 - folds 64 bytes at a time (Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel 2009).
 *
 * The sum is a remainder of polynomials over one bit.  A part of 128 bits that n further bits
 * follow may be replaced by any other one with the same remainder times x^n.  Two multiplications
 * by the constants x^(n+64) mod P and x^n mod P make one that fits into the next 128 bits, so the
 * message becomes shorter and keeps its remainder.  All numbers have their bits in reverse.
 */
#include "format/codec/quick_crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANE_BYTES = 16, LANES = 4, FOLD_BYTES = LANE_BYTES * LANES };

#define TARGET __attribute__((target("pclmul,sse4.1")))

TARGET static __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

/* Moves a part over the bits that its factors stand for, and adds what is there. */
TARGET static __m128i fold(__m128i part, __m128i factors, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(part, factors, 0x00);
	__m128i high = _mm_clmulepi64_si128(part, factors, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* The remainder of 128 bits, by two steps of folding and by Barrett's method. */
TARGET static uint32_t reduce(__m128i part, __m128i by_lane)
{
	const __m128i words = _mm_setr_epi32(-1, 0, -1, 0);
	const __m128i by_word = _mm_set_epi64x(0, 0x0163cd6124);
	const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
	__m128i quotient;

	part = _mm_xor_si128(_mm_srli_si128(part, 8), _mm_clmulepi64_si128(part, by_lane, 0x10));
	part = _mm_xor_si128(_mm_srli_si128(part, 4),
	                     _mm_clmulepi64_si128(_mm_and_si128(part, words), by_word, 0x00));
	quotient = _mm_clmulepi64_si128(_mm_and_si128(part, words), polynomial, 0x10);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, words), polynomial, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(part, quotient), 1);
}

/* `length` is a multiple of LANE_BYTES, FOLD_BYTES at least. */
TARGET static uint32_t sum_lanes(const uint8_t *at, size_t length)
{
	const __m128i by_block = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
	const __m128i by_lane = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
	const uint8_t *end = at + length;
	__m128i lanes[LANES], all;

	for (int i = 0; i < LANES; i++)
		lanes[i] = load(at + i * LANE_BYTES);
	lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(-1)); /* the sum begins with ones */
	for (at += FOLD_BYTES; end - at >= FOLD_BYTES; at += FOLD_BYTES)
		for (int i = 0; i < LANES; i++)
			lanes[i] = fold(lanes[i], by_block, load(at + i * LANE_BYTES));
	all = lanes[0];
	for (int i = 1; i < LANES; i++)
		all = fold(all, by_lane, lanes[i]);
	for (; end - at >= LANE_BYTES; at += LANE_BYTES)
		all = fold(all, by_lane, load(at));
	return ~reduce(all, by_lane);
}

uint32_t gg_quick_crc32(const void *bytes, size_t length)
{
	size_t lanes = length & ~(size_t)(LANE_BYTES - 1);

	if (lanes < FOLD_BYTES || !__builtin_cpu_supports("pclmul") ||
	    !__builtin_cpu_supports("sse4.1"))
		return (uint32_t)crc32_z(0, bytes, length);
	return (uint32_t)crc32_z(sum_lanes(bytes, lanes), (const Bytef *)bytes + lanes,
	                         length - lanes);
}

#else

uint32_t gg_quick_crc32(const void *bytes, size_t length)
{
	return (uint32_t)crc32_z(0, bytes, length);
}
#endif
