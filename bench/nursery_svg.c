/* SPDX-License-Identifier: Apache-2.0 */
#include "nursery_svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* The picture, in its own units; the plot is what the margins leave. */
enum { WIDTH = 720, HEIGHT = 360, LEFT = 64, RIGHT = 20, TOP = 40, BOTTOM = 56 };

struct plot {
	FILE *file;
	size_t count;       /* of intervals, evenly apart */
	double least, most; /* overheads at the lower and the upper end */
};

static double x_of(const struct plot *plot, size_t i)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * ((double)i + 0.5) / (double)plot->count;
}

static double y_of(const struct plot *plot, double overhead)
{
	return TOP + (HEIGHT - TOP - BOTTOM) * (plot->most - overhead) / (plot->most - plot->least);
}

static void write_text(const struct plot *plot, double x, double y, const char *anchor,
                       const char *text)
{
	fprintf(plot->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
	        anchor, text);
}

static void write_level(const struct plot *plot, double overhead, const char *style)
{
	double y = y_of(plot, overhead);

	fprintf(plot->file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" %s/>\n", LEFT, y,
	        WIDTH - RIGHT, y, style);
}

static void write_axes(const struct plot *plot, const struct nursery_point *points)
{
	double step = plot->most - plot->least > 0.2 ? 0.05 : 0.02;
	char text[32];

	for (double level = ceil(plot->least / step) * step; level <= plot->most; level += step) {
		write_level(plot, level, "stroke=\"#ddd\"");
		snprintf(text, sizeof(text), "%.0f %%", 100 * level);
		write_text(plot, LEFT - 8, y_of(plot, level) + 4, "end", text);
	}
	write_level(plot, 0, "stroke=\"#333\"");
	for (size_t i = 0; i < plot->count; i++) {
		uint64_t kib = points[i].interval_bytes >> 10;

		snprintf(text, sizeof(text), kib < 1024 ? "%.0f KiB" : "%.0f MiB",
		         kib < 1024 ? (double)kib : (double)kib / 1024);
		write_text(plot, x_of(plot, i), HEIGHT - BOTTOM + 20, "middle", text);
	}
	write_text(plot, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle",
	           "mean sampling interval");
}

static void write_points(const struct plot *plot, const struct nursery_point *points)
{
	fprintf(plot->file, "<polyline fill=\"none\" stroke=\"#c0392b\" points=\"");
	for (size_t i = 0; i < plot->count; i++)
		fprintf(plot->file, "%.1f,%.1f ", x_of(plot, i), y_of(plot, points[i].median));
	fprintf(plot->file, "\"/>\n");
	for (size_t i = 0; i < plot->count; i++)
		for (int run = 0; run < NURSERY_RUNS; run++)
			fprintf(plot->file,
			        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#2c3e50\" "
			        "fill-opacity=\"0.5\"/>\n",
			        x_of(plot, i), y_of(plot, points[i].overheads[run]));
}

int nursery_svg_write(const char *path, const char *title, const struct nursery_point *points,
                      size_t count)
{
	struct plot plot = { .count = count, .least = -0.02, .most = 0.12 };

	for (size_t i = 0; i < count; i++) {
		for (int run = 0; run < NURSERY_RUNS; run++) {
			plot.least = fmin(plot.least, points[i].overheads[run]);
			plot.most = fmax(plot.most, points[i].overheads[run]);
		}
	}
	plot.file = fopen(path, "we");
	if (plot.file == NULL)
		return -errno;
	fprintf(plot.file,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	        "font-family=\"sans-serif\" font-size=\"12\">\n"
	        "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
	        WIDTH, HEIGHT, WIDTH, HEIGHT);
	write_text(&plot, LEFT, 22, "start", title);
	write_axes(&plot, points);
	write_level(&plot, 0.01, "stroke=\"#27ae60\" stroke-dasharray=\"6 4\"");
	write_level(&plot, 0.1, "stroke=\"#27ae60\" stroke-dasharray=\"6 4\"");
	write_points(&plot, points);
	fprintf(plot.file, "</svg>\n");
	return fclose(plot.file) == 0 ? 0 : -EIO;
}
