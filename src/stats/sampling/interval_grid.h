/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_grid - the sampling intervals that controls choose: powers of 2^(1/4).
 *
 * A coarse grid keeps an interval that is nearly right, so each change means something.
 */
#pragma once

#include <stdint.h>

#define GG_GRID_STEP 1.189207115002721 /* 2^(1/4) */

/* Returns the power of GG_GRID_STEP below the interval, or one of the two bounds.  finest >= 1. */
static inline uint64_t gg_interval_grid(double interval, uint64_t finest, uint64_t coarsest)
{
	double value = 1;

	if (interval >= (double)coarsest)
		return coarsest;
	if (!(interval > (double)finest))
		return finest;
	while (value * 2 <= interval)
		value *= 2;
	while (value * GG_GRID_STEP <= interval)
		value *= GG_GRID_STEP;
	return value > (double)finest ? (uint64_t)value : finest;
}
