/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate_learning - learns the size classes of a program from its samples, and plans rates for them.
 *
 *   static struct gg_rate_learning learned;                    all zero: it knows nothing
 *
 *   gg_rate_learning_allocated(&learned, count, size_bytes);     each sample
 *   gg_rate_learning_freed(&learned, count, size_bytes);         ... when it is freed
 *   if (gg_rate_learning_samples(&learned) >= next) {
 *           gg_rate_learning_plan(&learned, GG_FOCUS_LIVE, interval, &rates);
 *           next = gg_rate_learning_next(next);
 *   }
 *
 * Samples are weighted by how they were drawn, so what is learned does not depend on the plans that
 * were in force meanwhile.  A plan depends on the past alone, never on the allocation that it will
 * decide on; so estimates stay unbiased whatever was learned (docs/ESTIMATION.md).
 *
 * Survival  of a class is (l + w/2) / (a + w), with w what one of its samples stands for: half a
 *           sample more is taken to live.  No class is thought immortal or dead for want of samples,
 *           and one of which none survived among n samples is given 1/(2n).  Classes without a sample
 *           are looked at more closely than the others: they were rare so far, so that it costs
 *           little, and what stays is often rare.  Not as closely as can be, because the shortest
 *           interval of all is what the fast path pays for.
 * Budget    that of `poisson` at the interval: as many samples, spent otherwise.
 * Threads   any; sums are of relaxed additions, and a plan may miss what is being added.
 * Cost      a sample or a free: an addition or three; a plan grows with the classes that were seen.
 */
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "stats/sampling/optimal.h"
#include "stats/sampling/scheme.h"

enum gg_focus {
	GG_FOCUS_LIVE,      /* the variance of live bytes */
	GG_FOCUS_ALLOCATED, /* ... of allocated bytes */
};

enum {
	GG_RATE_LEARNING_FIRST = 256, /* samples before the first plan */
	GG_RATE_LEARNING_CLOSER = 4,  /* the interval over that of classes without a sample */
	GG_RATE_LEARNING_UNITS = 256, /* of an allocation, in which the sums count */
};

struct gg_rate_learning {
	uint64_t samples[GG_SIZE_CLASS_COUNT];
	uint64_t allocated[GG_SIZE_CLASS_COUNT], freed[GG_SIZE_CLASS_COUNT]; /* 1/256 allocations */
	uint64_t sample_count;
};

/* count: of allocations, what the sample stands for (weight.h); the same when it is freed. */
void gg_rate_learning_allocated(struct gg_rate_learning *learned, double count,
                                uint64_t size_bytes);
void gg_rate_learning_freed(struct gg_rate_learning *learned, double count, uint64_t size_bytes);

static inline uint64_t gg_rate_learning_samples(const struct gg_rate_learning *learned)
{
	return gg_load_relaxed(&learned->sample_count);
}

/* The sample count at which to plan again: a quarter more. */
static inline uint64_t gg_rate_learning_next(uint64_t sample_count)
{
	return sample_count < GG_RATE_LEARNING_FIRST ? GG_RATE_LEARNING_FIRST
	                                             : sample_count + sample_count / 4;
}

/* How many plans there can be at most before 2^40 samples. */
enum { GG_RATE_LEARNING_PLANS_MAX = 128 };

/* The classes as learned, with the survival that the plan uses. */
void gg_rate_learning_classes(const struct gg_rate_learning *learned, enum gg_focus focus,
                              struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);

/* The rates for as many samples as `poisson` takes at that interval. */
void gg_rate_learning_plan(const struct gg_rate_learning *learned, enum gg_focus focus,
                           double interval, struct gg_optimal_rates *ret_rates);
