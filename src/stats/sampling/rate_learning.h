/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate_learning - learns the size classes of a program from its samples, and plans rates for them.
 *
 *   static struct gg_rate_learning learned;                    all zero: nothing is learned yet
 *
 *   gg_rate_learning_allocated(&learned, count, size_bytes);     each sample
 *   gg_rate_learning_freed(&learned, count, size_bytes);         ... when it is freed
 *   if (gg_rate_learning_samples(&learned) >= next) {
 *           gg_rate_learning_plan(&learned, GG_FOCUS_LIVE, interval, &rates);
 *           next = gg_rate_learning_next(next);
 *   }
 *
 * Samples are weighted by the way they were drawn, so the result does not depend on the plans that
 * were in force meanwhile.  A plan depends only on the past, never on the allocation that it will
 * decide on, so estimates stay unbiased whatever was learned (docs/ESTIMATION.md).
 *
 * Survival  The share of a class that survives is estimated as (l + w/2) / (a + w), where w is the
 *           weight of one of its samples: half a sample more counts as live.  So no class is taken
 *           for immortal or dead because it has few samples.  A class of which none survived among
 *           n samples gets 1/(2n).  Classes without a sample are sampled more densely than other
 *           classes.  That costs little, because they were rare so far, and long-lived allocations
 *           are often rare.  The density is not the highest possible, because the fast path pays
 *           for the shortest interval of all.
 * Budget    The number of samples that `poisson` takes at the interval.  The plan only distributes
 *           them differently.
 * Threads   Any thread.  Sums use relaxed additions, and a plan may miss an addition under way.
 * Cost      A sample or a free costs one to three additions.  The cost of a plan grows with the
 *           number of observed classes.
 */
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "stats/sampling/optimal.h"
#include "stats/sampling/scheme.h"

enum gg_focus {
	GG_FOCUS_LIVE,      /* minimizes the variance of live bytes */
	GG_FOCUS_ALLOCATED, /* minimizes the variance of allocated bytes */
};

enum {
	GG_RATE_LEARNING_FIRST = 256, /* samples before the first plan */
	/* The interval, divided by the interval of classes without a sample. */
	GG_RATE_LEARNING_CLOSER = 4,
	GG_RATE_LEARNING_UNITS = 256, /* the sums count in 1/256 of an allocation */
};

struct gg_rate_learning {
	uint64_t samples[GG_SIZE_CLASS_COUNT];
	/* Both sums count in 1/256 of an allocation. */
	uint64_t allocated[GG_SIZE_CLASS_COUNT], freed[GG_SIZE_CLASS_COUNT];
	uint64_t sample_count;
};

/*
 * Count a sample when it is allocated, and when it is freed.  `count` is its weight in allocations
 * (weight.h), the same number both times.
 */
void gg_rate_learning_allocated(struct gg_rate_learning *learned, double count,
                                uint64_t size_bytes);
void gg_rate_learning_freed(struct gg_rate_learning *learned, double count, uint64_t size_bytes);

static inline uint64_t gg_rate_learning_samples(const struct gg_rate_learning *learned)
{
	return gg_load_relaxed(&learned->sample_count);
}

/* Returns the sample count at which to plan again: a quarter more. */
static inline uint64_t gg_rate_learning_next(uint64_t sample_count)
{
	return sample_count < GG_RATE_LEARNING_FIRST ? GG_RATE_LEARNING_FIRST
	                                             : sample_count + sample_count / 4;
}

/* The most plans before 2^40 samples, and those of intervals that change meanwhile. */
enum { GG_RATE_LEARNING_PLANS_MAX = 256 };

/* Returns the classes as learned, with the survival that the plan uses. */
void gg_rate_learning_classes(const struct gg_rate_learning *learned, enum gg_focus focus,
                              struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);

/* Plans the rates for as many samples as `poisson` takes at that interval. */
void gg_rate_learning_plan(const struct gg_rate_learning *learned, enum gg_focus focus,
                           double interval, struct gg_optimal_rates *ret_rates);

/* Plans from classes that the caller has counted. */
void gg_rate_learning_plan_for(const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT],
                               double interval, struct gg_optimal_rates *ret_rates);

/*
 * Plans rates that give live bytes the same variance as `poisson` at that interval, with as few
 * samples as possible.  No class has an interval of more than `coarser` times that; coarser >= 1.
 */
void gg_rate_learning_plan_for_error(
	const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT], double interval,
	double coarser, struct gg_optimal_rates *ret_rates);
