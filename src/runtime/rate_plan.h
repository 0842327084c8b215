/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate_plan - the optimal scheme's rates: learned from this program's samples while it runs.
 *
 * Every sample and every free of one is added to sums by size class (stats/sampling/rate_learning.h).  When there are
 * a quarter more samples than at the last plan, the thread that took the last one plans anew and
 * publishes the rates; the others take them over when they are next due, as any change of settings.
 *
 * Immutable  a plan that is published never changes and is never freed, so a thread may go on with an
 *            old one as long as it likes.  There is room for GG_RATE_LEARNING_PLANS_MAX, more than 2^40
 *            samples ask for; when changes of the interval have used them up, the last one stays.
 * Until the first plan, and while another interval is in force than it was made for, every size has
 * the interval itself, as with `poisson`.
 * Fork       a child goes on with what its parent had learned.
 * Threads    any, on the sample path.  One plans at a time; the others do not wait.
 * Cost       a sample and its free 25 instructions each; a plan 60 000 where sizes up to 8 KiB are in
 *            use (callgrind on bench_agent's mix10k).  Memory: 6 KiB, and 4 KiB a plan.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/sampling/rate_learning.h"

/* At start.  Without memory for plans there are none. */
void gg_rate_plan_init(enum gg_focus focus);

/* In a forked child: who was planning is not there. */
void gg_rate_plan_forked(void);

/* Is it in use?  Else the others do nothing and need not be called. */
bool gg_rate_plan_is_on(void);

/* stands_for: of allocations, what the sample does. */
void gg_rate_plan_freed(double stands_for, uint64_t size_bytes);

/* interval_bytes: in force now.  True: there are new rates. */
bool gg_rate_plan_allocated(double stands_for, uint64_t size_bytes, uint64_t interval_bytes);

/* The rates to use with that interval; NULL: none. */
const struct gg_optimal_rates *gg_rate_plan_rates(uint64_t interval_bytes);
