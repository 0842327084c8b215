/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart - draws an estimate over time on a terminal: an area with its confidence interval, and a
 * line.
 *
 *   struct gg_chart_column columns[80 * GG_CHART_DOTS];     from left to right
 *   struct gg_chart chart = { .columns = columns, .column_count = 160, .width = 80, .height = 12,
 *                             .top = 5e6 };
 *
 *   for (size_t row = 0; row < chart.height; row++)
 *           gg_chart_append_row(&chart, row, &out);         from the top, without a newline
 *
 * The area is solid up to the lower bound of the interval and has every second dot up to the upper
 * bound; the line is one dot.  A character has 2 by 4 dots of Braille.  In ASCII it is one dot: '#'
 * for the solid area, ':' inside the interval, '*' for the line.
 *
 * Threads  Any; it only appends to the buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { GG_CHART_DOTS = 2 }; /* columns per character of Braille */

struct gg_chart_column {
	double low, high; /* the area, high >= low; not finite: draw nothing */
	double line;      /* not finite: draw nothing */
};

struct gg_chart {
	const struct gg_chart_column *columns;
	size_t column_count;  /* GG_CHART_DOTS * width; width in ASCII */
	size_t width, height; /* characters */
	double top;           /* value of the upper edge, > 0; the lower one is 0 */
	bool ascii;
};

void gg_chart_append_row(const struct gg_chart *chart, size_t row, struct gg_buf *out);

/*
 * The upper edge for a maximum of `most`: the next of 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times
 * 2^n.
 */
double gg_chart_top(double most);
