/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special - computes the tails of gamma and beta laws, and the densities that they use.
 *
 * The densities come first: they never overflow, and keep their digits for large shapes.  Each tail
 * is its density times a sum or a continued fraction whose terms all have one sign or converge
 * without cancellation.  The side of the mean decides which tail is computed and which is 1 minus
 * the other: the computed one is the smaller, up to a factor.
 */
#include "stats/estimate/special.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "stats/estimate/special_internal.h"

/* Steps after which a sum is taken as it is: sqrt(1e12) times the 9 that 1e-17 needs. */
static const double max_step_count = 1e7;

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign); /* lgamma() writes a global variable */
}

/* log Gamma(1 + a) for 0 <= a, accurate relative to a even if 1 + a rounds to 1 (DLMF 5.7.3). */
static double log_gamma_1p(double a)
{
	const double euler = 0.57721566490153286061, zeta2 = 1.64493406684822643647,
		     zeta3 = 1.20205690315959428540, zeta4 = 1.08232323371113819152,
		     zeta5 = 1.03692775514336992633;

	if (a >= 1e-3)
		return log_gamma(1 + a);
	return a * (-euler + a * (zeta2 / 2 - a * (zeta3 / 3 - a * (zeta4 / 4 - a * zeta5 / 5))));
}

/*
 * log(1 + d) - d for d in [-0.4, 0.7], without cancellation: with r = d/(2+d) it is
 * 2 artanh r - d, and d - 2r = r d.
 */
static double log1p_minus(double d)
{
	static const double odd[] = { 1. / 27, 1. / 25, 1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15,
		                      1. / 13, 1. / 11, 1. / 9,  1. / 7,  1. / 5,  1. / 3 };
	double r, square, sum = 0;

	r = d / (2 + d); /* |r| <= 0.26: 13 terms reach 1e-17 */
	square = r * r;
	for (size_t k = 0; k < GG_COUNT(odd); k++)
		sum = sum * square + odd[k];
	return 2 * r * square * sum - r * d;
}

/*
 * Returns the error of Stirling's formula: log Gamma(z+1) - (z + 1/2) log z + z - log(2 pi)/2, z >
 * 0.
 */
static double stirling_error(double z)
{
	const double half_log_2pi = 0.91893853320467274178;
	double s = 1 / (z * z);

	if (z < 16)
		return log_gamma_1p(z) - (z + 0.5) * log(z) + z - half_log_2pi;
	/* DLMF 5.11.1; the next term is below 1.2e-16 from 16 on. */
	return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / z;
}

/* k log(k/mean) + mean - k, k > 0: the deviance. */
static double deviance(double k, double mean)
{
	double ratio = mean / k;

	if (ratio < 0.6 || ratio > 1.7)
		return mean - k - k * log(ratio);
	return -k * log1p_minus((mean - k) / k);
}

double gg_poisson_probability(double k, double mean)
{
	const double two_pi = 6.28318530717958647693;

	if (!(k >= 0) || !(mean >= 0))
		return NAN;
	if (k == 0)
		return exp(-mean);
	if (mean == 0 || isinf(mean) || isinf(k))
		return 0;
	if (k < 1)
		return exp(k * log(mean) - mean - log_gamma_1p(k));
	return exp(-stirling_error(k) - deviance(k, mean)) / sqrt(two_pi * k);
}

double gg_special_binomial(double k, double n, double x, double y)
{
	const double two_pi = 6.28318530717958647693;
	double rest = n - k, exponent;

	if (k == 0)
		return x < 0.5 ? exp(n * log1p(-x)) : pow(y, n);
	if (rest == 0)
		return y < 0.5 ? exp(n * log1p(-y)) : pow(x, n);
	if (x == 0 || y == 0)
		return 0;
	exponent = stirling_error(n) - stirling_error(k) - stirling_error(rest) -
	           deviance(k, n * x) - deviance(rest, n * y);
	return exp(exponent) * sqrt(n / (two_pi * k * rest));
}

double gg_binomial_probability(double k, double n, double x)
{
	if (!(k >= 0) || !(k <= n) || !(x >= 0) || !(x <= 1))
		return NAN;
	return gg_special_binomial(k, n, x, 1 - x);
}

double gg_normal_upper(double z)
{
	return 0.5 * erfc(z * 0.70710678118654752440);
}

struct gg_gamma_law gg_gamma_law_of(double shape)
{
	const double two_pi = 6.28318530717958647693;

	if (shape < 1)
		return (struct gg_gamma_law){ shape, log_gamma_1p(shape) };
	return (struct gg_gamma_law){ shape, stirling_error(shape) + 0.5 * log(two_pi * shape) };
}

/* gg_poisson_probability(shape, x), 0 < x < infinity. */
static double law_probability(const struct gg_gamma_law *law, double x)
{
	double a = law->shape;

	return exp((a < 1 ? a * log(x) - x : -deviance(a, x)) - law->log_norm);
}

/* P(a, x) / probability(a, x), by DLMF 8.11.4: 1 + x/(a+1) + x^2/((a+1)(a+2)) + ... */
static double gamma_series(double a, double x)
{
	double sum = 1, term = 1;

	for (double n = 1; n < max_step_count && term > sum * (DBL_EPSILON / 8); n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum;
}

/*
 * Lentz's method: by which factor the value of a continued fraction changes with its next term,
 * numerator / denominator.
 */
static double lentz_step(double numerator, double denominator, double *c, double *d)
{
	*d = denominator + numerator * *d;
	*d = 1 / (fabs(*d) < DBL_MIN ? DBL_MIN : *d);
	*c = denominator + numerator / *c;
	*c = fabs(*c) < DBL_MIN ? DBL_MIN : *c;
	return *c * *d;
}

/* Q(a, x) / (a probability(a, x)), by the even part of DLMF 8.9.2 and Lentz's method. */
static double gamma_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, value = d;

	for (double n = 1; n < max_step_count; n++) {
		double numerator = -n * (n - a), factor;

		b += 2;
		factor = lentz_step(numerator, b, &c, &d);
		value *= factor;
		if (fabs(factor - 1) < DBL_EPSILON)
			break;
	}
	return value;
}

/* Q(a, x) for a < 1 and x <= 1.5 (Gautschi).  1 - P would lose all digits where Q is about a. */
static double gamma_upper_small(double a, double x)
{
	double log_power = a * log(x) - log_gamma_1p(a), sum = 0, term = 1;

	for (double n = 1; n < 40; n++) {
		term *= -x / n;
		sum += term / (a + n);
	}
	return -expm1(log_power) - exp(log_power) * a * sum;
}

/* Returns the tail at the ends of the domain, and outside it. */
static double gamma_tail_limit(double a, double x, bool upper)
{
	if (!(a >= 0) || !(x >= 0))
		return NAN;
	if (x == 0)
		return upper ? a > 0 : a == 0;
	if (a == 0 || isinf(x))
		return !upper;
	return upper;
}

double gg_gamma_law_tail(const struct gg_gamma_law *law, double x, bool upper,
                         double *ret_probability)
{
	double a = law->shape, probability, tail;

	if (!(a > 0) || !(x > 0) || isinf(a) || isinf(x)) {
		*ret_probability = gg_poisson_probability(a, x);
		return gamma_tail_limit(a, x, upper);
	}
	*ret_probability = probability = law_probability(law, x);
	/*
	 * A large shape near its mean has an expansion of constant cost.  A small upper tail of a
	 * small shape must not be computed as 1 minus the lower one, which would lose its digits.
	 */
	if (gg_special_is_large(a, x))
		return gg_special_gamma_large(a, deviance(a, x), probability, x > a, upper);
	if (a < 1 && x <= 1.5 && upper)
		return gamma_upper_small(a, x);
	if (x < a + 1) {
		tail = probability * gamma_series(a, x);
		return upper ? 1 - tail : tail;
	}
	tail = a * probability * gamma_fraction(a, x);
	return upper ? tail : 1 - tail;
}

double gg_gamma_lower(double a, double x)
{
	struct gg_gamma_law law = gg_gamma_law_of(a);
	double probability;

	return gg_gamma_law_tail(&law, x, false, &probability);
}

/*
 * I_x(a, b) B(a, b) / (x^a y^b): the even part of DLMF 8.17.22 as Didonato & Morris give it (ACM
 * TOMS 18 (1992) 360), by Lentz's method.  The caller gives lambda = a - (a+b) x >= -1: near the
 * mean its digits are the digits of the result, and x alone does not have them if it is close to 1.
 */
static double beta_fraction(double a, double b, double x, double lambda)
{
	double value = a / (a + 1) * (lambda + 1), c = value, d = 0;

	for (double n = 1; n < max_step_count; n++) {
		double w = n * (b - n) * x / (a + 2 * n - 1), factor;
		double alpha = (a + n - 1) * ((a + b + n - 1) / (a + 2 * n - 1)) * x * w;
		double beta = n + w + (a + n) / (a + 2 * n + 1) * (lambda + 1 + n * (2 - x));

		factor = lentz_step(alpha, beta, &c, &d);
		value *= factor;
		if (fabs(factor - 1) < DBL_EPSILON)
			break;
	}
	return 1 / value;
}

double gg_special_beta(double a, double b, double x, double y, bool upper)
{
	double centre = a < 1 ? a / (a + b) : b < 1 ? (a + 1) / (a + 1 + b) : (a + 1) / (a + b + 2);
	double probability, tail, lambda;

	if (!(a >= 0) || !(b >= 0) || !(x >= 0) || !(y >= 0) || a + b == 0)
		return NAN;
	if (x == 0 || y == 0)
		return upper == (x == 0);
	if (a == 0 || b == 0)
		return upper == (b == 0);
	probability = gg_special_binomial(a, a + b, x, y) * a * (b / (a + b));
	lambda = x < y ? a - (a + b) * x : (a + b) * y - b;
	if (x < centre) {
		tail = probability * beta_fraction(a, b, x, lambda);
		return upper ? 1 - tail : tail;
	}
	tail = probability * beta_fraction(b, a, y, -lambda);
	return upper ? tail : 1 - tail;
}

double gg_beta_lower(double a, double b, double x)
{
	return gg_special_beta(a, b, x, 1 - x, false);
}
