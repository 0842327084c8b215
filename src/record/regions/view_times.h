/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_times - the moments of the last views of a region, which bound the periods of rates.
 *
 *   struct gg_view_times times = { 0 };
 *
 *   gg_view_times_add(&times, now_ns);                     after each view
 *   from_ns = gg_view_times_before(&times, 10 * GG_NS_PER_S);
 *
 * A view tells what was allocated since the view before it, but not when.  So the amount of a
 * period is known only if the period begins and ends with a view.
 *
 * Units    Nanoseconds since the start of the process.
 * Threads  One owner at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GG_VIEW_TIMES_MAX = 32 };

struct gg_view_times {
	int64_t items[GG_VIEW_TIMES_MAX]; /* the oldest first */
	size_t count;
};

/* Adds a view.  It comes no earlier than the one before. */
void gg_view_times_add(struct gg_view_times *times, int64_t view_ns);

/*
 * Returns the newest view that was at least `length_ns` before the last one.  Without such a view,
 * it returns the oldest; GG_TIME_NONE: there are fewer than two.
 */
int64_t gg_view_times_before(const struct gg_view_times *times, int64_t length_ns);
