/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_cost - the processor time of looks, and the rest that keeps it small.
 *
 *   struct gg_top_cost cost = gg_top_cost_begin();
 *
 *   ... look ...
 *   until_ns = gg_top_cost_end(&cost, delay_ns, snapshot);     the next look begins no earlier
 *
 * Looks use GG_TOP_COST_SHARE of a processor at most, over all threads and the children that look
 * up names.  After an expensive look the next one comes later, and the snapshot says so.  The share
 * is below the fifth that the manual promises: what draws frames costs time as well.
 *
 * Threads  Any; the time is that of the whole process.
 */
#pragma once

#include <stdint.h>

#include "top/top_snapshot.h"

#define GG_TOP_COST_SHARE 0.18

struct gg_top_cost {
	uint64_t begin_ns; /* of the monotonic clock */
	uint64_t cpu_ns;   /* processor time until then */
};

struct gg_top_cost gg_top_cost_begin(void);
/*
 * Notes in the snapshot, if there is one, how often looks come if they are rarer than `delay_ns`.
 * Returns the earliest begin of the next look, on the monotonic clock.
 */
uint64_t gg_top_cost_end(const struct gg_top_cost *cost, uint64_t delay_ns,
                         struct gg_top_snapshot *snapshot);
/* The rest after a look that took `cpu_ns` of all processors and `took_ns` of time. */
uint64_t gg_top_cost_rest_ns(uint64_t took_ns, uint64_t cpu_ns);
