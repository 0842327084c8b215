/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimal - chooses the sampling probability of each size class, for the least error at a given
 * cost.
 *
 * Of a_Z allocations of size Z, l_Z are still alive when a profile is taken.  Sampling each with
 * p_Z costs sum a_Z p_Z samples and leaves the live bytes a variance of sum Z^2 l_Z (1-p_Z)/p_Z.
 * The least variance for a budget of samples is
 *
 *   p_Z = c Z sqrt(l_Z / a_Z), held between a floor and a ceiling,
 *
 * with the one c that uses up the budget (docs/ESTIMATION.md).  The floor keeps every p above 0: a
 * class that is never sampled would be missing from every estimate, whatever the past said of it.
 *
 *   struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];   counted, indexed by gg_size_class()
 *   static struct gg_optimal_rates rates;
 *
 *   gg_optimal_rates_plan(classes, budget, &bounds, &rates);   what the sampler takes
 *
 * Rates     a class is sampled as `poisson` does, with a sampling interval of its own.  Marks fall
 *           on the stream with the shortest interval of all classes, and a mark is kept with a
 *           chance that the class of the allocation under it decides.  So the fast path counts
 *           bytes, as that of `poisson` does, and knows nothing of classes.
 * Cost      planning sorts out some 10 of 500 bends: about 50 us.  Links to libc alone.
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "stats/sampling/scheme.h"

enum {
	/* Four classes a doubling; 1 to 8 bytes have one each. */
	GG_SIZE_CLASS_COUNT = 252
};

/* The class of a size: 0 for none, monotonic, below GG_SIZE_CLASS_COUNT for sizes below 2^63. */
static inline unsigned gg_size_class(uint64_t size_bytes)
{
	int shift = 61 - __builtin_clzll(size_bytes | 4);

	return 4u * (unsigned)shift + (unsigned)(size_bytes >> shift);
}

/* One class as it was seen so far.  Counts may be shares: the budget is in the same unit. */
struct gg_optimal_class {
	double size_bytes; /* of a typical allocation; 0 counts as 1 */
	double allocated;  /* a_Z; 0: nothing seen yet */
	double live;       /* l_Z <= a_Z */
};

/*
 * The probabilities of `count` classes (at most GG_SIZE_CLASS_COUNT).  A class not seen yet is
 * taken to live as long as all others do on the whole.  0 < floor <= 1.
 *
 * 0, -EINVAL (floor or count out of range, a number negative or NaN), or -ERANGE: the floor alone
 * costs more than the budget.  ret_probabilities is untouched then.
 */
GG_MUST_CHECK int gg_optimal_plan(const struct gg_optimal_class *classes, size_t count,
                                  double budget, double floor, double *ret_probabilities);

/* Sampling intervals, in bytes, that hold every class's: 1 <= shortest <= longest. */
struct gg_optimal_bounds {
	double shortest, longest;
	double unseen; /* of every class that nothing was seen of; 0: as the plan has it */
};

/*
 * Those of a plan around one interval.  Finer marks are more often due for nothing, at some 10 ns
 * each; coarser ones make a class that was thought to be short-lived and is not hard to see.
 */
enum { GG_OPTIMAL_FINER = 32, GG_OPTIMAL_COARSER = 16 };

static inline struct gg_optimal_bounds gg_optimal_bounds_of(double interval)
{
	double shortest = interval / GG_OPTIMAL_FINER;

	return (struct gg_optimal_bounds){ .shortest = shortest > 1 ? shortest : 1,
		                           .longest = interval * GG_OPTIMAL_COARSER };
}

/* How each class is sampled.  Constant while a sampler uses it. */
struct gg_optimal_rates {
	double shortest; /* mean interval of the marks that are drawn, bytes, >= 1 */
	double intervals[GG_SIZE_CLASS_COUNT]; /* of the marks that are kept, >= shortest */
	double keeps[GG_SIZE_CLASS_COUNT];     /* the share of marks that are kept */
};

/* Sets `shortest` and `keeps` for the given intervals, each of which is at least 1. */
void gg_optimal_rates_set(struct gg_optimal_rates *rates,
                          const double intervals[static GG_SIZE_CLASS_COUNT]);

/*
 * The plan for all classes (their sizes may be 0 where nothing was seen: then that of the class is
 * taken), with p = 1 - exp(-Z/R) between those of the bounds.  A budget that is too small for the
 * floor, or more than the ceiling needs, gives the one or the other to all.  0, or -EINVAL as
 * gg_optimal_plan() and for bounds that are none.
 */
GG_MUST_CHECK int gg_optimal_rates_plan(
	const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT], double budget,
	const struct gg_optimal_bounds *bounds, struct gg_optimal_rates *ret_rates);

/* The smallest size of a class. */
static inline uint64_t gg_size_class_bytes(unsigned class)
{
	return class < 8 ? class : (uint64_t)(class % 4 + 4) << (class / 4 - 1);
}
