/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementary - log, log1p and expm1 for code that links to libc alone (the agent).
 *
 * Named after the functions of <math.h> that they stand for, and equal to them but for the last
 * bits: special values are those of C11 annex F (log(0) = -inf, log(-1) = NaN, expm1(-inf) = -1),
 * signed zeros and subnormal numbers included.  They leave errno alone; they may raise floating
 * point exception flags.  Rounding is taken to be to nearest.
 *
 * Error     at most GG_ELEMENTARY_ULPS units in the last place, derived in the .c file, asserted by
 *           test_stats_elementary against long double.
 * Cost      beside libm's in bench_stats.
 * Threads   any; pure.
 */
#pragma once

/* Bound of the error of each function here, in units in the last place of the result. */
#define GG_ELEMENTARY_ULPS 2.0

double gg_log(double x);   /* natural logarithm */
double gg_log1p(double x); /* ln(1 + x), accurate also where x is tiny */
double gg_expm1(double x); /* exp(x) - 1, accurate also where x is tiny */
