/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery_svg - overhead against sampling interval as a picture: a dot for each run, a line through
 * the medians, the bars that were set as dashed lines.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NURSERY_RUNS = 5 };

/* The measurements at one interval. */
struct nursery_point {
	uint64_t interval_bytes;
	double overheads[NURSERY_RUNS]; /* 0.01: one percent more time than without sampling */
	double median;
};

/* Points by growing interval, in powers of two.  0, or -errno. */
int nursery_svg_write(const char *path, const char *title, const struct nursery_point *points,
                      size_t count);
