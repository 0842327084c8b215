/* SPDX-License-Identifier: Apache-2.0 */
/*
 * theory - predicts for a sampling interval and a size the probability of being sampled, and the
 * error of the estimate.
 *
 *   gg_theory_error(1.5 * MiB, 1, 512 * KiB, GG_CUTOFF_NONE).coverage   0.950
 *   gg_theory_error(64 * KiB, 24, 512 * KiB, GG_CUTOFF_99).expected     0.448
 *
 * Notation  S bytes in all; R is the mean sampling interval; n, a Poisson number with mean S/R,
 *           counts the sample points.
 * Errors    Mean absolute errors relative to S.  For the estimate R n of S, the mean absolute
 *           deviation of a Poisson number has a closed form (Crow 1958): 2 m P(n = floor(m)) for a
 *           mean of m.  So the expected error is 2 P(n = floor(S/R)), exact for every S/R.  Given n
 *           >= 1 it is (2 P(n = floor(S/R)) - e^(-S/R)) / (1 - e^(-S/R)), because n = 0 has the
 *           error 1.
 * Threads   Any thread; the functions are pure.
 */
#pragma once

/* The size from which on an allocation is not sampled but taken as it is. */
enum gg_cutoff {
	GG_CUTOFF_NONE,
	GG_CUTOFF_99,       /* R ln 100: a sample would have a probability of 99 % or more */
	GG_CUTOFF_INTERVAL, /* R: as heapprofd did before Android 12 */
};

/* Returns the least size that is taken as it is; INFINITY if there is no such size. */
double gg_theory_cutoff_bytes(double interval, enum gg_cutoff cutoff);

struct gg_theory_error {
	double coverage;    /* chance that any part of it is sampled */
	double expected;    /* mean |estimate - truth| / truth */
	double conditional; /* the same, given that there is a sample */
	double deviation;   /* standard deviation / truth */
};

/*
 * Computes the error of `count` allocations of size_bytes each, estimated by R n below the cutoff,
 * and exactly from it on.  size_bytes > 0, count > 0, interval > 0.
 */
struct gg_theory_error gg_theory_error(double size_bytes, double count, double interval,
                                       enum gg_cutoff cutoff);

/*
 * Computes the error of the same allocations, estimated by weighted samples: Z/p for each sample,
 * as geiger does by default.  The error of a binomial number also has a closed form (De Moivre
 * 1730).  `count` is rounded down to a whole number.
 */
struct gg_theory_error gg_theory_weighted_error(double size_bytes, double count, double interval);
