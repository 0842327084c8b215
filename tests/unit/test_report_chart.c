/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_chart - shows how charts are drawn with characters. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"

static bool row_is(const struct gg_chart *chart, size_t row, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_chart_append_row(chart, row, &out);
	return CHECK_MSG(strcmp(gg_buf_text(&out), expected) == 0, "row %zu: '%s', not '%s'", row,
	                 gg_buf_text(&out), expected);
}

TEST(an_area_is_solid_up_to_its_low_end_and_dotted_up_to_its_high_one)
{
	const struct gg_chart_column columns[] = {
		{ 0, 0, NAN }, { 2, 2, NAN }, { 1, 4, NAN }, { 4, 4, NAN }, { NAN, NAN, NAN },
	};
	const struct gg_chart chart = { columns, GG_COUNT(columns), 5, 4, 4, true };

	row_is(&chart, 0, "  :# ");
	row_is(&chart, 1, "  :# ");
	row_is(&chart, 2, " #:# ");
	row_is(&chart, 3, " ### ");
}

TEST(an_area_without_an_upper_end_is_dotted_to_the_top)
{
	const struct gg_chart_column columns[] = { { 1, INFINITY, NAN }, { 1, 1, NAN } };
	const struct gg_chart chart = { columns, GG_COUNT(columns), 2, 4, 4, true };

	row_is(&chart, 0, ": ");
	row_is(&chart, 2, ": ");
	row_is(&chart, 3, "##");
}

TEST(a_line_lies_over_the_area)
{
	const struct gg_chart_column columns[] = { { 1, 1, 3.5 }, { 3, 3, 1.5 }, { 1, 1, 0 } };
	const struct gg_chart chart = { columns, GG_COUNT(columns), 3, 4, 4, true };

	row_is(&chart, 0, "*  ");
	row_is(&chart, 1, " # ");
	row_is(&chart, 2, " * ");
	row_is(&chart, 3, "###");
}

TEST(a_character_of_braille_has_two_by_four_dots)
{
	/* Heights 1 to 4 of 4 dots, and one column too few. */
	const struct gg_chart_column columns[] = {
		{ 1, 1, NAN }, { 2, 2, NAN }, { 3, 3, NAN }, { 4, 4, NAN }, { 0, 0, 4 },
	};
	const struct gg_chart chart = { columns, GG_COUNT(columns), 4, 1, 4, false };

	row_is(&chart, 0, "\xe2\xa3\xa0\xe2\xa3\xbe\xe2\xa0\x81 ");
}

TEST(every_second_dot_of_an_interval_is_set)
{
	const struct gg_chart_column columns[] = { { 0, 4, NAN }, { 0, 4, NAN } };
	const struct gg_chart chart = { columns, GG_COUNT(columns), 1, 1, 4, false };

	/* Left 1 and 3, right 2 and 4: 0x01 + 0x04 + 0x10 + 0x80. */
	row_is(&chart, 0, "\xe2\xa2\x95");
}

TEST(an_upper_edge_is_near_and_above)
{
	for (double most = 1e-3; most < 1e15; most *= 1.37) {
		double top = gg_chart_top(most);

		CHECK_MSG(top >= most && top <= 1.34 * most, "%g: %g", most, top);
	}
	CHECK(gg_chart_top(1 << 20) == 1 << 20 && gg_chart_top(3 << 20) == 3 << 20);
	CHECK(gg_chart_top(0) == 1 && gg_chart_top(INFINITY) == 1);
}
