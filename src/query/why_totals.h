/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_totals - what the totals of a look tell, and how far the process changed them meanwhile.
 *
 * A look takes a while.  Its totals say how much was live before and after the kernel counted RSS,
 * how much was freed before the look read its pages, and how much was allocated or freed before
 * the walk through the heap was over (record/look/live_watch.h).  All that widens intervals.
 *
 * Units     Bytes.
 * Threads   Any; the functions only read the input.
 */
#pragma once

#include "query/why_rows.h"

/* The name of the total that the heap has if a walk would have taken too long. */
#define GG_WHY_UNWALKED "glibc.unwalked"

/* The function returns the total of that name; -1 means that the look lacks it. */
double gg_why_total(const struct gg_why_input *input, const char *name);

/* Returns a total of an allocator with slabs (gg_model_look_slab_total()). */
double gg_why_slab_total(const struct gg_why_input *input, const char *name);

struct gg_why_range {
	double bytes, low, high;
};

/*
 * Returns live memory while the kernel counted RSS.  weight_max: the most that one more sample
 * could add.
 */
struct gg_why_range gg_why_live_range(const struct gg_why_input *input, double weight_max);

/* Returns a total of a walk, which is not negative; low equals high if nothing changed. */
struct gg_why_range gg_why_walked_range(const struct gg_why_input *input, const char *name);

/* True if much of what was live was freed during the look. */
bool gg_why_is_busy(const struct gg_why_input *input);
