/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_sums - converts a row of a file, with its objects and bytes, to a sum with its error.
 *
 *   struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, 524288 };
 *   struct gg_row_sums sum = gg_row_weighing(&how, 3, 196608);    3 sampled objects, 192 KiB in all
 *
 * Numbers have a different meaning in each format:
 *
 *   exact     every allocation was counted
 *   sampled   sums of samples: the reader divides by p = 1 - exp(-(bytes/objects)/R), row by row
 *   scaled    the writer of the file has already done that
 *   points    R for each sample point (heapprofd): bytes are scaled, objects are the sampled ones
 *   unknown   the method is unknown, so there is no error
 *
 * The variance of a row.  If all its allocations have one size Z = bytes/objects, N of them have
 * the variance N Z^2 (1-p)/p = N R^2 h(Z/R), where h(y) = y^2 / (e^y - 1).  For a row with
 * different sizes, the variance is the sum of R^2 h(Z_i/R). h is concave up to its maximum,
 * h(1.594) = 0.648.  So for a mean size up to there, N R^2 h is never less than that sum (Jensen).
 * Beyond there, N R^2 0.648 is never less.  So the error in bytes of `is_mixed` rows is never too
 * small.
 *
 * The lower end of a confidence interval needs the bytes that were certainly seen, which follow in
 * the same way.  They are N Z (1 - e^-y) for one size, and at least B - N R / e for a mean beyond
 * R, because y e^-y is concave up to its maximum, 1/e at 1.  Numbers of objects have no such bound,
 * because one small sampled object represents thousands.  For objects, the module assumes that all
 * have one size.
 *
 * Threads  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/fixed.h"

enum gg_row_weighing_kind {
	GG_ROW_WEIGHING_EXACT,
	GG_ROW_WEIGHING_SAMPLED,
	GG_ROW_WEIGHING_SCALED,
	GG_ROW_WEIGHING_SAMPLE_POINTS,
	GG_ROW_WEIGHING_UNKNOWN,
};

struct gg_row_weighing {
	enum gg_row_weighing_kind kind;
	double interval_bytes; /* R; unused for exact and unknown */
	bool is_mixed;         /* a row may have allocations of different sizes */
};

/*
 * The fields are signed and of double precision, so sums can be subtracted; gg_row_sums_sums()
 * rounds.
 */
struct gg_row_sums {
	double samples, size;         /* number and bytes of the samples */
	double count, count_variance; /* estimates */
	double bytes, bytes_variance;
	double count_skew, bytes_skew; /* third cumulants; 0: unknown */
	uint32_t unknown_errors;       /* 1 << enum gg_quantity */
};

/*
 * Returns the estimate for `count` objects with `bytes` in total; both are finite and not negative.
 */
struct gg_row_sums gg_row_weighing(const struct gg_row_weighing *how, double count, double bytes);

/* Adds `more` to `sum`. */
void gg_row_sums_add(struct gg_row_sums *sum, const struct gg_row_sums *more);

/* Subtracts `part` from `all`, which includes it: such as the freed from the allocated memory. */
struct gg_row_sums gg_row_sums_rest(const struct gg_row_sums *all, const struct gg_row_sums *part);

/* Rounds a sum for storage; a sum that is not empty has at least one sample. */
struct gg_sums gg_row_sums_sums(const struct gg_row_sums *weighed);
