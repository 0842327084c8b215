/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot - draws line charts as SVG, one below the other in one picture.
 *
 *   struct gg_plot_series series = { "512 KiB", sizes, errors, count };
 *   struct gg_plot plot = {
 *           .title = "Expected error",
 *           .x = { "allocation size", GG_PLOT_SIZE, .logarithmic = true },
 *           .y = { "error", GG_PLOT_PERCENT },
 *           .series = &series, .series_count = 1,
 *   };
 *   gg_plot_svg(&plot, 1, &buf);
 *
 * The picture follows the reader's light or dark scheme.  The colors are those of Okabe and Ito
 * (2008), which color-blind readers can distinguish, and each series has its own dash pattern.
 *
 * Axes start at 0 (linear) or at the smallest positive value (logarithmic) and end at the largest
 * finite one.  Points that are not finite, or not positive on a logarithmic axis, interrupt a line.
 *
 * Threads  Any; it only appends to the buffer.  Texts are escaped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum gg_plot_unit {
	GG_PLOT_NUMBER,
	GG_PLOT_SIZE,    /* bytes, ticks at binary sizes */
	GG_PLOT_PERCENT, /* a share; 1 is 100 % */
};

struct gg_plot_axis {
	const char *label;
	enum gg_plot_unit unit;
	bool logarithmic;
};

struct gg_plot_series {
	const char *name;
	const double *x, *y;
	size_t count;
};

struct gg_plot {
	const char *title;
	struct gg_plot_axis x, y;
	const struct gg_plot_series *series;
	size_t series_count;
};

/* Appends a whole SVG document with the plots below each other. */
void gg_plot_svg(const struct gg_plot *plots, size_t count, struct gg_buf *out);
