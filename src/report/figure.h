/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure - an estimate and its confidence interval, as text and as a bar.
 *
 *   struct gg_figure figure = gg_figure_of(&tally, GG_BYTES, 0.95, true);
 *   gg_figure_append(&how, &figure, &out);         "312.4 MiB ± 6 %", "180..640 KiB", "< 1.84 MiB"
 *   gg_figure_append_bar(&how, &figure, most, 12, &out);
 *
 * Text  "± 6 %" where both ends are about as far from the estimate, and near: the farther one, rounded
 *       up.  Otherwise the two ends alone: no single number stands for such a row.  Without a sample
 *       only the upper end; "at least" the low end where samples were dropped; only the number where nothing was left to chance, and where the error is
 *       not known (then `is_unknown`, and the bar is its mark).
 * Bar   solid up to the low end, a mark at the estimate, thin up to the high end; from 0 to `most`.
 *
 * Threads  any; they append to the buffer alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "stats/estimate/tally.h"

struct gg_figure {
	double estimate, low, high; /* high may be INFINITY: no bound */
	enum gg_quantity quantity;
	bool is_unknown; /* how far the truth may be; low and high are 0 and INFINITY */
	bool is_least;   /* samples were dropped, or nobody watched for a while: high is INFINITY */
};

/* How figures are written. */
struct gg_figure_style {
	bool raw;   /* bytes and allocations as whole numbers */
	bool ascii; /* no character beyond ASCII */
};

/* discovered: as for gg_interval_of(). */
struct gg_figure gg_figure_of(const struct gg_tally *tally, enum gg_quantity quantity,
                              double confidence, bool discovered);

/* Of an estimate and its ends; an upper end of INFINITY is none. */
struct gg_figure gg_figure_between(double estimate, double low, double high,
                                   enum gg_quantity quantity);

/*
 * Bytes by the other estimator, failed trials (tally.h), whose law is known exactly: for groups whose
 * samples have offsets and were all drawn with one sampling interval.  False: these were not, or some
 * of them were folded.  The ends are those of a group that begins and ends between two samples.
 */
bool gg_figure_by_failed_trials(const struct gg_tally *tally, double confidence,
                                struct gg_figure *ret_figure);

void gg_figure_append(const struct gg_figure_style *style, const struct gg_figure *figure,
                      struct gg_buf *out);

/* One number without an interval: "1.84 MiB", "12.3 k". */
void gg_figure_append_number(const struct gg_figure_style *style, double value,
                             enum gg_quantity quantity, struct gg_buf *out);

/* `width` characters. */
void gg_figure_append_bar(const struct gg_figure_style *style, const struct gg_figure *figure,
                          double most, size_t width, struct gg_buf *out);
