/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special_inverse - inverts the tails of normal and gamma laws.
 *
 * The search is Newton's method on the logarithm of the tail, in the logarithm of the argument,
 * inside a bracket that shrinks with every step.  The logarithm of a tail is concave there, which
 * makes Newton's method safe from one side and fast from both.  A step that would leave the bracket
 * is replaced by halving.  The second derivative costs nothing more, so Halley's correction makes
 * each step cubic: an inverse takes two or three tails.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "stats/estimate/special.h"

/*
 * Guesses the z with P(X > z) = p within 4.5e-4 (Hastings 1955, Abramowitz & Stegun 26.2.23); 0 < p
 * <= 1/2.
 */
static double normal_guess(double p)
{
	double t = sqrt(-2 * log(p));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
	                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

double gg_normal_upper_inverse(double p)
{
	double z;

	if (!(p >= 0) || !(p <= 1))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? INFINITY : -INFINITY;
	if (p > 0.5)
		return -gg_normal_upper_inverse(1 - p); /* exact from 1/2 on (Sterbenz) */
	z = normal_guess(p);
	for (int i = 0; i < 2; i++) { /* errors with Halley's correction: 4.5e-4, 1e-9, exact */
		double density = exp(-0.5 * z * z) * 0.39894228040143267794;
		double step = (gg_normal_upper(z) - p) / density;

		z += step / (1 - 0.5 * z * step);
	}
	return z;
}

/*
 * Guesses log x: by Wilson & Hilferty's cube if it is positive, otherwise by the first term of the
 * series at 0.
 */
static double gamma_guess(double a, double p, bool upper)
{
	double spread = 1 / (9 * a), z = normal_guess(p), root;
	int sign;

	root = 1 - spread + (upper ? z : -z) * sqrt(spread);
	if (upper || root > 0.3)
		return log(a) + 3 * log(fmax(root, 0.01));
	return (log(p) + lgamma_r(a + 1, &sign)) / a;
}

/*
 * Beyond this shape, neighboring doubles are so many standard deviations apart that Newton's method
 * has no information, while Cornish & Fisher's expansion (1938) has converged: the next term,
 * -(3z^4 + 7z^2 - 16) / (810 a), is below 1e-20 of the answer for all tails of a double.
 */
static const double huge_shape = 1e12;

static double gamma_inverse_huge(double a, double p, bool upper)
{
	double z = gg_normal_upper_inverse(p) * (upper ? 1 : -1), root = sqrt(a);

	return a + (root * z + (z * z - 1) / 3 + (z * z - 7) * z / (36 * root));
}

/* Finds log x with tail p <= 1/2, starting from t. */
static double solve_gamma(const struct gg_gamma_law *law, double p, bool upper, double t)
{
	double low = -745, high = 709; /* the range of exp(): an answer below 1e-308 is 0 */
	/*
	 * In standard deviations.  A step this small leaves an error of its cube, which is
	 * negligible.
	 */
	double enough = 1e-4 / fmax(1, sqrt(law->shape));

	for (int i = 0; i < 200; i++) {
		double x = exp(t), probability, slope, step, halley;
		double value = gg_gamma_law_tail(law, x, upper, &probability);

		if ((value < p) == !upper)
			low = t;
		else
			high = t;
		/*
		 * The derivative of log(tail) by t.  Its own derivative is slope * (a - x - slope).
		 */
		slope = law->shape * probability / value * (upper ? -1 : 1);
		step = value > 0 && slope != 0 ? log(p / value) / slope : NAN;
		halley = 1 + 0.5 * step * (law->shape - x - slope);
		if (halley > 0.5 && halley < 2)
			step /= halley;
		/* The step is not a number, or leaves the bracket: halve the bracket instead. */
		if (!(t + step >= low && t + step <= high))
			step = 0.5 * (low + high) - t;
		t += step;
		if (fabs(step) <= enough || high - low <= DBL_EPSILON)
			break;
	}
	return t;
}

double gg_gamma_law_inverse(const struct gg_gamma_law *law, double p, bool upper)
{
	double a = law->shape;

	if (!(a >= 0) || !(p >= 0) || !(p <= 1))
		return NAN;
	if (a == 0)
		return 0;
	if (p == 0 || p == 1)
		return upper == (p == 0) ? INFINITY : 0;
	if (p > 0.5) {
		p = 1 - p;
		upper = !upper;
	}
	if (a > huge_shape)
		return gamma_inverse_huge(a, p, upper);
	return exp(solve_gamma(law, p, upper, gamma_guess(a, p, upper)));
}

static double gamma_inverse(double a, double p, bool upper)
{
	struct gg_gamma_law law = gg_gamma_law_of(a);

	return gg_gamma_law_inverse(&law, p, upper);
}

double gg_gamma_lower_inverse(double a, double p)
{
	return gamma_inverse(a, p, false);
}

double gg_gamma_upper_inverse(double a, double p)
{
	return gamma_inverse(a, p, true);
}

double gg_chi_square_upper_inverse(double degrees, double p)
{
	return 2 * gamma_inverse(0.5 * degrees, p, true);
}
