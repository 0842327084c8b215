/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure - prints an estimate and its confidence interval.
 *
 *   struct gg_figure figure = gg_figure_of(&tally, GG_BYTES, 0.95, true);
 *   gg_figure_append(&how, &figure, &out);  "312.4 MiB ± 6 %", "300 KiB (180-640)", "< 1.84 MiB"
 *
 * Text  The estimate comes first.  "± 6 %" follows if both bounds are near it and about equally
 *       far: the larger distance, rounded up.  Otherwise the bounds follow in the estimate's unit,
 *       rounded outward.  Without samples, the upper bound alone.  "at least" and the lower bound
 *       if samples were dropped.  The number alone if it is exact, if it is a count whose error is
 *       below one, and if its error is unknown (`is_unknown`).
 * Change  A difference has its sign, and always its bounds: "+12.0 MiB (+8.1 to +16.2)".
 * Column  The figures of a column have the unit and the decimals of its largest estimate, so that
 *       people can rank rows by eye.  A value that would be printed as 0 keeps its own unit.
 *
 * Threads  Any; the functions only append to the buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "stats/estimate/tally.h"

struct gg_figure {
	double estimate, low, high; /* high may be INFINITY: no bound */
	enum gg_quantity quantity;
	bool is_unknown; /* the error is unknown; low and high are 0 and INFINITY */
	bool is_least;  /* samples were dropped, or sampling was off for a time: high is INFINITY */
	bool is_change; /* a difference, which has a sign; its bounds may be infinite: unknown */
};

/* How figures are written. */
struct gg_figure_style {
	bool raw;   /* print bytes and allocations as whole numbers */
	bool ascii; /* no character beyond ASCII */
};

/*
 * The figure as people see it.  An estimate above the most that is known to be there is unbiased,
 * but nobody should read it: the most stands in its place.
 */
struct gg_figure gg_figure_shown(const struct gg_figure *figure);

/* The figure of a tally; `discovered` as in gg_interval_of(). */
struct gg_figure gg_figure_of(const struct gg_tally *tally, enum gg_quantity quantity,
                              double confidence, bool discovered);

/* The figure of an estimate with its bounds; high INFINITY: no upper bound. */
struct gg_figure gg_figure_between(double estimate, double low, double high,
                                   enum gg_quantity quantity);

/*
 * Bytes by the estimator of failed trials (tally.h), whose distribution is known exactly.  It needs
 * a group whose samples have offsets and share one sampling interval.  False: the group has other
 * samples, or aggregates.  The bounds hold for a group that begins and ends between two samples.
 */
bool gg_figure_by_failed_trials(const struct gg_tally *tally, double confidence,
                                struct gg_figure *ret_figure);

void gg_figure_append(const struct gg_figure_style *style, const struct gg_figure *figure,
                      struct gg_buf *out);

/* One number without an interval: "1.84 MiB", "12.3 k". */
void gg_figure_append_number(const struct gg_figure_style *style, double value,
                             enum gg_quantity quantity, struct gg_buf *out);

/*
 * A column of a table.  gg_figure_column_of() fits it to figures of one quantity;
 * gg_figure_column_append() appends a figure in number_cells + error_cells cells: the number with
 * its unit to the right, then the uncertainty to the left.
 */
struct gg_figure_column {
	double most;         /* the largest estimate */
	size_t number_cells; /* of the widest number with its unit */
	size_t error_cells;  /* of the widest uncertainty with its blank; 0: all are exact */
};

struct gg_figure_column gg_figure_column_of(const struct gg_figure_style *style,
                                            const struct gg_figure *figures, size_t count);
void gg_figure_column_append(const struct gg_figure_style *style,
                             const struct gg_figure_column *column, const struct gg_figure *figure,
                             struct gg_buf *out);

/* Appends the relative change of a positive number: "+132 %", "-0.4 %"; "new" if it was 0. */
void gg_figure_append_growth(double before, double after, struct gg_buf *out);

/* Appends a share of a total, at most 6 cells: "88 %", "1.5 %", "<0.1 %", or "-" for 0 and NAN. */
void gg_figure_append_percent(double share, struct gg_buf *out);
