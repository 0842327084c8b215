/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementary - computes log, log1p, and expm1 for code that links only to libc (the agent).
 *
 * The functions have the names and results of their counterparts in <math.h>, except for the last
 * bits.  Special values are those of C11 annex F (log(0) = -inf, log(-1) = NaN, expm1(-inf) = -1),
 * also for signed zeros and subnormal numbers.  The functions leave errno alone, and may raise
 * floating point exception flags.  They assume rounding to nearest.
 *
 * Error    At most GG_ELEMENTARY_ULPS units in the last place.  The .c file derives this bound, and
 *          test_stats_elementary asserts it against long double.
 * Cost     bench_stats compares it with libm.
 * Threads  Any thread; the functions are pure.
 */
#pragma once

/* Bound of the error of each function, in units in the last place of the result. */
#define GG_ELEMENTARY_ULPS 2.0

double gg_log(double x);   /* natural logarithm */
double gg_log1p(double x); /* ln(1 + x), accurate also for tiny x */
double gg_expm1(double x); /* exp(x) - 1, accurate also for tiny x */
