/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval - computes confidence intervals: how far the truth may be from an estimate.
 *
 *   struct gg_interval bytes = gg_interval_of(&tally, GG_BYTES, 0.95, false);
 *   printf("%g to %g\n", bytes.low, bytes.high);
 *
 * Reports use gg_interval_of().  docs/ESTIMATION.md has its rule and the measured coverage.  The
 * functions after it are the methods themselves.
 *
 * All intervals are two-sided with equal tails.  With a = 1 - confidence, the truth is below `low`
 * with a probability of at most a/2, and above `high` with at most a/2.
 *
 * Notation  R is the sampling interval, q = 1/R, s the number of samples, and u the bytes of
 *           samples from their sample point on.
 * Threads   Any thread; the functions are pure.
 */
#pragma once

#include <stdbool.h>

#include "stats/estimate/tally.h"

enum gg_method {
	GG_METHOD_EXACT,     /* everything was sampled with certainty, so there is no error */
	GG_METHOD_NO_SAMPLE, /* zero-sample bound */
	GG_METHOD_COMPOUND,  /* the law of the samples, by three cumulants */
	GG_METHOD_TRUNCATED, /* the same law, given that there is a sample */
	GG_METHOD_NORMAL,
	GG_METHOD_GAMMA,             /* Fay & Feuer */
	GG_METHOD_NEGATIVE_BINOMIAL, /* failed trials */
	GG_METHOD_CAMP_PAULSON,
	/* The error is unknown (gg_tally_has_error); the ends are 0 and INFINITY. */
	GG_METHOD_UNKNOWN,
};

struct gg_interval {
	double low, high; /* INFINITY as `high`: no bound */
	enum gg_method method;
};

/*
 * Computes the interval of a group, by a method that depends only on its samples.
 *
 * `discovered`: the group is shown because it has a sample (a row of a list), and would otherwise
 * be unknown.  The coverage then refers to the rows that are shown.  It is false for groups that
 * are fixed in advance: the total, a process, a function that the user named.
 *
 * A group without samples has [0, R ln(2/a)] bytes, where R is the largest interval that it was
 * exposed to; INFINITY if no interval is known.  A count of allocations without samples has no
 * bound: INFINITY.
 *
 * If some samples may or may not belong to the group (tally.h, `uncertain`), the lower end is that
 * of the group without them, and the upper end that of the group with all of them.  If samples of
 * the group were dropped, there is no upper end: INFINITY.  Bytes of samples that were drawn
 * whatever their sizes (per-allocation) also have no upper end, because a rare large block is as
 * likely to be missed as any block.
 *
 * Counts include only allocations at least as large as the smallest sample: no sample can tell how
 * many smaller ones there were.  If a larger interval was in force than that of any sample, the
 * upper end assumes that allocations of that smallest size hide there.
 */
struct gg_interval gg_interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                  double confidence, bool discovered);

/* Returns R ln(2/a), the most bytes that a group without samples may hold; 3.7 R at 95 %. */
double gg_interval_unseen_bytes(double interval, double confidence);

/* Returns the most allocations of one size that a group without samples may hold: ln(2/a) / p. */
double gg_interval_unseen_count(double probability, double confidence);

/* Computes value +- z sqrt(variance). */
struct gg_interval gg_interval_normal(struct gg_estimate estimate, double confidence);

/*
 * Computes the gamma interval of a sum of weighted Poisson counts (Fay & Feuer, Stat. Med. 16
 * (1997) 791): low = v/(2y) chi2(a/2; 2y^2/v), high = (v+m^2)/(2(y+m)) chi2(1-a/2;
 * 2(y+m)^2/(v+m^2)).  weight_max is m, the most that one more event could add.
 */
struct gg_interval gg_interval_gamma(struct gg_estimate estimate, double weight_max,
                                     double confidence);

/* Failed trials before success s: whole numbers, in doubles. */
struct gg_failures {
	double low, high;
};

/*
 * Computes the F whose negative binomial CDF, I_q(s, F+1), is nearest to a/2 and to 1 - a/2.  The
 * interval of bytes is [low + u, high + u].  s >= 1; for s < 1, low and high are 0.
 */
struct gg_failures gg_interval_failures(double interval, double samples, double confidence);

/*
 * Computes the F of gg_interval_failures() by the approximation of Camp & Paulson (Bartko,
 * Technometrics 8 (1966) 345).
 */
struct gg_failures gg_interval_failures_camp_paulson(double interval, double samples,
                                                     double confidence);

/*
 * Return P(failures <= F), exact and by the approximation, whose error is at most 0.0122 at s = 1
 * and 0.0013 at s = 5.
 */
double gg_interval_failures_cdf(double failures, double samples, double interval);
double gg_interval_failures_cdf_camp_paulson(double failures, double samples, double interval);

/* Whether a time window begins and ends at samples, or anywhere between two samples. */
enum gg_window {
	GG_WINDOW_ALIGNED = 0,
	GG_WINDOW_BEGINS_BETWEEN = 1, /* the lower end assumes one sample fewer */
	GG_WINDOW_ENDS_BETWEEN = 2,   /* the upper end assumes one sample more */
	GG_WINDOW_FREE = 3,           /* both: any window that a clock or a person chose */
};

/*
 * Computes the failed-trials interval of samples that were all drawn with one interval, with u =
 * rest_bytes.
 */
struct gg_interval gg_interval_failed_trials(double interval, uint64_t samples, double rest_bytes,
                                             double confidence, enum gg_window window);
