/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_plot - shows the SVG of plots: lines, ticks, gaps, and escaped texts. */
#include "report/plot.h"

#include <math.h>

#include "base/compiler.h"
#include "test.h"

static const char *svg_of(const struct gg_plot *plot)
{
	static struct gg_buf buf;

	gg_buf_clear(&buf);
	gg_plot_svg(plot, 1, &buf);
	CHECK(!buf.failed);
	return gg_buf_text(&buf);
}

TEST(a_line_goes_from_corner_to_corner)
{
	const double x[] = { 0, 10 }, y[] = { 0, 1 };
	const struct gg_plot_series series = { "s", x, y, 2 };
	const struct gg_plot plot = { .title = "t",
		                      .x = { "x", GG_PLOT_NUMBER, false },
		                      .y = { "y", GG_PLOT_PERCENT, false },
		                      .series = &series,
		                      .series_count = 1 };
	const char *svg = svg_of(&plot);

	CHECK_CONTAINS(svg, "d=\"M70.0 290.0L550.0 40.0\"");
	CHECK(strstr(svg, ">0</text>") != NULL && strstr(svg, ">-0") == NULL);
	CHECK_CONTAINS(svg, ">10</text>");
	CHECK_CONTAINS(svg, ">100 %</text>");
}

TEST(a_logarithmic_size_axis_has_binary_ticks)
{
	const double x[] = { 1024, 1048576 }, y[] = { 1, 2 };
	const struct gg_plot_series series = { "s", x, y, 2 };
	const struct gg_plot plot = { .title = "t",
		                      .x = { "size", GG_PLOT_SIZE, true },
		                      .y = { "y", GG_PLOT_NUMBER, false },
		                      .series = &series,
		                      .series_count = 1 };
	const char *svg = svg_of(&plot);

	CHECK_CONTAINS(svg, ">1 KiB</text>");
	CHECK_CONTAINS(svg, ">4 KiB</text>");
	CHECK_CONTAINS(svg, ">1 MiB</text>");
}

TEST(points_that_cannot_be_shown_interrupt_the_line)
{
	const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 1, 1, NAN, INFINITY, 2 };
	const struct gg_plot_series series = { "s", x, y, 5 };
	const struct gg_plot plot = { .title = "t",
		                      .x = { "x", GG_PLOT_NUMBER, true },
		                      .y = { "y", GG_PLOT_NUMBER, false },
		                      .series = &series,
		                      .series_count = 1 };
	const char *line = strstr(svg_of(&plot), "d=\"M70.0 165.0L");

	CHECK(line != NULL && strstr(line, "M550.0 40.0\"") != NULL);
	CHECK(line == NULL || strstr(line, "nan") == NULL);
}

TEST(texts_are_escaped)
{
	const struct gg_plot plot = { .title = "<script>&",
		                      .x = { "x", GG_PLOT_NUMBER, false },
		                      .y = { "y", GG_PLOT_NUMBER, false } };

	CHECK_CONTAINS(svg_of(&plot), "&lt;script>&amp;</text>");
}

TEST(a_plot_without_points_is_an_empty_frame)
{
	const double nothing[] = { NAN };
	const struct gg_plot_series series = { "s", nothing, nothing, 1 };
	const struct gg_plot plot = { .title = "t",
		                      .x = { "x", GG_PLOT_SIZE, true },
		                      .y = { "y", GG_PLOT_NUMBER, false },
		                      .series = &series,
		                      .series_count = 1 };
	const char *svg = svg_of(&plot);

	CHECK(strstr(svg, "</svg>") != NULL && strstr(svg, "nan") == NULL);
}
