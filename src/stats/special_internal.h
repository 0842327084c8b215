/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special_internal - what the special functions and their inverses share: the forms that take x and
 * y = 1 - x, both given, so that neither end of [0, 1] loses digits.
 */
#pragma once

#include <stdbool.h>

double gg_special_binomial(double k, double n, double x, double y);
double gg_special_beta(double a, double b, double x, double y, bool upper);
