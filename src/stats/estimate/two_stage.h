/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_stage - estimates for all hosts of a fleet from those whose stacks were drawn, and compares
 * sets of hosts.
 *
 *   struct gg_drawn_units drawn = { .values = y, .known = x, .unit_count = 50, .drawn_count = 50,
 *                                   .all_count = 2000, .known_total = 1e12,
 *                                   .sampling_variance = v };
 *   struct gg_two_stage sum = gg_two_stage_of(&drawn);
 *   gg_two_stage_extend(&tally, GG_BYTES, &sum, 0.95);
 *   gg_interval_of(&tally, GG_BYTES, 0.95, false)         holds both errors
 *
 * The error of a fleet's sum has two stages: which hosts were drawn, and which allocations were
 * sampled on them.  The samples of one host come and go together, so multiplying the two chances
 * and adding samples up gives an interval that is far too narrow (test_stats_two_stage shows it).
 *
 * Estimate  The ratio estimator (Cochran, Sampling Techniques, ch. 6 and 11): T = X sum y / sum x,
 *           where x is known of every host (its resident memory, or 1), and X is its total.
 * Variance  Units are hosts, or random groups of hosts.  With residuals e = y - (T/X) x, their
 *           variance s^2, G units, and f = drawn / all hosts:
 *
 *             (X / sum x)^2 ((1 - f) G s^2 + f V)
 *
 *           V is the sampling variance of the drawn hosts' sum.  s^2 contains it already, so the
 *           second term restores the part that (1 - f) takes away.
 * Skew      The third cumulant in the same way, from the third moment of the residuals; never
 *           below that of a gamma law with this mean and variance, because few units say little
 *           about rare large hosts.
 * Draws     Each hour may draw hosts anew (gg_two_stage_join).  Given what the samples of all hosts
 *           say, the errors of two draws are independent, so their variances add: w^2 (v - s),
 *           where s is the part of sampling.  Sampling errors are not independent, because a
 *           sample may live through several hours: those of an average have at most the variance
 *           (sum w sqrt(s))^2.
 * Few units The interval has the quantile of Student's t with G - 1 degrees in place of the normal
 *           one, by a variance that is larger by the square of their ratio.
 * Threads   any; the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/estimate/tally.h"

struct gg_drawn_units {
	const double *values;                    /* y of each unit */
	const double *known;                     /* x of each unit, > 0 in sum */
	size_t unit_count;                       /* G */
	double drawn_count, all_count;           /* hosts: 1 <= drawn <= all */
	double known_total;                      /* X: of all hosts */
	double sampling_variance, sampling_skew; /* of the sum of the values */
};

struct gg_two_stage {
	double scale; /* X / sum x */
	double value, variance, skew;
	double sampling_variance, sampling_skew; /* the part that would stay with all hosts drawn */
	double degrees; /* of freedom; 0: one unit, whose variance is unknown */
};

/* unit_count >= 1. */
struct gg_two_stage gg_two_stage_of(const struct gg_drawn_units *drawn);

/*
 * The sum of all parts, each for a draw of its own; or, as an average, the sum of weights[i] times
 * each, where the weights add up to 1.  Degrees are those of Satterthwaite (Biometrics Bulletin 2
 * (1946) 110).  count >= 1.
 */
struct gg_two_stage gg_two_stage_join(const struct gg_two_stage *parts, const double *weights,
                                      size_t count, bool is_average);

/*
 * Makes the tally of the drawn hosts that of all hosts, for intervals with that confidence: `of` is
 * the quantity of the sum, and other quantities become unknown.  With one unit the tally has no
 * upper end.
 */
void gg_two_stage_extend(struct gg_tally *tally, enum gg_quantity of,
                         const struct gg_two_stage *sum, double confidence);

/* Return the two-sided p-value of |t|, and the t with that p-value, for Student's law. */
double gg_student_p_value(double t, double degrees);
double gg_student_quantile(double p_value, double degrees);

/* Mean and variance of hosts of one kind. */
struct gg_unit_mean {
	double mean, variance; /* of the mean */
	double degrees;        /* units - 1 */
};

struct gg_unit_mean gg_unit_mean_of(const double *values, size_t count);

/* The difference of the means of two sets of hosts (Welch, Biometrika 34 (1947) 28). */
struct gg_unit_difference {
	double value, low, high;
	double p_value; /* NaN: a side has fewer than two units, or no unit differs from another */
};

struct gg_unit_difference gg_unit_difference_of(const struct gg_unit_mean *before,
                                                const struct gg_unit_mean *after,
                                                double confidence);
