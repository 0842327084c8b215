/* SPDX-License-Identifier: Apache-2.0 */
/*
 * theory - predicts for a sampling interval and a size the probability of being sampled, and the
 * error of the estimate.
 *
 *   gg_theory_coverage(1.5 * MiB, 512 * KiB)                        0.950
 *   gg_theory_error(64 * KiB, 24, 512 * KiB, GG_CUTOFF_99).expected  of 24 allocations of 64 KiB
 *
 * Notation  S bytes in all, R mean sampling interval, n Poisson of mean S/R the number of marks.
 * Errors    are mean absolute errors relative to S.  For R n against S the mean absolute deviation
 *           of a Poisson number has a closed form (Crow 1958), 2 m P(n = floor(m)) for a mean of m,
 *           so the expected error is 2 P(n = floor(S/R)), exact for every S/R; given n >= 1 it is
 *           (2 P(n = floor(S/R)) - e^(-S/R)) / (1 - e^(-S/R)), since n = 0 has the error 1.
 * Threads   any; pure.
 */
#pragma once

/* From which size on an allocation is not sampled but taken as it is. */
enum gg_cutoff {
	GG_CUTOFF_NONE,
	GG_CUTOFF_99,       /* R ln 100: it would be sampled with 99 % or more */
	GG_CUTOFF_INTERVAL, /* R: as heapprofd did before Android 12 */
};

/* The least size taken as it is; INFINITY for none. */
double gg_theory_cutoff_bytes(double interval, enum gg_cutoff cutoff);

/* 1 - e^(-S/R): the chance that at least one mark falls on S bytes, however they are split up. */
double gg_theory_coverage(double bytes, double interval);

/* Its inverses: the bytes that are seen with probability p, and the interval that sees them so. */
double gg_theory_bytes_for(double probability, double interval);
double gg_theory_interval_for(double probability, double bytes);

struct gg_theory_error {
	double coverage;    /* chance that anything of it is sampled */
	double expected;    /* mean |estimate - truth| / truth */
	double conditional; /* the same, given that something was sampled */
	double deviation;   /* standard deviation / truth */
};

/*
 * `count` allocations of size_bytes each, estimated by R n (below the cutoff) or exactly (from it
 * on).  size_bytes > 0, count > 0, interval > 0.
 */
struct gg_theory_error gg_theory_error(double size_bytes, double count, double interval,
                                       enum gg_cutoff cutoff);

/*
 * The same allocations estimated by weighted samples, Z/p for each that is sampled: what geiger
 * does by default.  The error of a binomial number has a closed form too (De Moivre 1730).  `count`
 * is rounded down to a whole number.
 */
struct gg_theory_error gg_theory_weighted_error(double size_bytes, double count, double interval);
