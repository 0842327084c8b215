/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_figure - shows how estimates are printed with their confidence intervals. */
#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/brackets.h"
#include "random.h"
#include "test.h"

static const struct gg_figure_style fine, ascii = { .ascii = true }, raw = { .raw = true };

static bool reads(const struct gg_figure_style *style, struct gg_figure figure, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_figure_append(style, &figure, &text);
	return CHECK_MSG(strcmp(gg_buf_text(&text), wanted) == 0, "'%s', not '%s'",
	                 gg_buf_text(&text), wanted);
}

#define MIB 1048576.0

TEST(near_ends_are_a_percentage_rounded_up)
{
	reads(&fine,
	      (struct gg_figure){ 100 * MIB, 94.5 * MIB, 105.1 * MIB, GG_BYTES, false, false,
	                          false },
	      "100.0 MiB \xc2\xb1 6 %");
	reads(&ascii,
	      (struct gg_figure){ 100 * MIB, 94.5 * MIB, 106 * MIB, GG_BYTES, false, false, false },
	      "100.0 MiB +- 6 %");
	reads(&ascii,
	      (struct gg_figure){ 100 * MIB, 99.96 * MIB, 100.04 * MIB, GG_BYTES, false, false,
	                          false },
	      "100.0 MiB +- 0.1 %");
	reads(&ascii,
	      (struct gg_figure){ 12345, 12000, 12700, GG_ALLOCATIONS, false, false, false },
	      "12.3 k +- 3 %");
	reads(&raw, (struct gg_figure){ 12345, 12000, 12700, GG_BYTES, false, false, false },
	      "12345 \xc2\xb1 3 %");
}

TEST(far_or_uneven_ends_follow_the_estimate_in_its_unit)
{
	reads(&ascii,
	      (struct gg_figure){ 300 * 1024, 180 * 1024, 640 * 1024, GG_BYTES, false, false,
	                          false },
	      "300.0 KiB (180-640)");
	reads(&ascii, (struct gg_figure){ 2 * MIB, 64, 2.79 * MIB, GG_BYTES, false, false, false },
	      "2.00 MiB (0-2.79)");
	reads(&ascii,
	      (struct gg_figure){ 3 * MIB, 0.9 * MIB, 4.5 * MIB, GG_BYTES, false, false, false },
	      "3.00 MiB (0.90-4.50)");
	reads(&ascii,
	      (struct gg_figure){ 100 * MIB, 99 * MIB, 120 * MIB, GG_BYTES, false, false, false },
	      "100.0 MiB (99-120)");
	reads(&ascii,
	      (struct gg_figure){ 300 * 1024, 1024, 2 * MIB, GG_BYTES, false, false, false },
	      "300.0 KiB (1-2048)");
	reads(&ascii, (struct gg_figure){ 5, 2, 9, GG_ALLOCATIONS, false, false, false },
	      "5 (2-9)");
	reads(&ascii, (struct gg_figure){ 5000, 1000, INFINITY, GG_BYTES, false, false, false },
	      "at least 1000 B");
}

TEST(an_estimate_above_its_upper_end_is_not_shown)
{
	reads(&ascii,
	      (struct gg_figure){ 15 * MIB, 1 * MIB, 4 * MIB, GG_BYTES, false, false, false },
	      "4.00 MiB (1.00-4.00)");
}

TEST(a_count_whose_error_is_below_one_is_exact)
{
	reads(&ascii, (struct gg_figure){ 1.1, 1, 1.48, GG_ALLOCATIONS, false, false, false }, "1");
	reads(&ascii, (struct gg_figure){ 2, 1.995, 2.005, GG_ALLOCATIONS, false, false, false },
	      "2");
	reads(&ascii, (struct gg_figure){ 100, 99.8, 100.2, GG_ALLOCATIONS, false, false, false },
	      "100");
	reads(&ascii, (struct gg_figure){ 2, 1, 3.1, GG_ALLOCATIONS, false, false, false },
	      "2 (1-4)");
	reads(&ascii, (struct gg_figure){ 1.1, 1, 1.48, GG_BYTES, false, false, false },
	      "1 B (1-2)");
}

TEST(ties_are_rounded_up_as_on_the_page)
{
	reads(&ascii,
	      (struct gg_figure){ 74.25 * MIB, 74.25 * MIB, 74.25 * MIB, GG_BYTES, false, false,
	                          false },
	      "74.3 MiB");
}

/* A number in [0, 1). */
static double random_share(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* The bounds as they are printed hold the estimate as it is printed. */
TEST(printed_bounds_hold_the_printed_estimate)
{
	uint64_t state = 7;
	size_t seen = 0;

	for (int i = 0; i < 20000; i++) {
		double estimate = exp2(random_share(&state) * 40) + 1;
		double low = estimate * random_share(&state);
		double high = estimate * (1 + 2 * random_share(&state));
		struct gg_figure figure = gg_figure_between(estimate, low, high,
		                                            i % 2 == 0 ? GG_BYTES : GG_ALLOCATIONS);
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
		double shown, first, last;

		gg_figure_append(&ascii, &figure, &text);
		if (sscanf(gg_buf_text(&text), "%lf%*[ A-Za-z](%lf-%lf)", &shown, &first, &last) <
		    3)
			continue;
		seen++;
		if (!CHECK_MSG(shown > 0 && first <= shown && shown <= last, "'%s'",
		               gg_buf_text(&text)))
			return;
	}
	CHECK(seen > 10000);
}

/* The rows of a column add up to their sum, as far as rounding goes, and none is 0. */
TEST(a_column_has_one_unit_and_adds_up)
{
	enum { ROWS = 12 };
	uint64_t state = 11;

	for (int i = 0; i < 2000; i++) {
		struct gg_figure figures[ROWS];
		struct gg_figure_column column;
		double sum = 0, shown = 0, factor = 0, step = 0;

		for (int k = 0; k < ROWS; k++) {
			double value = 1 + floor(exp2(random_share(&state) * 36));

			figures[k] = gg_figure_between(value, value, value, GG_BYTES);
			sum += value;
		}
		column = gg_figure_column_of(&ascii, figures, ROWS);
		for (int k = 0; k < ROWS; k++) {
			static const char units[] = "BKMGT";
			GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
			char *at, *point;
			double value, unit;

			gg_figure_column_append(&ascii, &column, &figures[k], &text);
			CHECK_EQ_U64(text.length, column.number_cells + column.error_cells);
			value = strtod(gg_buf_text(&text), &at);
			unit = exp2(10 * (double)(strchr(units, at[1]) - units));
			point = strchr(text.data, '.');
			if (figures[k].estimate == column.most) {
				factor = unit;
				step = point == NULL ? 1 : pow(10, 1 - (double)(at - point));
			}
			if (!CHECK_MSG(value > 0, "'%s'", gg_buf_text(&text)))
				return;
			shown += value * unit;
		}
		if (!CHECK_MSG(fabs(shown - sum) <= ROWS * factor * step / 2 + ROWS,
		               "%.0f, not %.0f", shown, sum))
			return;
	}
}

TEST(a_value_that_would_be_printed_as_0_keeps_its_unit)
{
	const struct gg_figure figures[] = {
		{ 235.5 * MIB, 212 * MIB, 259 * MIB, GG_BYTES, false, false, false },
		{ 0.5 * MIB, 64, 2.75 * MIB, GG_BYTES, false, false, false },
		{ 30 * 1024, 20 * 1024, 60 * 1024, GG_BYTES, false, false, false },
		{ 0, 0, 1.84 * MIB, GG_BYTES, false, false, false },
	};
	static const char *const wanted[] = { " 235.5 MiB +- 10 % ", "   0.5 MiB (0-2.8)",
		                              "  30.0 KiB (20.0-60.0)", "< 1.84 MiB" };
	struct gg_figure_column column = gg_figure_column_of(&ascii, figures, 4);

	CHECK_EQ_U64(column.number_cells, 10);
	CHECK_EQ_U64(column.error_cells, 12);
	for (int i = 0; i < 4; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_figure_column_append(&ascii, &column, &figures[i], &text);
		CHECK_MSG(gg_text_begins(gg_buf_text(&text), wanted[i]), "'%s'",
		          gg_buf_text(&text));
	}
}

TEST(shares_are_percentages_of_two_digits)
{
	static const struct {
		double share;
		const char *wanted;
	} cases[] = { { 1, "100 %" }, { 0.876, "88 %" },    { 0.015, "1.5 %" },
		      { 0, "-" },     { 0.0004, "<0.1 %" }, { NAN, "-" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_figure_append_percent(cases[i].share, &text);
		CHECK_MSG(strcmp(gg_buf_text(&text), cases[i].wanted) == 0, "'%s'",
		          gg_buf_text(&text));
	}
}

TEST(without_samples_there_is_an_upper_end_alone)
{
	reads(&fine, (struct gg_figure){ 0, 0, 1.84 * MIB, GG_BYTES, false, false, false },
	      "< 1.84 MiB");
	reads(&fine, (struct gg_figure){ 0, 0, INFINITY, GG_ALLOCATIONS, false, false, false },
	      "-");
	reads(&fine, (struct gg_figure){ 0, 0, 0, GG_BYTES, false, false, false }, "0 B");
	reads(&fine, (struct gg_figure){ 4096, 4096, 4096, GG_BYTES, false, false, false },
	      "4.00 KiB");
}

TEST(units_change_where_a_number_would_be_printed_as_the_next)
{
	reads(&fine, (struct gg_figure){ 1023, 1023, 1023, GG_BYTES, false, false, false },
	      "1023 B");
	reads(&fine,
	      (struct gg_figure){ 1023.99 * 1024, 1023.99 * 1024, 1023.99 * 1024, GG_BYTES, false,
	                          false, false },
	      "1.00 MiB");
	reads(&fine, (struct gg_figure){ 999.6, 999.6, 999.6, GG_ALLOCATIONS, false, false, false },
	      "1.00 k");
	reads(&raw, (struct gg_figure){ 1e9, 1e9, 1e9, GG_BYTES, false, false, false },
	      "1000000000");
}

TEST(a_change_has_its_sign_and_its_bounds)
{
	struct gg_figure change = gg_figure_between(12 * MIB, 8.1 * MIB, 16.2 * MIB, GG_BYTES);

	change.is_change = true;
	reads(&ascii, change, "+12.0 MiB (+8.1 to +16.2)");
	change.low = -MIB;
	reads(&ascii, change, "+12.0 MiB (-1.0 to +16.2)");
	change.low = 0;
	reads(&ascii, change, "+12.0 MiB (0 to +16.2)");
	change.estimate = change.low = -200 * MIB;
	change.high = 0;
	reads(&ascii, change, "-200.0 MiB (-200 to 0)");
	change.high = INFINITY;
	reads(&ascii, change, "-200.0 MiB");
	change = gg_figure_between(12 * MIB, -INFINITY, INFINITY, GG_BYTES);
	change.is_change = true;
	reads(&ascii, change, "+12.0 MiB");
	change = gg_figure_between(0, -MIB, 2 * MIB, GG_BYTES);
	change.is_change = true;
	reads(&ascii, change, "0.00 MiB (-1.00 to +2.00)");
}

TEST(growth_is_relative_to_what_was_before)
{
	static const struct {
		double before, after;
		const char *wanted;
	} cases[] = { { 100, 232, "+132 %" },
		      { 100, 99.6, "-0.4 %" },
		      { 100, 0, "-100 %" },
		      { 0, 5, "new" },
		      { 0, 0, "-" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

		gg_figure_append_growth(cases[i].before, cases[i].after, &text);
		CHECK_MSG(strcmp(gg_buf_text(&text), cases[i].wanted) == 0, "'%s'",
		          gg_buf_text(&text));
	}
}

/* The example of .NET's document on randomized allocation sampling: 8 samples, u = 10 908. */
TEST(bytes_by_failed_trials_have_the_ends_of_the_negative_binomial)
{
	struct gg_draw draw = { .sampling_interval = 102400,
		                .sample_point_count = 1,
		                .scheme = GG_SCHEME_BERNOULLI };
	struct gg_tally tally = { 0 }, mixed;
	struct gg_figure figure;

	CHECK(!gg_figure_by_failed_trials(&tally, 0.95, &figure));
	for (int i = 0; i < 8; i++) {
		draw.offset_bytes = i < 4 ? 10 : 1;
		gg_tally_add(&tally, &draw, i < 4 ? 10 + 2000 : 1 + 727);
	}
	if (!CHECK(gg_figure_by_failed_trials(&tally, 0.95, &figure)))
		return;
	CHECK_EQ_DOUBLE(figure.estimate, 8 * 102399.0 + 10908);
	/* As if one sample fewer, and one more. */
	CHECK(fabs(figure.low - (288185 + 10908)) <= 1);
	CHECK(fabs(figure.high - (1614137 + 10908)) <= 2);
	mixed = tally;
	draw.sampling_interval = 51200;
	gg_tally_add(&mixed, &draw, 1000);
	CHECK(!gg_figure_by_failed_trials(&mixed, 0.95, &figure));
	mixed = tally;
	gg_tally_add_folded(&mixed, &(const struct gg_folded){ .sample_count = 1,
	                                                       .bytes = 1,
	                                                       .count = 1,
	                                                       .sampling_interval = 102400,
	                                                       .most_bytes = UINT64_MAX });
	CHECK(!gg_figure_by_failed_trials(&mixed, 0.95, &figure));
}

TEST(where_everything_is_a_sample_failed_trials_are_none)
{
	const struct gg_draw draw = { .sampling_interval = 1, .sample_point_count = 1 };
	struct gg_tally tally = { 0 };
	struct gg_figure figure;

	gg_tally_add(&tally, &draw, 1000);
	gg_tally_add(&tally, &draw, 24);
	CHECK(gg_figure_by_failed_trials(&tally, 0.95, &figure));
	CHECK_EQ_DOUBLE(figure.estimate, 1024);
	CHECK_EQ_DOUBLE(figure.low, 1024);
	CHECK_EQ_DOUBLE(figure.high, 1024);
}
