/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_sums - what a row of a file says, objects and bytes, as a sum with its error.
 *
 *   struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, 524288 };
 *   struct gg_sums_known sum = gg_row_weighing(&how, 3, 196608);       3 sampled objects, 192 KiB together
 *
 * Formats differ in what their numbers are:
 *
 *   exact     every allocation was counted
 *   sampled   of the samples alone: the reader divides by p = 1 - exp(-(bytes/objects)/R), row by row
 *   scaled    that was done by whoever wrote them
 *   marks     R for each mark (heapprofd): bytes are scaled, objects are those sampled
 *   unknown   nobody says how they came about: no error can be given
 *
 * The variance of a row.  If its allocations have one size Z = bytes/objects, N of them have the
 * variance N Z^2 (1-p)/p = N R^2 h(Z/R), h(y) = y^2 / (e^y - 1).  A row that sums up different sizes has
 * sum R^2 h(Z_i/R) instead.  h is concave up to its maximum, h(1.594) = 0.648; so for a mean size up to
 * there N R^2 h is never less than that sum (Jensen), and beyond there N R^2 0.648 is not.  So `is_mixed`
 * rows get an error that is never too small, for bytes.  In the same way what was certainly seen, of which
 * the lower end of an interval is made: N Z (1 - e^-y) for one size, and B - N R / e at least for a mean
 * beyond R (y e^-y is concave up to its maximum, 1/e at 1).  For numbers of objects there is no such bound:
 * one that is small and was sampled once stands for thousands; they are taken as if all were of one size.
 *
 * Threads  any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/fixed.h"

enum gg_row_weighing_kind {
	GG_ROW_WEIGHING_EXACT,
	GG_ROW_WEIGHING_SAMPLED,
	GG_ROW_WEIGHING_SCALED,
	GG_ROW_WEIGHING_MARKS,
	GG_ROW_WEIGHING_UNKNOWN,
};

struct gg_row_weighing {
	enum gg_row_weighing_kind kind;
	double interval_bytes; /* R; of exact and unknown not looked at */
	bool is_mixed;         /* a row may have allocations of different sizes */
};

/* Of double precision and signed, so that one can be taken from another; gg_row_sums_sums() rounds. */
struct gg_row_sums {
	double samples, size;         /* of the samples themselves */
	double count, count_variance; /* estimates */
	double bytes, bytes_variance;
	double count_skew, bytes_skew; /* third cumulants; 0: not known */
	uint32_t unknown_errors;       /* 1 << enum gg_quantity */
};

/* What `count` objects of together `bytes` stand for; both >= 0 and finite. */
struct gg_row_sums gg_row_weighing(const struct gg_row_weighing *how, double count, double bytes);

/* sum += more. */
void gg_row_sums_add(struct gg_row_sums *sum, const struct gg_row_sums *more);

/* What is left of `all` without `part`, which is in it: what was freed of what was allocated. */
struct gg_row_sums gg_row_sums_rest(const struct gg_row_sums *all, const struct gg_row_sums *part);

/* As it is stored; at least one sample where there is anything. */
struct gg_sums gg_row_sums_sums(const struct gg_row_sums *weighed);
