/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
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

	/* R (R-1) of each: their mean is that of the mean R only if all are the same. */
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

/* Three digits, or four: 1.84, 18.4, 184.2; whole numbers of the smallest unit. */
static void append_value(const struct unit *unit, double value, bool short_form, struct gg_buf *out)
{
	double scaled = value / unit->factor;
	int digits = scaled < 9.995 ? 2 : scaled < 99.95 || !short_form ? 1 : 0;

	gg_buf_printf(out, "%.*f", unit->factor == 1 || scaled == 0 ? 0 : digits, scaled);
}

void gg_figure_append_number(const struct gg_figure_style *style, double value,
                             enum gg_quantity quantity, struct gg_buf *out)
{
	const struct unit *unit = unit_of(style, fabs(value), quantity);

	if (!isfinite(value)) {
		gg_buf_append_text(out, "?");
		return;
	}
	gg_buf_append_text(out, value < 0 ? "-" : "");
	append_value(unit, fabs(value), false, out);
	gg_buf_append_text(out, unit->name);
}

static void append_range(const struct gg_figure_style *style, const struct gg_figure *figure,
                         struct gg_buf *out)
{
	const struct unit *unit = unit_of(style, figure->high, figure->quantity);
	const struct unit *low_unit = unit;
	GG_CLEANUP(gg_buf_done) struct gg_buf low = { 0 }, high = { 0 };

	if (!isfinite(figure->high)) {
		gg_buf_append_text(out, ">= ");
		gg_figure_append_number(style, figure->low, figure->quantity, out);
		return;
	}
	if (figure->low > 0 && figure->low < unit->factor / 10)
		low_unit = unit_of(style, figure->low, figure->quantity);
	append_value(low_unit, figure->low, true, &low);
	gg_buf_append_text(&low, low_unit != unit ? low_unit->name : "");
	append_value(unit, figure->high, true, &high);
	out->failed |= low.failed || high.failed;
	/* Ends that look the same: "1 allocation", not "1..1". */
	if (strcmp(gg_buf_text(&low), gg_buf_text(&high)) != 0)
		gg_buf_printf(out, "%s..", gg_buf_text(&low));
	gg_buf_printf(out, "%s%s", gg_buf_text(&high), unit->name);
}

void gg_figure_append(const struct gg_figure_style *style, const struct gg_figure *figure,
                      struct gg_buf *out)
{
	double above = (figure->high - figure->estimate) / figure->estimate;
	double below = (figure->estimate - figure->low) / figure->estimate;
	double reach = fmax(above, below), least = fmin(above, below);

	if (figure->is_least && figure->estimate > 0) {
		gg_buf_append_text(out, "at least ");
		gg_figure_append_number(style, figure->low, figure->quantity, out);
	} else if (figure->estimate == 0 && figure->high > 0) {
		if (!isfinite(figure->high)) {
			gg_buf_append_text(out, "-");
			return;
		}
		gg_buf_append_text(out, "< ");
		gg_figure_append_number(style, figure->high, figure->quantity, out);
	} else if (figure->is_unknown || figure->low == figure->high || reach < 1e-9) {
		gg_figure_append_number(style, figure->estimate, figure->quantity, out);
	} else if (!(reach <= WIDE) || (reach > WIDE / 3 && least < reach / 2)) {
		append_range(style, figure, out);
	} else {
		double percent = reach * 100;

		gg_figure_append_number(style, figure->estimate, figure->quantity, out);
		gg_buf_append_text(out, style->ascii ? " +- " : " \xc2\xb1 ");
		if (percent < 1)
			gg_buf_printf(out, "%.1f %%", fmax(ceil(percent * 10) / 10, 0.1));
		else
			gg_buf_printf(out, "%.0f %%", ceil(percent - 1e-9));
	}
}

void gg_figure_append_bar(const struct gg_figure_style *style, const struct gg_figure *figure,
                          double most, size_t width, struct gg_buf *out)
{
	double cell = most / (double)width, high = fmin(figure->high, most);

	gg_assert(width > 0 && !(figure->low > figure->high));
	size_t mark = figure->estimate > 0 ? (size_t)fmin(figure->estimate / cell, (double)width)
	                                   : width;

	if (mark == width && figure->estimate > 0)
		mark--;
	if (!isfinite(figure->high) && (figure->estimate == 0 || figure->is_unknown))
		high = 0; /* nothing is known: no line */
	for (size_t i = 0; i < width; i++) {
		double middle = ((double)i + 0.5) * cell;
		const char *ascii = " ", *fine = " ";

		if (i == mark) {
			ascii = "|";
			fine = "\xe2\x95\x8b"; /* heavy vertical and horizontal */
		} else if (middle <= figure->low) {
			ascii = "#";
			fine = "\xe2\x94\x81"; /* heavy horizontal */
		} else if (middle <= high) {
			ascii = "-";
			fine = "\xe2\x94\x80"; /* light horizontal */
		}
		gg_buf_append_text(out, style->ascii ? ascii : fine);
	}
}
