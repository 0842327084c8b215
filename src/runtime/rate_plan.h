/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate_plan - the rates of the optimal scheme, learned from this program's samples while it runs.
 *
 * Every sample, and every free of one, is added to sums by size class
 * (stats/sampling/rate_learning.h). When there are a quarter more samples than at the last plan,
 * the thread that took the last of them makes a new plan and publishes it.  Other threads apply it
 * when their sampler is due, as they do with any change of settings.
 *
 * Counts     libgeiger-malloc counts all allocations of each size class, and all live ones.  Then
 *            plans are made from these counts, and nothing is learned.
 * Error      With libgeiger-malloc and a wanted error, plans keep the error and save samples
 *            (gg_rate_learning_plan_for_error).
 * Immutable  A published plan never changes and is never freed, so a thread may keep using an old
 *            one.  GG_RATE_LEARNING_PLANS_MAX plans suffice for 2^40 samples.  Changes of the
 *            interval need plans as well; when all are used, the last plan stays.
 * Before     Until the first plan, and under another interval than the plan's, every size has the
 *            sampling interval itself, as with `poisson`.
 * Fork       A child continues with its parent's sums.
 * Threads    any, on the sample path.  One thread plans at a time; the others do not wait.
 * Cost       25 instructions for a sample and its free; 60 000 for a plan if sizes up to 8 KiB are
 *            in use (callgrind on bench_agent's mix10k).  Memory: 6 KiB, and 4 KiB for each plan.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/sampling/rate_learning.h"

/* At the start.  Without memory no plan is ever made. */
void gg_rate_plan_init(enum gg_focus focus);

/* In a forked child: the thread that was planning may exist in the parent alone. */
void gg_rate_plan_forked(void);

/* From now on, plans are made from counts.  Each class of them has its true numbers. */
typedef void gg_rate_plan_count(struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);
void gg_rate_plan_use_counts(gg_rate_plan_count *count_classes);

/*
 * Makes a plan from counts if there were a quarter more calls of this function than at the last
 * plan; the first one after 32.  True: new rates were published.
 */
bool gg_rate_plan_visit(uint64_t interval_bytes);

/*
 * As gg_rate_plan_visit(), for an interval that gives live bytes a wanted error.  The plan keeps
 * that error with fewer samples.  No class has an interval above `coarser` times this one; coarser
 * >= 1.
 */
bool gg_rate_plan_visit_for_error(uint64_t interval_bytes, double coarser);

/* Returns the rates of such a plan; NULL: none was made. */
const struct gg_optimal_rates *gg_rate_plan_rates_for_error(uint64_t interval_bytes,
                                                            double coarser);

/* True if plans are in use.  If not, the functions below do nothing. */
bool gg_rate_plan_is_on(void);

/* Adds a freed sample, which stands for that many allocations. */
void gg_rate_plan_freed(double stands_for, uint64_t size_bytes);

/*
 * Adds a sample; interval_bytes is the current sampling interval.  True: new rates were published.
 */
bool gg_rate_plan_allocated(double stands_for, uint64_t size_bytes, uint64_t interval_bytes);

/* The rates for that interval; NULL: there is no plan for it. */
const struct gg_optimal_rates *gg_rate_plan_rates(uint64_t interval_bytes);
