/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special - the special functions that confidence intervals are made of.
 *
 *   P(S <= 2), S Poisson of mean 7.5          gg_gamma_upper(3, 7.5)
 *   P(failures <= F before success s)         gg_beta_lower(s, F + 1, q)
 *   chi-square quantile, 2.5 % above it       gg_chi_square_upper_inverse(degrees, 0.025)
 *
 * Every distribution has both tails, so that neither is ever got as 1 minus the other: a tail of
 * 1e-200 is as accurate as one of 0.3.  Relative error at most 1e-10 for shapes from 1e-10 to 1e12
 * (gamma) and from 1e-3 to 1e8 (beta), and tails from 1e-300 to 1; the tests hold it to that
 * against 50-digit values.  The inverses find the argument to the same relative error.
 *
 * Written here because no maintained C library with a licence that fits does it: GSL and R's
 * mathlib are GPL, Cephes has no releases and loses digits for large shapes, Boost.Math is C++.
 *
 * Sources   densities by saddle point: Loader, "Fast and accurate computation of binomial
 *           probabilities" (2000); gamma: DLMF 8.11.4 (series), 8.9.2 (fraction), 8.12 (large
 *           shapes); beta: DLMF 8.17.22; small shapes: Gautschi, ACM TOMS 5 (1979) 466.
 * Cost      gamma: a few dozen steps of a few ns; shapes from 40 on take a closed form.  beta:
 *           about sqrt(shape) steps around the centre, a dozen in the tails.
 * Errors    arguments outside the domain give NaN; nothing sets errno, nothing allocates.
 */
#pragma once

#include <stdbool.h>

/* Standard normal: P(X > z), and the z that is exceeded with probability p. */
double gg_normal_upper(double z);
double gg_normal_upper_inverse(double p);

/* Regularized incomplete gamma, P(a, x) and Q(a, x); a >= 0 (0: all mass at 0), x >= 0. */
double gg_gamma_lower(double a, double x);
double gg_gamma_upper(double a, double x);

/* The x with P(a, x) = p, and with Q(a, x) = p. */
double gg_gamma_lower_inverse(double a, double p);
double gg_gamma_upper_inverse(double a, double p);

/* One gamma law that many tails are asked of: what depends on its shape alone is computed once. */
struct gg_gamma_law {
	double shape;    /* a */
	double log_norm; /* of the probability below: log(Gamma(a+1)) or what Stirling leaves of it */
};

struct gg_gamma_law gg_gamma_law_of(double shape);

/*
 * Q(a, x) if upper, else P(a, x).  *ret_probability: gg_poisson_probability(a, x); the slopes are
 * dP/dx = a/x times that, and -dQ/dx likewise.
 */
double gg_gamma_law_tail(const struct gg_gamma_law *law, double x, bool upper,
                         double *ret_probability);

/* The x whose tail is p. */
double gg_gamma_law_inverse(const struct gg_gamma_law *law, double p, bool upper);

/* The x below which, and above which, chi-square with that many degrees of freedom has mass p. */
double gg_chi_square_lower_inverse(double degrees, double p);
double gg_chi_square_upper_inverse(double degrees, double p);

/*
 * Regularized incomplete beta, I_x(a, b) and 1 - I_x(a, b) = I_{1-x}(b, a); a, b >= 0, not both 0.
 * Where x is so near 1 that 1 - x matters, swap: lower(a, b, x) = upper(b, a, 1 - x).
 */
double gg_beta_lower(double a, double b, double x);
double gg_beta_upper(double a, double b, double x);
double gg_beta_lower_inverse(double a, double b, double p);
double gg_beta_upper_inverse(double a, double b, double p);

/* mean^k e^-mean / k!, also for k that is not whole. */
double gg_poisson_probability(double k, double mean);

/* C(n, k) x^k (1-x)^(n-k), also for k and n that are not whole; 0 <= k <= n. */
double gg_binomial_probability(double k, double n, double x);

/* log C(n, k), also for large n: the relative error is 1e-10 where the value is over 1e-3. */
double gg_log_binomial(double n, double k);
