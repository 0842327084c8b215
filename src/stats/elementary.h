/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementary - log, log1p and expm1 for code that links to libc alone (the agent).
 *
 * Named after the functions of <math.h> that they stand for, and equal to them but for the last
 * bits: special values are those of C11 annex F (log(0) = -inf, log(-1) = NaN, expm1(-inf) = -1),
 * signed zeros and subnormal numbers included.  They leave errno alone; they may raise floating
 * point exception flags.  Rounding is taken to be to nearest.
 *
 * Error     at most GG_ELEMENTARY_ULPS units in the last place, derived below and in the .c file,
 *           asserted by test_stats_elementary against long double.
 * Cost      beside libm's in bench_stats.
 * Threads   any; pure.
 */
#pragma once

/* Bound of the error of each function here, in units in the last place of the result. */
#define GG_ELEMENTARY_ULPS 2.0

double gg_log(double x);   /* natural logarithm */
double gg_log1p(double x); /* ln(1 + x), accurate also where x is tiny */
double gg_expm1(double x); /* exp(x) - 1, accurate also where x is tiny */

/* ln 2 in two parts.  The first ends in 21 zero bits: times an integer below 2^21 it is exact. */
#define GG_LN2_HIGH 0x1.62e42fee00000p-1
#define GG_LN2_LOW  0x1.a39ef35793c76p-33

/*
 * exponent ln 2 + ln(1 + f) + rest, for sqrt(1/2) <= 1 + f < sqrt(2); f exact, |rest| tiny,
 * exponent an integer.  The heart of both logarithms and of the exponential draw.
 *
 * With s = f/(2+f) and z = s^2:
 *
 *   ln(1+f) = ln((1+s)/(1-s)) = 2s (1 + z/3 + z^2/5 + ...)       (the area tangent's series)
 *           = f - s (f - r),  r = 2 (z/3 + z^2/5 + ...)            because 2s = f - sf
 *
 * where the leading term is exact and all else is a small correction.  With u = 2^-53:
 *
 *   cut      the series ends with z^10/21, and z <= (3 - 2 sqrt(2))^2 = 0.02944, so what is left out
 *            is below z^11 / (23 (1-z)) = 6.5e-19 of the result: 0.006 u.
 *   rounding s is off by 2 u, r by 6 u (and r <= 0.06 |f|), f - r by 1.4 u, the product by one more:
 *            4.4 u of it.  The product is at most 0.195 of the result (at f = sqrt(2) - 1): 0.86 u.
 *            The final subtraction rounds to half a unit in the last place.  One u is at most one
 *            such unit, so without an exponent the error is below 0.5 + 0.86 + 0.01 = 1.4 units.
 *   exponent |result| >= ln(2)/2 then.  The product is at most 0.068 and adds 0.3 u, the two sums
 *            0.04 u and 0.25 u, ln 2's parts nothing that counts: 0.6 u, which is 1.2 units of a
 *            result below 1/2 and fewer of larger ones; 1.7 with the final rounding.
 */
static inline double gg_log_kernel(double exponent, double f, double rest)
{
	double s = f / (2 + f), z = s * s, w = z * z;
	double odd = 2. / 3 + w * (2. / 7 + w * (2. / 11 + w * (2. / 15 + w * (2. / 19))));
	double even = 2. / 5 + w * (2. / 9 + w * (2. / 13 + w * (2. / 17 + w * (2. / 21))));
	double r = z * (odd + z * even);

	return exponent * GG_LN2_HIGH + (f - (s * (f - r) - (exponent * GG_LN2_LOW + rest)));
}
