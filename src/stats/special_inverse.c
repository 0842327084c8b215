/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverses: Newton's method on the logarithm of the tail, in the logarithm of the argument (for
 * beta its logit), inside a bracket that shrinks with every step.  The logarithm of a tail is
 * concave there, which makes Newton safe from one side and fast from both; where a step leaves the
 * bracket it is halved instead.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "stats/special.h"
#include "stats/special_internal.h"

/* One tail of one distribution, as a function of t. */
struct tail {
	double a, b;
	bool upper;
	double (*value)(const struct tail *tail, double t, double *ret_slope);
};

static double gamma_value(const struct tail *tail, double t, double *ret_slope)
{
	double x = exp(t), slope = tail->a * gg_poisson_probability(tail->a, x);

	*ret_slope = tail->upper ? -slope : slope;
	return tail->upper ? gg_gamma_upper(tail->a, x) : gg_gamma_lower(tail->a, x);
}

static double beta_value(const struct tail *tail, double t, double *ret_slope)
{
	double x = 1 / (1 + exp(-t)), y = 1 / (1 + exp(t)), sum = tail->a + tail->b;
	double slope = gg_special_binomial(tail->a, sum, x, y) * tail->a * (tail->b / sum);

	*ret_slope = tail->upper ? -slope : slope;
	return gg_special_beta(tail->a, tail->b, x, y, tail->upper);
}

static double normal_value(const struct tail *tail, double t, double *ret_slope)
{
	(void)tail;
	*ret_slope = -exp(-0.5 * t * t) * 0.39894228040143267794;
	return gg_normal_upper(t);
}

/* The t in [low, high] where the tail is p; from t. */
static double solve(const struct tail *tail, double p, double t, double low, double high)
{
	for (int i = 0; i < 200; i++) {
		double slope, value = tail->value(tail, t, &slope), step, next;

		if ((value < p) == !tail->upper)
			low = t;
		else
			high = t;
		step = value > 0 && slope != 0 ? value / slope * log(p / value) : NAN;
		next = t + step;
		/* Not a number, or outside: halve. */
		if (!(next >= low && next <= high)) {
			next = 0.5 * (low + high);
			step = next - t;
		}
		t = next;
		if (fabs(step) <= 2 * DBL_EPSILON * fmax(1, fabs(t)) || high - low <= DBL_EPSILON)
			break;
	}
	return t;
}

double gg_normal_upper_inverse(double p)
{
	struct tail tail = { .value = normal_value, .upper = true };
	double guess;

	if (!(p >= 0) || !(p <= 1))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? INFINITY : -INFINITY;
	if (p > 0.5)
		return -gg_normal_upper_inverse(1 - p); /* exact from 1/2 on (Sterbenz) */
	guess = sqrt(-2 * log(2 * p));                  /* not below the answer */
	return solve(&tail, p, guess, 0, 40);
}

/* Wilson & Hilferty's cube where it is positive, else the first term of the series at 0. */
static double gamma_guess(double a, double p, bool upper)
{
	double spread = 1 / (9 * a), z = gg_normal_upper_inverse(p), root;
	int sign;

	root = 1 - spread + (upper ? z : -z) * sqrt(spread);
	if (upper || root > 0.3)
		return log(a) + 3 * log(fmax(root, 0.01));
	return (log(p) + lgamma_r(a + 1, &sign)) / a;
}

/*
 * Beyond this shape neighbouring doubles are so far apart, in standard deviations, that Newton's
 * method has nothing to go by, while Cornish & Fisher's expansion (1938) has converged: the next
 * term, -(3z^4 + 7z^2 - 16) / (810 a), is below 1e-20 of the answer for all tails of a double.
 */
static const double huge_shape = 1e12;

static double gamma_inverse_huge(double a, double p, bool upper)
{
	double z = gg_normal_upper_inverse(p) * (upper ? 1 : -1), root = sqrt(a);

	return a + (root * z + (z * z - 1) / 3 + (z * z - 7) * z / (36 * root));
}

static double gamma_inverse(double a, double p, bool upper)
{
	struct tail tail = { .a = a, .upper = upper, .value = gamma_value };

	if (!(a >= 0) || !(p >= 0) || !(p <= 1))
		return NAN;
	if (a == 0)
		return 0;
	if (p == 0 || p == 1)
		return upper == (p == 0) ? INFINITY : 0;
	if (p > 0.5) {
		p = 1 - p;
		tail.upper = !upper;
	}
	if (a > huge_shape)
		return gamma_inverse_huge(a, p, tail.upper);
	/* The exponential's range: an answer below 1e-308 is 0. */
	return exp(solve(&tail, p, gamma_guess(a, p, tail.upper), -745, 709));
}

double gg_gamma_lower_inverse(double a, double p)
{
	return gamma_inverse(a, p, false);
}

double gg_gamma_upper_inverse(double a, double p)
{
	return gamma_inverse(a, p, true);
}

double gg_chi_square_lower_inverse(double degrees, double p)
{
	return 2 * gamma_inverse(0.5 * degrees, p, false);
}

double gg_chi_square_upper_inverse(double degrees, double p)
{
	return 2 * gamma_inverse(0.5 * degrees, p, true);
}

/*
 * A first guess: a quotient of two gammas when one shape is small beside the other, else normal in
 * the logit, whose variance is about 1/a + 1/b.
 */
static double beta_guess(double a, double b, double p, bool upper)
{
	double z = gg_normal_upper_inverse(p) * (upper ? 1 : -1);

	if (a < 0.05 * b)
		return gamma_guess(a, p, upper) - log(b);
	if (b < 0.05 * a)
		return log(a) - gamma_guess(b, p, !upper);
	return log(a / b) + z * sqrt(1 / a + 1 / b);
}

static double beta_inverse(double a, double b, double p, bool upper)
{
	struct tail tail = { .a = a, .b = b, .upper = upper, .value = beta_value };
	double t;

	if (!(a >= 0) || !(b >= 0) || !(p >= 0) || !(p <= 1) || a + b == 0)
		return NAN;
	if (a == 0 || b == 0)
		return b == 0;
	if (p == 0 || p == 1)
		return upper == (p == 0);
	if (p > 0.5) {
		p = 1 - p;
		tail.upper = !upper;
	}
	t = beta_guess(a, b, p, tail.upper);
	t = solve(&tail, p, fmin(fmax(t, -740), 740), -745, 745);
	return 1 / (1 + exp(-t));
}

double gg_beta_lower_inverse(double a, double b, double p)
{
	return beta_inverse(a, b, p, false);
}

double gg_beta_upper_inverse(double a, double b, double p)
{
	return beta_inverse(a, b, p, true);
}
