/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat - what statistical tests need: moments, distances between distributions, and bounds whose
 * chance of a false alarm is known.
 *
 * Bounds are given in standard deviations ("5 sigma"): with a fixed seed a test passes or fails for
 * ever, but one whose bound is 5 sigma fails for 1 seed in 1.7 million when the code is right.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mean and variance of a stream (Welford 1962: stable also when the mean is large). */
struct stat_moments {
	uint64_t count;
	double mean;
	double squares; /* sum of squared distances from the mean */
};

void stat_add(struct stat_moments *moments, double value);
double stat_variance(const struct stat_moments *moments);      /* unbiased; 0 below two values */
double stat_error_of_mean(const struct stat_moments *moments); /* its standard deviation */

/* Is |value - expected| at most sigmas * sigma? */
bool stat_within(double value, double expected, double sigma, double sigmas);

/*
 * Kolmogorov-Smirnov distance of values[0..count) from a continuous distribution, cdf(x, context).
 * Sorts the values.  count >= 1.
 */
double stat_ks_distance(double *values, size_t count, double (*cdf)(double x, const void *context),
                        const void *context);

/*
 * The distance that a sample of `count` exceeds with probability alpha if the distribution is
 * right: sqrt(ln(2/alpha) / (2 count)), an upper bound for every count (Massart 1990).
 */
double stat_ks_limit(size_t count, double alpha);

/*
 * The least number of hits among `count` independent tries with a probability of `p` or more
 * each; fewer have a chance of `alpha` at most.  The bound is the binomial law's own, because
 * sigmas mislead where few misses are expected.
 */
uint64_t stat_binomial_least(uint64_t count, double p, double alpha);

/* Pearson's chi-square of observed counts against expected ones (all > 0). */
double stat_chi_square(const uint64_t *observed, const double *expected, size_t cell_count);

/*
 * The value that chi-square with so many degrees of freedom exceeds with the probability of
 * `sigmas` normal standard deviations, one-sided (Wilson & Hilferty 1931; within 2 % from 10
 * degrees on).
 */
double stat_chi_square_limit(size_t degrees, double sigmas);
