/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval - confidence intervals: how far the truth may be from an estimate.
 *
 *   struct gg_interval bytes = gg_interval_of(&tally, GG_BYTES, 0.95, false);
 *   printf("%g..%g by %s\n", bytes.low, bytes.high, gg_method_name(bytes.method));
 *
 * gg_interval_of() is what reports use.  Its rule and the measured coverage are in
 * docs/ESTIMATION.md; the functions below it are the methods themselves.
 *
 * All intervals are two-sided with equal tails: with a = 1 - confidence, the truth is below `low`
 * with probability a/2 at most, and above `high` likewise.
 *
 * Notation  R sampling interval, q = 1/R, s samples, u the bytes of samples from their mark on.
 * Threads   any; pure.
 */
#pragma once

#include <stdbool.h>

#include "stats/estimate/tally.h"

enum gg_method {
	GG_METHOD_EXACT,     /* everything was sampled with certainty: no error */
	GG_METHOD_NO_SAMPLE, /* zero-sample bound */
	GG_METHOD_COMPOUND,  /* what the samples stand for, by three cumulants */
	GG_METHOD_TRUNCATED, /* the same, given that there is a sample */
	GG_METHOD_NORMAL,
	GG_METHOD_GAMMA,             /* Fay & Feuer */
	GG_METHOD_NEGATIVE_BINOMIAL, /* failed trials */
	GG_METHOD_CAMP_PAULSON,
	GG_METHOD_UNKNOWN, /* the error is not known (gg_tally_has_error): no bound, 0 and INFINITY */
};

struct gg_interval {
	double low, high; /* high may be INFINITY: no bound */
	enum gg_method method;
};

/* "gamma", "zero-sample bound", ...; for reports. */
const char *gg_method_name(enum gg_method method);

/*
 * The interval of a group, by a method that follows from its samples alone.
 *
 * discovered: the group is shown because it has a sample (a row of a list), and would not be known
 * otherwise.  Then coverage is meant over the rows that are shown.  False for groups fixed in
 * advance: the total, a process, a function that was asked for by name.
 *
 * A group without samples has [0, R ln(2/a)] bytes, R the largest interval that it was exposed to
 * (INFINITY where none is known).  Allocations without samples have no bound: INFINITY.
 *
 * Where samples may belong to the group or not (tally.h, `uncertain`), the lower end is that of
 * the group without them, and the upper end that of the group with all of them.  Where samples of
 * the group were dropped, there is no upper end: INFINITY.  Bytes of samples that were drawn whatever
 * their sizes (per-allocation) have none either: a rare large block is as likely to be missed as any.
 *
 * Counts are of allocations at least as large as the smallest sample: no sample tells how many
 * smaller ones there were.  Where a larger interval was in force than any that a sample was drawn
 * with, allocations of that smallest size are taken to hide there.
 */
struct gg_interval gg_interval_of(const struct gg_tally *tally, enum gg_quantity quantity,
                                  double confidence, bool discovered);

/* R ln(2/a): what a group may hold of which nothing was sampled; 3.7 R at 95 %. */
double gg_interval_unseen_bytes(double interval, double confidence);

/* The same in allocations of one size: ln(2/a) / p. */
double gg_interval_unseen_count(double probability, double confidence);

/* value +- z sqrt(variance). */
struct gg_interval gg_interval_normal(struct gg_estimate estimate, double confidence);

/*
 * Gamma interval of a sum of weighted Poisson counts (Fay & Feuer, Stat. Med. 16 (1997) 791):
 * low = v/(2y) chi2(a/2; 2y^2/v), high = (v+m^2)/(2(y+m)) chi2(1-a/2; 2(y+m)^2/(v+m^2)).
 * weight_max: m, what one more event could add.
 */
struct gg_interval gg_interval_gamma(struct gg_estimate estimate, double weight_max,
                                     double confidence);

/* Failed trials before success s: whole numbers, in a double. */
struct gg_failures {
	double low, high;
};

/*
 * The F whose negative binomial CDF, I_q(s, F+1), is nearest to a/2 and to 1 - a/2.  The interval of
 * bytes is [low + u, high + u].  s >= 1; for s < 1 low and high are 0.
 */
struct gg_failures gg_interval_failures(double interval, double samples, double confidence);

/* The same by the approximation of Camp & Paulson (Bartko, Technometrics 8 (1966) 345). */
struct gg_failures gg_interval_failures_camp_paulson(double interval, double samples,
                                                     double confidence);

/* P(failures <= F): exact, and the approximation, whose error is at most 0.0122 at s = 1 and 0.0013 at
 * s = 5. */
double gg_interval_failures_cdf(double failures, double samples, double interval);
double gg_interval_failures_cdf_camp_paulson(double failures, double samples, double interval);

/* Does a time window begin and end at samples, or anywhere between two? */
enum gg_window {
	GG_WINDOW_ALIGNED = 0,
	GG_WINDOW_BEGINS_BETWEEN = 1, /* lower end as if there were one sample fewer */
	GG_WINDOW_ENDS_BETWEEN = 2,   /* upper end as if there were one more */
	GG_WINDOW_FREE = 3,           /* both: any window that a clock or a person chose */
};

/*
 * Failed-trials interval of samples that were all drawn with one interval, u = rest_bytes.
 */
struct gg_interval gg_interval_failed_trials(double interval, uint64_t samples, double rest_bytes,
                                             double confidence, enum gg_window window);
