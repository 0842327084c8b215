/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special_internal - what the special functions and their inverses share: the forms that take x and
 * y = 1 - x, both given, so that neither end of [0, 1] loses digits; and large shapes.
 */
#pragma once

#include <stdbool.h>

double gg_special_binomial(double k, double n, double x, double y);
double gg_special_beta(double a, double b, double x, double y, bool upper);

/*
 * P(a, x) or Q(a, x) where gg_special_is_large(): the shape is large, and x not too far from it.
 * deviance: a log(a/x) + x - a; probability: gg_poisson_probability(a, x); above: x > a.
 */
bool gg_special_is_large(double a, double x);
double gg_special_gamma_large(double a, double deviance, double probability, bool above,
                              bool upper);
