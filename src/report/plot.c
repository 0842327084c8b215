/* SPDX-License-Identifier: Apache-2.0 */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/size.h"

/* A panel in user units of the picture; the frame is what the axes enclose. */
enum {
	PANEL_WIDTH = 760,
	PANEL_HEIGHT = 340,
	FRAME_LEFT = 70,
	FRAME_RIGHT = 550,
	FRAME_TOP = 40,
	FRAME_BOTTOM = 290,
	TICK_TARGET = 6, /* about so many a scale */
};

static const struct {
	const char *color, *dashes;
} line_styles[] = {
	{ "#0072b2", "none" },    { "#d55e00", "8 3" },  { "#009e73", "2 3" },
	{ "#cc79a7", "8 3 2 3" }, { "#e69f00", "12 4" }, { "#56b4e9", "4 2" },
};

/* One axis of one plot: which values it spans and where it lies in the panel. */
struct scale {
	const struct gg_plot_axis *axis;
	double low, high;   /* low < high */
	double start, stop; /* panel coordinates of low and high */
};

static bool is_on(const struct gg_plot_axis *axis, double value)
{
	return isfinite(value) && (!axis->logarithmic || value > 0);
}

static double position(const struct scale *scale, double value)
{
	double low = scale->low, high = scale->high;

	if (scale->axis->logarithmic) {
		value = log(value);
		low = log(low);
		high = log(high);
	}
	return scale->start + (value - low) / (high - low) * (scale->stop - scale->start);
}

static void widen(struct scale *scale, double value)
{
	if (!is_on(scale->axis, value))
		return;
	scale->low = fmin(scale->low, value);
	scale->high = fmax(scale->high, value);
}

/* Spans all values of the axis; falls back to [1, 2] or [0, 1] if the axis has no values. */
static struct scale make_scale(const struct gg_plot *plot, const struct gg_plot_axis *axis,
                               double start, double stop)
{
	struct scale scale = { axis, axis->logarithmic ? INFINITY : 0, -INFINITY, start, stop };

	for (size_t i = 0; i < plot->series_count; i++)
		for (size_t j = 0; j < plot->series[i].count; j++)
			widen(&scale,
			      axis == &plot->x ? plot->series[i].x[j] : plot->series[i].y[j]);
	if (!(scale.low < scale.high)) {
		scale.low = isfinite(scale.low) ? scale.low : 1;
		scale.high = axis->logarithmic ? 2 * scale.low : scale.low + 1;
	}
	return scale;
}

/* The step between ticks: 1, 2 or 5 times a power of ten; a power of two for sizes. */
static double linear_step(const struct scale *scale)
{
	double rough = (scale->high - scale->low) / TICK_TARGET, power;

	if (scale->axis->unit == GG_PLOT_SIZE)
		return exp2(ceil(log2(rough)));
	power = pow(10, floor(log10(rough)));
	return power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
}

/* The factor between ticks of a logarithmic axis: a whole power of 2 or of 10. */
static double logarithmic_step(const struct scale *scale)
{
	double base = scale->axis->unit == GG_PLOT_SIZE ? 2 : 10;
	double span = log(scale->high / scale->low) / log(base);

	return pow(base, fmax(1, ceil(span / TICK_TARGET)));
}

/* The first tick that is not below low, counting from a whole number of steps. */
static double first_tick(const struct scale *scale, double step)
{
	const double slack = 1e-9; /* a tick that rounding puts just below the end belongs to it */

	if (scale->axis->logarithmic)
		return pow(step, ceil(log(scale->low) / log(step) - slack));
	return step * ceil(scale->low / step - slack) + 0.0; /* 0, not -0 */
}

static void format_tick(const struct gg_plot_axis *axis, double value, char text[32])
{
	char size[GG_SIZE_TEXT_MAX];

	if (axis->unit == GG_PLOT_SIZE) {
		snprintf(text, 32, "%s", gg_size_format_short(value, size));
	} else if (axis->unit == GG_PLOT_PERCENT) {
		snprintf(text, 32, "%.6g %%", 100 * value);
	} else {
		snprintf(text, 32, "%.6g", value);
	}
}

static void append_escaped(struct gg_buf *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			gg_buf_append_text(out, "&lt;");
		else if (*text == '&')
			gg_buf_append_text(out, "&amp;");
		else if ((unsigned char)*text < 0x20)
			gg_buf_append_text(out, " ");
		else
			gg_buf_append(out, text, 1);
	}
}

static void append_text(struct gg_buf *out, const char *class, double x, double y, const char *text)
{
	gg_buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	append_escaped(out, text);
	gg_buf_append_text(out, "</text>\n");
}

static void append_ticks(struct gg_buf *out, const struct scale *scale, bool vertical)
{
	bool logarithmic = scale->axis->logarithmic;
	double step = logarithmic ? logarithmic_step(scale) : linear_step(scale);
	char text[32];

	for (double tick = first_tick(scale, step); tick <= scale->high * (1 + 1e-9);
	     tick = logarithmic ? tick * step : tick + step) {
		double at = position(scale, tick);

		if (vertical)
			gg_buf_printf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", FRAME_LEFT,
			              at, FRAME_RIGHT);
		else
			gg_buf_printf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", at,
			              FRAME_TOP, FRAME_BOTTOM);
		format_tick(scale->axis, tick, text);
		if (vertical)
			append_text(out, "right", FRAME_LEFT - 6, at + 4, text);
		else
			append_text(out, "middle", at, FRAME_BOTTOM + 16, text);
	}
}

static void append_line(struct gg_buf *out, const struct gg_plot_series *series, size_t style,
                        const struct scale *x, const struct scale *y)
{
	bool pen_is_down = false;

	gg_buf_printf(out, "<path class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"",
	              line_styles[style].color, line_styles[style].dashes);
	for (size_t i = 0; i < series->count; i++) {
		bool shown = is_on(x->axis, series->x[i]) && is_on(y->axis, series->y[i]);

		if (shown)
			gg_buf_printf(out, "%c%.1f %.1f", pen_is_down ? 'L' : 'M',
			              position(x, series->x[i]), position(y, series->y[i]));
		pen_is_down = shown;
	}
	gg_buf_append_text(out, "\"/>\n");
}

static void append_panel(struct gg_buf *out, const struct gg_plot *plot, size_t row)
{
	struct scale x = make_scale(plot, &plot->x, FRAME_LEFT, FRAME_RIGHT);
	struct scale y = make_scale(plot, &plot->y, FRAME_BOTTOM, FRAME_TOP);

	gg_buf_printf(out, "<g transform=\"translate(0 %zu)\">\n", row * PANEL_HEIGHT);
	append_text(out, "title", FRAME_LEFT, 24, plot->title);
	append_ticks(out, &x, false);
	append_ticks(out, &y, true);
	append_text(out, "middle", (FRAME_LEFT + FRAME_RIGHT) / 2.0, FRAME_BOTTOM + 36,
	            plot->x.label);
	gg_buf_printf(out, "<g transform=\"translate(16 %d) rotate(-90)\">",
	              (FRAME_TOP + FRAME_BOTTOM) / 2);
	append_text(out, "middle", 0, 0, plot->y.label);
	gg_buf_append_text(out, "</g>\n");
	for (size_t i = 0; i < plot->series_count; i++) {
		size_t style = i % GG_COUNT(line_styles);
		double at = FRAME_TOP + 10 + 20.0 * (double)i;

		append_line(out, &plot->series[i], style, &x, &y);
		gg_buf_printf(out,
		              "<path class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\" "
		              "d=\"M%d %.1fh28\"/>\n",
		              line_styles[style].color, line_styles[style].dashes, FRAME_RIGHT + 12,
		              at - 4);
		append_text(out, "left", FRAME_RIGHT + 46, at, plot->series[i].name);
	}
	gg_buf_append_text(out, "</g>\n");
}

void gg_plot_svg(const struct gg_plot *plots, size_t count, struct gg_buf *out)
{
	gg_buf_printf(out,
	              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" "
	              "width=\"%d\" height=\"%zu\">\n",
	              PANEL_WIDTH, count * PANEL_HEIGHT, PANEL_WIDTH, count * PANEL_HEIGHT);
	gg_buf_append_text(
		out, "<style>\n"
		     "svg { background: #fff; font: 12px sans-serif; }\n"
		     "text { fill: #222; }\n"
		     ".title { font-size: 15px; font-weight: bold; }\n"
		     ".middle { text-anchor: middle; } .right { text-anchor: end; }\n"
		     ".grid { stroke: #ddd; fill: none; }\n"
		     ".line { fill: none; stroke-width: 2; stroke-linejoin: round; }\n"
		     "@media (prefers-color-scheme: dark) {\n"
		     "  svg { background: #1b1b1b; } text { fill: #ddd; } .grid { stroke: #444; }\n"
		     "}\n"
		     "</style>\n");
	for (size_t i = 0; i < count; i++)
		append_panel(out, &plots[i], i);
	gg_buf_append_text(out, "</svg>\n");
}
