/* SPDX-License-Identifier: Apache-2.0 */
#include "stat.h"

#include <math.h>
#include <stdlib.h>

void stat_add(struct stat_moments *moments, double value)
{
	double distance = value - moments->mean;

	moments->count++;
	moments->mean += distance / (double)moments->count;
	moments->squares += distance * (value - moments->mean);
}

double stat_variance(const struct stat_moments *moments)
{
	return moments->count > 1 ? moments->squares / (double)(moments->count - 1) : 0;
}

double stat_error_of_mean(const struct stat_moments *moments)
{
	return moments->count > 0 ? sqrt(stat_variance(moments) / (double)moments->count) : 0;
}

bool stat_within(double value, double expected, double sigma, double sigmas)
{
	return fabs(value - expected) <= sigmas * sigma;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stat_ks_distance(double *values, size_t count, double (*cdf)(double x, const void *context),
                        const void *context)
{
	double distance = 0;

	qsort(values, count, sizeof(*values), compare_doubles);
	for (size_t i = 0; i < count; i++) {
		double p = cdf(values[i], context);

		/* The empirical distribution jumps from i/n to (i+1)/n here. */
		distance = fmax(distance, p - (double)i / (double)count);
		distance = fmax(distance, (double)(i + 1) / (double)count - p);
	}
	return distance;
}

double stat_ks_limit(size_t count, double alpha)
{
	return sqrt(log(2 / alpha) / (2 * (double)count));
}

uint64_t stat_binomial_least(uint64_t count, double p, double alpha)
{
	double n = (double)count, sum = 0;
	uint64_t hits = 0;

	for (; hits < count; hits++) {
		double k = (double)hits;

		sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
		           (n - k) * log1p(-p));
		if (sum > alpha)
			break;
	}
	return hits;
}

double stat_chi_square(const uint64_t *observed, const double *expected, size_t cell_count)
{
	double sum = 0;

	for (size_t i = 0; i < cell_count; i++) {
		double distance = (double)observed[i] - expected[i];

		sum += distance * distance / expected[i];
	}
	return sum;
}

double stat_chi_square_limit(size_t degrees, double sigmas)
{
	double spread = 2 / (9 * (double)degrees);

	return (double)degrees * pow(1 - spread + sigmas * sqrt(spread), 3);
}
