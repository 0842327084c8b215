/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special_internal - declares the functions that the special functions and their inverses share.
 *
 * These forms take both x and y = 1 - x, so that neither end of [0, 1] loses digits.  Another
 * function handles large shapes.
 */
#pragma once

#include <stdbool.h>

double gg_special_binomial(double k, double n, double x, double y);
double gg_special_beta(double a, double b, double x, double y, bool upper);

/*
 * P(a, x) or Q(a, x) if gg_special_is_large(): the shape is large, and x is not too far from it.
 * `deviance` is a log(a/x) + x - a; `probability` is gg_poisson_probability(a, x); `above`: x > a.
 */
bool gg_special_is_large(double a, double x);
double gg_special_gamma_large(double a, double deviance, double probability, bool above,
                              bool upper);
