/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special - computes the special functions of confidence intervals.
 *
 *   P(S > 2), S Poisson of mean 7.5           gg_gamma_lower(3, 7.5)
 *   P(failures <= F before success s)         gg_beta_lower(s, F + 1, q)
 *   chi-square quantile, 2.5 % above it       gg_chi_square_upper_inverse(degrees, 0.025)
 *
 * A caller asks for the tail that it needs, and never computes it as 1 minus the other: a tail of
 * 1e-200 is as accurate as one of 0.3.  The relative error is at most 1e-10 for shapes from 1e-10
 * to 1e12 (gamma) and from 1e-3 to 1e8 (beta), and tails from 1e-300 to 1; the tests check this
 * against 50-digit values.  The inverses find the argument to the same relative error.
 *
 * No maintained C library with a suitable license has these functions: GSL and R's mathlib are GPL,
 * Cephes has no releases and loses digits for large shapes, and Boost.Math is C++.
 *
 * Sources  densities by saddle point: Loader, "Fast and accurate computation of binomial
 *          probabilities" (2000); gamma: DLMF 8.11.4 (series), 8.9.2 (fraction), 8.12 (large
 *          shapes); beta: DLMF 8.17.22; small shapes: Gautschi, ACM TOMS 5 (1979) 466.
 * Cost     gamma: a few dozen steps of a few ns; shapes from 40 on have a closed form.  beta: about
 *          sqrt(shape) steps around the center, and a dozen in the tails.
 * Errors   Arguments outside the domain give NaN.  No function sets errno or allocates.
 */
#pragma once

#include <stdbool.h>

/* Standard normal: P(X > z), and the z with P(X > z) = p. */
double gg_normal_upper(double z);
double gg_normal_upper_inverse(double p);

/* Regularized incomplete gamma, P(a, x); a >= 0 (0: all mass at 0), x >= 0. */
double gg_gamma_lower(double a, double x);

/* The x with P(a, x) = p, and with Q(a, x) = 1 - P(a, x) = p. */
double gg_gamma_lower_inverse(double a, double p);
double gg_gamma_upper_inverse(double a, double p);

/*
 * One gamma law, for callers that need many of its tails: the part that depends only on its shape
 * is computed once.
 */
struct gg_gamma_law {
	double shape; /* a */
	/* Norm of the probability: log(Gamma(a+1)), or its rest after Stirling's formula. */
	double log_norm;
};

struct gg_gamma_law gg_gamma_law_of(double shape);

/*
 * Returns Q(a, x) if `upper`, otherwise P(a, x).  *ret_probability is gg_poisson_probability(a, x);
 * the slopes dP/dx and -dQ/dx are a/x times that.
 */
double gg_gamma_law_tail(const struct gg_gamma_law *law, double x, bool upper,
                         double *ret_probability);

/* Returns the x whose tail is p. */
double gg_gamma_law_inverse(const struct gg_gamma_law *law, double p, bool upper);

/* Returns the x above which chi-square with that many degrees of freedom has mass p. */
double gg_chi_square_upper_inverse(double degrees, double p);

/* Regularized incomplete beta, I_x(a, b); a, b >= 0, not both 0. */
double gg_beta_lower(double a, double b, double x);

/* mean^k e^-mean / k!, also for a k that is not whole. */
double gg_poisson_probability(double k, double mean);

/* C(n, k) x^k (1-x)^(n-k), also for k and n that are not whole; 0 <= k <= n. */
double gg_binomial_probability(double k, double n, double x);
