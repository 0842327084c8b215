/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wanted_error - the sampling interval at which an estimate has a wanted error.
 *
 *   double interval = gg_wanted_error_interval(&estimate, 512 * KiB, 0.1, 0.95);
 *
 * Threads   Any thread; the functions are pure.
 */
#pragma once

#include "stats/estimate/tally.h"

/*
 * Returns a sampling interval in bytes at which the same memory would be estimated to within
 * `error` of its value: half the width of the confidence interval, as a share.  The estimate was
 * made at `interval_bytes`.
 *
 * The variance of an allocation of Z bytes is Z^2 / (e^(Z/R) - 1).  It falls at least as fast as
 * R, so scaling the variance by R never promises too much.
 *
 * interval_bytes > 0, error > 0, 0 < confidence < 1; estimate->value > 0.
 */
double gg_wanted_error_interval(const struct gg_estimate *estimate, double interval_bytes,
                                double error, double confidence);

/*
 * Returns in how many seconds an estimate of live bytes with this variance will have the error, if
 * blocks are replaced at random by new ones, of `allocated_bytes_per_second`, that are sampled with
 * that interval.  0: it has the error; INFINITY: this interval and rate never give it.
 */
double gg_wanted_error_seconds(const struct gg_estimate *estimate, double interval_bytes,
                               double allocated_bytes_per_second, double error, double confidence);

/* Rounds an interval down to a size that people would write: two binary digits after the first. */
double gg_wanted_error_round(double interval_bytes);
