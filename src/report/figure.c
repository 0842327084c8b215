/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "report/screen_text.h"
#include "report/text_cells.h"
#include "stats/estimate/interval.h"

/* If a bound is farther from the estimate, as a share of it, the text is a range. */
#define WIDE 0.3

struct gg_figure gg_figure_of(const struct gg_tally *tally, enum gg_quantity quantity,
                              double confidence, bool discovered)
{
	struct gg_interval interval = gg_interval_of(tally, quantity, confidence, discovered);

	return (struct gg_figure){ .estimate = gg_tally_estimate(tally, quantity).value,
		                   .low = interval.low,
		                   .high = interval.high,
		                   .quantity = quantity,
		                   .is_unknown = interval.method == GG_METHOD_UNKNOWN,
		                   .is_least = tally->incomplete > 0 };
}

struct gg_figure gg_figure_between(double estimate, double low, double high,
                                   enum gg_quantity quantity)
{
	return (struct gg_figure){ .estimate = estimate,
		                   .low = low,
		                   .high = high,
		                   .quantity = quantity,
		                   .is_unknown = low == 0 && isinf(high),
		                   .is_least = low > 0 && isinf(high) };
}

bool gg_figure_by_failed_trials(const struct gg_tally *tally, double confidence,
                                struct gg_figure *ret_figure)
{
	double samples = (double)tally->sample_count;
	double interval = gg_sum_value(&tally->failed_bytes) / samples + 1;
	double variance = gg_sum_value(&tally->failed_variance) / samples;
	double rest = gg_sum_value(&tally->rest_bytes);
	struct gg_interval ends;

	/* R of each: their mean is that of the mean R only if all are the same. */
	if (tally->sample_count == 0 || tally->sample_point_count != tally->sample_count ||
	    tally->incomplete > 0 || gg_tally_is_uncertain(tally) ||
	    fabs(variance - interval * (interval - 1)) > 1e-9 * variance)
		return false;
	ends = gg_interval_failed_trials(interval, tally->sample_count, rest, confidence,
	                                 GG_WINDOW_FREE);
	*ret_figure = (struct gg_figure){ .estimate = gg_tally_failed_trials(tally).value,
		                          .low = ends.low,
		                          .high = ends.high,
		                          .quantity = GG_BYTES };
	return true;
}

struct unit {
	double factor;
	const char *name; /* with its blank */
};

static const struct unit byte_units[] = {
	{ 1, " B" },        { 0x1p10, " KiB" }, { 0x1p20, " MiB" }, { 0x1p30, " GiB" },
	{ 0x1p40, " TiB" }, { 0x1p50, " PiB" }, { 0x1p60, " EiB" },
};
static const struct unit count_units[] = {
	{ 1, "" },      { 1e3, " k" },  { 1e6, " M" },  { 1e9, " G" },
	{ 1e12, " T" }, { 1e15, " P" }, { 1e18, " E" },
};

enum { UNIT_COUNT = 7 };

/* The largest unit in which the value is 1 or more; no unit for raw numbers. */
static const struct unit *unit_of(const struct gg_figure_style *style, double value,
                                  enum gg_quantity quantity)
{
	static const struct unit none = { 1, "" };
	const struct unit *units = quantity == GG_BYTES ? byte_units : count_units;
	double step = quantity == GG_BYTES ? 1023.95 : 999.5; /* printed as the next unit */
	size_t i = 0;

	if (style->raw)
		return &none;
	while (i + 1 < UNIT_COUNT && value >= step * units[i].factor)
		i++;
	return &units[i];
}

/* How a number is written: in which unit, and with how many decimals. */
struct form {
	const struct unit *unit;
	int decimals;
};

/* The value in the form's unit, at its last decimal rounded half up, as the page rounds. */
static double rounded(const struct form *form, double value)
{
	double step = pow(10, form->decimals);

	return floor(value / form->unit->factor * step + 0.5) / step;
}

/* Three digits, or four: 1.84, 18.4, 184.2; whole numbers of the smallest unit. */
static struct form form_of(const struct gg_figure_style *style, double value,
                           enum gg_quantity quantity)
{
	struct form form = { unit_of(style, value, quantity), 0 };
	double scaled = value / form.unit->factor;

	if (form.unit->factor > 1)
		form.decimals = scaled < 9.995 ? 2 : 1;
	return form;
}

/* The form of the column, or the value's own one if the column's would print 0. */
static struct form form_in(const struct gg_figure_style *style,
                           const struct gg_figure_column *column, double value,
                           enum gg_quantity quantity)
{
	struct form form;

	if (column == NULL)
		return form_of(style, value, quantity);
	form = form_of(style, column->most, quantity);
	return rounded(&form, value) > 0 ? form : form_of(style, value, quantity);
}

static void append_value(const struct form *form, double value, struct gg_buf *out)
{
	gg_buf_printf(out, "%.*f%s", form->decimals, rounded(form, value), form->unit->name);
}

void gg_figure_append_number(const struct gg_figure_style *style, double value,
                             enum gg_quantity quantity, struct gg_buf *out)
{
	struct form form = form_of(style, fabs(value), quantity);

	if (!isfinite(value)) {
		gg_buf_append_text(out, "?");
		return;
	}
	gg_buf_append_text(out, value < 0 ? "-" : "");
	append_value(&form, fabs(value), out);
}

/* Distances of the bounds from the estimate: the farther one, and the nearer one. */
struct reach {
	double far, near;
};

static struct reach reach_of(const struct gg_figure *figure)
{
	double above = figure->high - figure->estimate, below = figure->estimate - figure->low;

	return (struct reach){ fmax(above, below), fmin(above, below) };
}

/* True if the number alone says all: it is exact, or a count whose error is below one. */
static bool is_exact(const struct gg_figure *figure)
{
	double far = reach_of(figure).far;

	return figure->low == figure->high || far < 1e-9 * figure->estimate ||
	       (figure->quantity == GG_ALLOCATIONS && far < 1);
}

/* A change without bounds is a number alone: its lower bound may be -INFINITY. */
static bool is_least(const struct gg_figure *figure)
{
	return figure->estimate > 0 && !figure->is_unknown && !figure->is_change &&
	       (figure->is_least || !isfinite(figure->high));
}

/* Appends the sign of a change; the estimate's unit follows the number, not the bounds. */
static void append_change(const struct form *form, double value, struct gg_buf *out)
{
	gg_buf_append_text(out, value > 0 ? "+" : value < 0 ? "-" : "");
	append_value(form, fabs(value), out);
}

/* The value that decides on the form; a change of 0 has the form of its bounds. */
static double magnitude_of(const struct gg_figure *figure)
{
	if (!figure->is_change || figure->estimate != 0)
		return fabs(figure->estimate);
	return fmax(isfinite(figure->low) ? fabs(figure->low) : 0,
	            isfinite(figure->high) ? fabs(figure->high) : 0);
}

static void append_estimate(const struct gg_figure_style *style,
                            const struct gg_figure_column *column, const struct gg_figure *figure,
                            struct gg_buf *out)
{
	bool least = is_least(figure);
	double value = least ? figure->low : figure->estimate;
	struct form form = form_in(style, column, least ? value : magnitude_of(figure),
	                           figure->quantity);

	if (figure->is_change) {
		append_change(&form, value, out);
		return;
	}
	if (figure->estimate == 0 && figure->high > 0) {
		if (!isfinite(figure->high)) {
			gg_buf_append_text(out, "-");
			return;
		}
		gg_buf_append_text(out, "< ");
		gg_figure_append_number(style, figure->high, figure->quantity, out);
		return;
	}
	gg_buf_append_text(out, least ? "at least " : "");
	append_value(&form, value, out);
}

/* The decimals of bounds: no more digits than people read. */
static int bound_decimals(const struct form *form, double most)
{
	int decimals = most < 9.995 ? 2 : most < 99.95 ? 1 : 0;

	return form->decimals < decimals ? form->decimals : decimals;
}

/* Appends "(+8.1 to +16.2)", rounded outward. */
static void append_change_bounds(struct form form, const struct gg_figure *figure,
                                 struct gg_buf *out)
{
	double low = figure->low / form.unit->factor, high = figure->high / form.unit->factor;
	int decimals = bound_decimals(&form, fmax(fabs(low), fabs(high)));
	double step = pow(10, decimals);

	low = floor(low * step + 1e-9) / step;
	high = ceil(high * step - 1e-9) / step;
	gg_buf_printf(out, low == 0 ? " (0 to " : " (%+.*f to ", decimals, low);
	gg_buf_printf(out, high == 0 ? "0)" : "%+.*f)", decimals, high);
}

/* Appends "(10.9-22.6)"; the bounds are rounded outward, so that the printed estimate is inside. */
static void append_bounds(struct form form, const struct gg_figure *figure, struct gg_buf *out)
{
	double low = figure->low / form.unit->factor, high = figure->high / form.unit->factor;
	int decimals = bound_decimals(&form, high);
	double step = pow(10, decimals);

	low = floor(low * step + 1e-9) / step;
	gg_buf_printf(out, " (%.*f-%.*f)", low == 0 ? 0 : decimals, low, decimals,
	              ceil(high * step - 1e-9) / step);
}

/* Appends what follows the estimate: " ± 6 %", " (10.9-22.6)", or nothing. */
static void append_error(const struct gg_figure_style *style, const struct gg_figure_column *column,
                         const struct gg_figure *figure, struct gg_buf *out)
{
	struct reach reach = reach_of(figure);
	double percent = reach.far / figure->estimate * 100;

	if (figure->is_change) {
		if (figure->low != figure->high && isfinite(figure->low) && isfinite(figure->high))
			append_change_bounds(
				form_in(style, column, magnitude_of(figure), figure->quantity),
				figure, out);
		return;
	}
	if (figure->estimate == 0 || figure->is_unknown || is_least(figure) || is_exact(figure))
		return;
	if (!(percent <= 100 * WIDE) || (percent > 100 * WIDE / 3 && reach.near < reach.far / 2)) {
		append_bounds(form_in(style, column, figure->estimate, figure->quantity), figure,
		              out);
		return;
	}
	gg_buf_append_text(out, style->ascii ? " +- " : " \xc2\xb1 ");
	if (percent < 1)
		gg_buf_printf(out, "%.1f %%", fmax(ceil(percent * 10) / 10, 0.1));
	else
		gg_buf_printf(out, "%.0f %%", ceil(percent - 1e-9));
}

struct gg_figure gg_figure_shown(const struct gg_figure *figure)
{
	struct gg_figure shown = *figure;

	if (!figure->is_change)
		shown.estimate = fmin(figure->estimate, figure->high);
	return shown;
}

void gg_figure_append(const struct gg_figure_style *style, const struct gg_figure *figure,
                      struct gg_buf *out)
{
	const struct gg_figure shown = gg_figure_shown(figure);

	append_estimate(style, NULL, &shown, out);
	append_error(style, NULL, &shown, out);
}

struct gg_figure_column gg_figure_column_of(const struct gg_figure_style *style,
                                            const struct gg_figure *figures, size_t count)
{
	struct gg_figure_column column = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct gg_figure shown = gg_figure_shown(&figures[i]);

		column.most = fmax(column.most, magnitude_of(&shown));
	}
	for (size_t i = 0; i < count; i++) {
		const struct gg_figure shown = gg_figure_shown(&figures[i]);
		size_t cells;

		gg_buf_clear(&text);
		append_estimate(style, &column, &shown, &text);
		cells = gg_text_cells(gg_buf_text(&text), text.length);
		column.number_cells = cells > column.number_cells ? cells : column.number_cells;
		gg_buf_clear(&text);
		append_error(style, &column, &shown, &text);
		cells = gg_text_cells(gg_buf_text(&text), text.length);
		column.error_cells = cells > column.error_cells ? cells : column.error_cells;
	}
	return column;
}

void gg_figure_column_append(const struct gg_figure_style *style,
                             const struct gg_figure_column *column, const struct gg_figure *figure,
                             struct gg_buf *out)
{
	const struct gg_figure shown = gg_figure_shown(figure);
	GG_CLEANUP(gg_buf_done) struct gg_buf number = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf error = { 0 };

	append_estimate(style, column, &shown, &number);
	append_error(style, column, &shown, &error);
	out->failed |= number.failed || error.failed;
	gg_screen_text_append_right(out, gg_buf_text(&number), column->number_cells);
	gg_screen_text_append_left(out, gg_buf_text(&error), column->error_cells);
}

void gg_figure_append_growth(double before, double after, struct gg_buf *out)
{
	double percent = 100 * (after - before) / before;

	if (!(before > 0))
		gg_buf_append_text(out, after > 0 ? "new" : "-");
	else
		gg_buf_printf(out, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

void gg_figure_append_percent(double share, struct gg_buf *out)
{
	double percent = 100 * share;

	if (!isfinite(percent) || percent == 0)
		gg_buf_append_text(out, "-");
	else if (percent > 0 && percent < 0.05)
		gg_buf_append_text(out, "<0.1 %");
	else
		gg_buf_printf(out, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
}
