/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/elementary.h"

#include <math.h> /* INFINITY, NAN; nothing that libm would have to provide */
#include <stdint.h>
#include <string.h>

#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define MANTISSA_MASK  ((UINT64_C(1) << 52) - 1)
#define LEAST_NORMAL   0x1p-1022
#define INVERSE_LN2    0x1.71547652b82fep+0
#define LN_LARGEST     0x1.62e42fefa39efp+9 /* exp() of the next double overflows */
#define LN_LOST_IN_ONE -37.5		    /* exp() of it is below 2^-54, half a unit of -1 */

static uint64_t to_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * x = 2^exponent (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for x > 0, normal and finite.  As
 * integers, doubles are ordered as their values and 2^52 apart per power of two; so the distance
 * from sqrt(1/2) has the exponent in its upper bits, and f loses nothing (Sterbenz).
 */
static double split(double x, double *ret_f)
{
	uint64_t distance = to_bits(x) - SQRT_HALF_BITS;

	*ret_f = from_bits((distance & MANTISSA_MASK) + SQRT_HALF_BITS) - 1;
	return (double)((int64_t)distance >> 52);
}

double gg_log(double x)
{
	double exponent, f, shift = 0;

	if (!(x >= LEAST_NORMAL && x < INFINITY)) {
		if (x == 0)
			return -INFINITY;
		if (!(x > 0))
			return x < 0 ? (double)NAN : x; /* NaN stays the one it is */
		if (x == INFINITY)
			return x;
		x *= 0x1p54; /* subnormal: exact */
		shift = -54;
	}
	exponent = split(x, &f);
	return gg_log_kernel(exponent + shift, f, 0);
}

/*
 * Near 0 the kernel takes x as it is.  Elsewhere 1 + x is rounded; what that lost is known exactly
 * (Fast2Sum: subtract the larger first), and ln(u + lost) = ln(u) + lost/u up to (lost/u)^2 < u^2.
 */
double gg_log1p(double x)
{
	double exponent, f, sum, lost;

	if (x > -0.2928 && x < 0.4142)
		return gg_log_kernel(0, x, 0);
	if (!(x > -1 && x < INFINITY)) {
		if (x == -1)
			return -INFINITY;
		return x < -1 ? (double)NAN : x;
	}
	sum = 1 + x;
	lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
	exponent = split(sum, &f);
	return gg_log_kernel(exponent, f, lost / sum);
}

/*
 * x = k ln 2 + r with |r| <= ln(2)/2 + a little, and exp(x) - 1 = (2^k - 1) + 2^k (exp(r) - 1).
 * exp(r) - 1 = r + r^2 (1/2! + r/3! + ... + r^12/14!): leading term first, as in the logarithm.
 *
 *   cut      r^14/15! of r is 2.9e-19: 0.003 u.
 *   k = 0    r is x, exact.  r^2 q is off by 4.5 u and at most 0.21 of the result (r = -ln(2)/2:
 *            0.0537/0.293 = 0.184; r = ln(2)/2: 0.0677/0.414 = 0.164): 0.95 u; with the final
 *            rounding 1.5 units.
 *   else     r carries its own rounding error along as `lost`.  (2^k - 1) + 2^k r rounds once, to
 *            half a unit of a number at most twice the result (k = 1, r < 0: the sum is above
 *            0.30, the result above 0.41; both are below 1/2 there or both above within a factor
 *            of two), 2^k r^2 q adds 2 * 4.5 u * 0.054 = 0.5 u of a result above 0.41 in the
 *            worst case, k = 1, which is 0.97 units; with the final rounding 2.0.
 *
 * 2^k - 1 is exact up to k = 53, and beyond the 1 is within the rounding.  k = 1024 is the one
 * power that does not fit: half of it is scaled, then doubled.
 */
double gg_expm1(double x)
{
	double k, high, low, r, lost, w, even, odd, q, scale, unit, result;

	if (!(x > LN_LOST_IN_ONE && x <= LN_LARGEST)) {
		if (x <= LN_LOST_IN_ONE)
			return -1;
		return x > LN_LARGEST ? (double)INFINITY : x;
	}
	k = (double)(int)(x * INVERSE_LN2 + (x < 0 ? -0.5 : 0.5));
	high = x - k * GG_LN2_HIGH;
	low = k * GG_LN2_LOW;
	r = high - low;
	lost = (high - r) - low;
	w = r * r;
	even = 1. / 2 +
	       w * (1. / 24 +
		    w * (1. / 720 +
			 w * (1. / 40320 +
			      w * (1. / 3628800 + w * (1. / 479001600 + w * (1. / 87178291200))))));
	odd = 1. / 6 +
	      w * (1. / 120 + w * (1. / 5040 + w * (1. / 362880 +
						    w * (1. / 39916800 + w * (1. / 6227020800)))));
	q = even + r * odd;
	if (k == 0)
		return r + w * q;
	unit = k > 1000 ? 0x1p-1 : 1;
	scale = from_bits((uint64_t)(1023 + (int)k + (k > 1000 ? -1 : 0)) << 52);
	result = ((scale - unit) + scale * r) + scale * (w * q + lost);
	return k > 1000 ? 2 * result : result;
}
