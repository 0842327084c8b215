/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>

#include "base/assert.h"
#include "base/compiler.h"

enum { DOTS_HIGH = 4 }; /* of a character of Braille */

/* Which of a character's dots, by column and by row from above (Unicode 15, block 2800). */
static const unsigned char dot_bits[GG_CHART_DOTS][DOTS_HIGH] = {
	{ 0x01, 0x02, 0x04, 0x40 },
	{ 0x08, 0x10, 0x20, 0x80 },
};

enum dot { DOT_NONE, DOT_SOLID, DOT_BAND, DOT_LINE };

/* The kind of the dot whose middle has this value; `step` is the distance of two dots. */
static enum dot dot_at(const struct gg_chart_column *column, double middle, double step)
{
	if (isfinite(column->line) && column->line > 0 && fabs(column->line - middle) <= step / 2)
		return DOT_LINE;
	if (isfinite(column->low) && middle <= column->low)
		return DOT_SOLID;
	/* An interval that is narrower than a dot is drawn as if it were certain. */
	if (!isnan(column->high) && middle <= column->high)
		return column->high - column->low > 2 * step ? DOT_BAND : DOT_SOLID;
	return DOT_NONE;
}

static void append_braille(struct gg_buf *out, unsigned bits)
{
	const char text[] = { (char)0xe2, (char)(0xa0 | bits >> 6), (char)(0x80 | (bits & 0x3f)) };

	if (bits == 0)
		gg_buf_append_text(out, " ");
	else
		gg_buf_append(out, text, sizeof(text));
}

static void append_dots(const struct gg_chart *chart, size_t row, size_t x, struct gg_buf *out)
{
	double step = chart->top / (double)(chart->height * DOTS_HIGH);
	unsigned bits = 0;

	for (size_t i = 0; i < GG_CHART_DOTS; i++) {
		size_t column = x * GG_CHART_DOTS + i;

		for (size_t k = 0; k < DOTS_HIGH && column < chart->column_count; k++) {
			size_t from_top = row * DOTS_HIGH + k;
			double middle = chart->top - ((double)from_top + 0.5) * step;
			enum dot dot = dot_at(&chart->columns[column], middle, step);

			if (dot == DOT_SOLID || dot == DOT_LINE ||
			    (dot == DOT_BAND && (column + from_top) % 2 == 0))
				bits |= dot_bits[i][k];
		}
	}
	append_braille(out, bits);
}

void gg_chart_append_row(const struct gg_chart *chart, size_t row, struct gg_buf *out)
{
	static const char *const marks[] = {
		[DOT_NONE] = " ", [DOT_SOLID] = "#", [DOT_BAND] = ":", [DOT_LINE] = "*"
	};
	double step = chart->top / (double)chart->height;

	gg_assert(row < chart->height && chart->top > 0);
	for (size_t x = 0; x < chart->width; x++) {
		if (!chart->ascii)
			append_dots(chart, row, x, out);
		else if (x < chart->column_count)
			gg_buf_append_text(
				out, marks[dot_at(&chart->columns[x],
			                          chart->top - ((double)row + 0.5) * step, step)]);
	}
}

double gg_chart_top(double most)
{
	static const double steps[] = { 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8 };
	double scale;

	if (!(most > 0) || !isfinite(most))
		return 1;
	scale = exp2(floor(log2(most) / 3) * 3);
	for (size_t i = 0; i < GG_COUNT(steps); i++)
		if (steps[i] * scale >= most)
			return steps[i] * scale;
	return 8 * scale;
}
