/* SPDX-License-Identifier: Apache-2.0 */
/* elementary - logarithm and exponential without libm, with their error bounds. */
#include "stats/sampling/elementary.h"

#include <math.h> /* only for INFINITY and NAN: this file must not need libm */
#include <stdint.h>
#include <string.h>

#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define MANTISSA_MASK  ((UINT64_C(1) << 52) - 1)
#define LEAST_NORMAL   0x1p-1022
#define INVERSE_LN2    0x1.71547652b82fep+0
#define LN_LARGEST     0x1.62e42fefa39efp+9 /* exp() of the next double overflows */
#define LN_LOST_IN_ONE -37.5                /* its exp() is below 2^-54, half a unit of -1 */

/*
 * ln 2 in two parts.  The first ends in 21 zero bits, so its product with an integer below 2^21 is
 * exact.
 */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW  0x1.a39ef35793c76p-33

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
 * Splits x = 2^exponent (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for x > 0, normal and finite.
 * As integers, doubles have the order of their values, and powers of two are 2^52 apart.  So the
 * distance from sqrt(1/2) has the exponent in its upper bits, and f is exact (Sterbenz).
 */
static double split(double x, double *ret_f)
{
	uint64_t distance = to_bits(x) - SQRT_HALF_BITS;

	*ret_f = from_bits((distance & MANTISSA_MASK) + SQRT_HALF_BITS) - 1;
	return (double)((int64_t)distance >> 52);
}

/*
 * Returns exponent ln 2 + ln(1 + f) + rest, for sqrt(1/2) <= 1 + f < sqrt(2); f exact, |rest| tiny,
 * exponent an integer.
 *
 * With s = f/(2+f) and z = s^2:
 *
 *   ln(1+f) = ln((1+s)/(1-s)) = 2s (1 + z/3 + z^2/5 + ...)       (series of the area tangent)
 *           = f - s (f - r),  r = 2 (z/3 + z^2/5 + ...)            because 2s = f - sf
 *
 * The leading term is exact, and all other terms are a small correction.  With u = 2^-53:
 *
 * cut       The series ends with z^10/21, and z <= (3 - 2 sqrt(2))^2 = 0.02944.  So the omitted
 *           terms are below z^11 / (23 (1-z)) = 6.5e-19 of the result: 0.006 u.
 * rounding  s is off by 2 u, r by 6 u (and r <= 0.07 |f|), f - r by 1.4 u, and the product by one
 *           more: 4.4 u of it.  The product is at most 0.195 of the result (at f = sqrt(2) - 1):
 *           0.86 u.  The final subtraction rounds to half a unit in the last place.  One u is at
 *           most one such unit, so without an exponent the error is below 0.5 + 0.86 + 0.01 = 1.4
 *           units.
 * exponent  With an exponent, |result| >= ln(2)/2.  The product is at most 0.068 and adds 0.3 u.
 *           The two sums add 0.04 u and 0.25 u, and the parts of ln 2 nothing that counts.
 *           Together these are 0.6 u: 1.2 units of a result below 1/2 and fewer of larger results;
 *           1.7 with the final rounding.
 */
static double log_kernel(double exponent, double f, double rest)
{
	double s = f / (2 + f), z = s * s, w = z * z;
	double odd = 2. / 3 + w * (2. / 7 + w * (2. / 11 + w * (2. / 15 + w * (2. / 19))));
	double even = 2. / 5 + w * (2. / 9 + w * (2. / 13 + w * (2. / 17 + w * (2. / 21))));
	double r = z * (odd + z * even);

	return exponent * LN2_HIGH + (f - (s * (f - r) - (exponent * LN2_LOW + rest)));
}

double gg_log(double x)
{
	double exponent, f, shift = 0;

	if (!(x >= LEAST_NORMAL && x < INFINITY)) {
		if (x == 0)
			return -INFINITY;
		if (!(x > 0))
			return x < 0 ? (double)NAN : x; /* a NaN is returned unchanged */
		if (x == INFINITY)
			return x;
		x *= 0x1p54; /* subnormal: exact */
		shift = -54;
	}
	exponent = split(x, &f);
	return log_kernel(exponent + shift, f, 0);
}

/*
 * Near 0 the kernel takes x as it is.  Elsewhere 1 + x is rounded, but the lost part is known
 * exactly (Fast2Sum: subtract the larger number first), and ln(u + lost) = ln(u) + lost/u up to
 * (lost/u)^2 < u^2.
 */
double gg_log1p(double x)
{
	double exponent, f, sum, lost;

	if (x > -0.2928 && x < 0.4142)
		return x != 0 ? log_kernel(0, x, 0) : x; /* -0 stays -0 */
	if (!(x > -1 && x < INFINITY)) {
		if (x == -1)
			return -INFINITY;
		return x < -1 ? (double)NAN : x;
	}
	sum = 1 + x;
	lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
	exponent = split(sum, &f);
	return log_kernel(exponent, f, lost / sum);
}

/*
 * Splits x = k ln 2 + r with |r| <= ln(2)/2 + a little; exp(x) - 1 = (2^k - 1) + 2^k (exp(r) - 1).
 * exp(r) - 1 = r + r^2 (1/2! + r/3! + ... + r^12/14!): the leading term first, as in the logarithm.
 *
 * cut      r^14/15! of r is 2.9e-19: 0.003 u.
 * k = 0    r is x, exact.  r^2 q is off by 4.5 u and at most 0.21 of the result (r = -ln(2)/2:
 *          0.0537/0.293 = 0.184; r = ln(2)/2: 0.0677/0.414 = 0.164): 0.95 u; with the final
 *          rounding 1.5 units.
 * other k  r carries its own rounding error along as `lost`.  (2^k - 1) + 2^k r rounds once, to
 *          half a unit of a number at most twice the result (k = 1, r < 0: the sum is above 0.30
 *          and the result above 0.41; both are below 1/2, or both above it within a factor of two).
 *          2^k r^2 q adds 2 * 4.5 u * 0.054 = 0.5 u of a result above 0.41 in the worst case, k =
 *          1, which is 0.97 units; with the final rounding 2.0.
 *
 * 2^k - 1 is exact up to k = 53; beyond, the 1 is within the rounding.  k = 1024 is the only power
 * that does not fit: half of it is scaled, then doubled.
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
	high = x - k * LN2_HIGH;
	low = k * LN2_LOW;
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
		return x != 0 ? r + w * q : x; /* -0 stays -0 */
	unit = k > 1000 ? 0x1p-1 : 1;
	scale = from_bits((uint64_t)(1023 + (int)k + (k > 1000 ? -1 : 0)) << 52);
	result = ((scale - unit) + scale * r) + scale * (w * q + lost);
	return k > 1000 ? 2 * result : result;
}
