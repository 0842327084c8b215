/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failures - computes the negative binomial intervals of interval.h: how many bytes fail before
 * success s.
 */
#include <math.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/special.h"

typedef double cdf(double failures, double samples, double interval);

double gg_interval_failures_cdf(double failures, double samples, double interval)
{
	if (failures < 0)
		return 0;
	if (interval <= 1)
		return 1;
	return gg_beta_lower(samples, failures + 1, 1 / interval);
}

/*
 * I_q(s, F+1) is P(f <= (F+1) q / (s (1-q))), where f has Fisher's distribution with 2s and 2(F+1)
 * degrees of freedom.  The cube root of f is nearly normal (Paulson 1942): with m = 2 (F+1), z =
 * (f^(1/3) (1 - 2/(9m)) - (1 - 1/(9s))) / sqrt(f^(2/3) 2/(9m) + 1/(9s)).
 */
double gg_interval_failures_cdf_camp_paulson(double failures, double samples, double interval)
{
	double trials = failures + 1, spread = 1 / (9 * trials), sample_spread = 1 / (9 * samples);
	double root;

	if (failures < 0)
		return 0;
	if (interval <= 1)
		return 1;
	root = cbrt(trials / (samples * (interval - 1)));
	return gg_normal_upper(-(root * (1 - spread) - (1 - sample_spread)) /
	                       sqrt(root * root * spread + sample_spread));
}

/* Finds the whole F whose CDF is nearest to p; of two equally near ones, the smaller. */
static double nearest(cdf *value, double samples, double interval, double p, double guess)
{
	double low = -1, high = fmax(floor(guess), 0), step = 1;

	/* Gallop from the guess to a bracket: CDF(low) < p <= CDF(high). */
	if (value(high, samples, interval) < p) {
		do {
			low = high;
			high = high + step;
			step *= 4;
		} while (value(high, samples, interval) < p);
	} else {
		while (low < 0 && high > 0) {
			double candidate = fmax(high - step, 0);

			if (value(candidate, samples, interval) < p)
				low = candidate;
			else
				high = candidate;
			step *= 4;
			step = fmax(step, high * 0x1p-52);
		}
	}
	while (high - low > 1) {
		double middle = floor(low + (high - low) / 2);

		/* Beyond 2^53, doubles are more than 1 apart. */
		if (middle <= low || middle >= high)
			break;
		if (value(middle, samples, interval) < p)
			low = middle;
		else
			high = middle;
	}
	if (low < 0)
		return high;
	return p - value(low, samples, interval) <= value(high, samples, interval) - p ? low : high;
}

static struct gg_failures failures(cdf *value, double interval, double samples, double confidence)
{
	double tail = (1 - confidence) / 2, scale = interval - 1;
	struct gg_failures result = { 0, 0 };

	if (samples < 1 || !(interval > 1))
		return result;
	/*
	 * The negative binomial law is close to a gamma law of shape s, whose quantiles are the
	 * first guesses.
	 */
	result.low = nearest(value, samples, interval, tail,
	                     gg_gamma_lower_inverse(samples, tail) * scale);
	result.high = nearest(value, samples, interval, 1 - tail,
	                      gg_gamma_upper_inverse(samples, tail) * scale);
	return result;
}

struct gg_failures gg_interval_failures(double interval, double samples, double confidence)
{
	return failures(gg_interval_failures_cdf, interval, samples, confidence);
}

struct gg_failures gg_interval_failures_camp_paulson(double interval, double samples,
                                                     double confidence)
{
	return failures(gg_interval_failures_cdf_camp_paulson, interval, samples, confidence);
}

struct gg_interval gg_interval_failed_trials(double interval, uint64_t samples, double rest_bytes,
                                             double confidence, enum gg_window window)
{
	double s = (double)samples;
	struct gg_interval result = { .method = GG_METHOD_NEGATIVE_BINOMIAL };

	result.low = gg_interval_failures(interval, s - !!(window & GG_WINDOW_BEGINS_BETWEEN),
	                                  confidence)
	                     .low +
	             rest_bytes;
	result.high = gg_interval_failures(interval, s + !!(window & GG_WINDOW_ENDS_BETWEEN),
	                                   confidence)
	                      .high +
	              rest_bytes;
	return result;
}
