/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimal - chooses the sampling probability of each size class, for the least error at a given
 * cost.
 *
 * A program makes a_Z allocations of size Z, and l_Z of them are live when a profile is taken.
 * Sampling each with probability p_Z costs sum a_Z p_Z samples, and the estimate of live bytes has
 * a variance of sum Z^2 l_Z (1-p_Z)/p_Z.  The least variance for a budget of samples is
 *
 *   p_Z = c Z sqrt(l_Z / a_Z), held between a floor and a ceiling,
 *
 * with the one c that uses up the budget (docs/ESTIMATION.md).  The floor keeps every p above 0: a
 * class that is never sampled would be missing from every estimate, even if its past gave no reason
 * to sample it.
 *
 *   struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];   counted, indexed by gg_size_class()
 *   static struct gg_optimal_rates rates;
 *
 *   gg_optimal_rates_plan(classes, budget, &bounds, &rates);   the sampler takes the rates
 *
 * Rates    A class is sampled as `poisson` samples, with a sampling interval of its own.  Sample
 *          points fall on the stream with the shortest interval of all classes.  The class of the
 *          allocation under a sample point determines the chance that the point is kept.  So the
 *          fast path only counts bytes, as that of `poisson` does, and does not know the classes.
 * Cost     A plan evaluates some 10 of 500 bends: about 50 us.  It links only to libc.
 * Threads  Any thread; the functions are pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "stats/sampling/scheme.h"

enum {
	/* A doubling has four classes; sizes of 1 to 8 bytes have one each. */
	GG_SIZE_CLASS_COUNT = 252
};

/*
 * Returns the class of a size.  It is 0 for size 0, grows with the size, and is below
 * GG_SIZE_CLASS_COUNT for sizes below 2^63.
 */
static inline unsigned gg_size_class(uint64_t size_bytes)
{
	int shift = 61 - __builtin_clzll(size_bytes | 4);

	return 4u * (unsigned)shift + (unsigned)(size_bytes >> shift);
}

/* One class as it was observed so far.  Counts may be shares: the budget is in the same unit. */
struct gg_optimal_class {
	double size_bytes; /* size of a typical allocation; 0 counts as 1 */
	double allocated;  /* a_Z; 0: no allocation was observed yet */
	double live;       /* l_Z <= a_Z */
};

/*
 * Computes the probabilities of `count` classes (at most GG_SIZE_CLASS_COUNT).  A class that was
 * not observed yet is assumed to live as long as all other classes on average.  0 < floor <= 1.
 *
 * Returns 0; -EINVAL if floor or count is out of range, or if a number is negative or NaN; or
 * -ERANGE if the floor alone costs more than the budget.  On an error ret_probabilities is
 * untouched.
 */
GG_MUST_CHECK int gg_optimal_plan(const struct gg_optimal_class *classes, size_t count,
                                  double budget, double floor, double *ret_probabilities);

/* Bounds of the sampling intervals of all classes, in bytes: 1 <= shortest <= longest. */
struct gg_optimal_bounds {
	double shortest, longest;
	double unseen; /* interval of classes without any sample; 0: the plan decides */
};

/*
 * The bounds of a plan around one interval.  With a shorter `shortest`, more sample points are
 * dropped, at some 10 ns each.  With a longer `longest`, a class that was wrongly taken for
 * short-lived is hard to observe.
 */
enum { GG_OPTIMAL_FINER = 32, GG_OPTIMAL_COARSER = 16 };

static inline struct gg_optimal_bounds gg_optimal_bounds_of(double interval)
{
	double shortest = interval / GG_OPTIMAL_FINER;

	return (struct gg_optimal_bounds){ .shortest = shortest > 1 ? shortest : 1,
		                           .longest = interval * GG_OPTIMAL_COARSER };
}

/* The sampling of each class.  It is constant while a sampler uses it. */
struct gg_optimal_rates {
	double shortest; /* mean interval of the sample points that are drawn, in bytes, >= 1 */
	/* Mean intervals of the sample points that are kept, >= shortest. */
	double intervals[GG_SIZE_CLASS_COUNT];
	double keeps[GG_SIZE_CLASS_COUNT]; /* share of sample points that are kept */
};

/* Sets `shortest` and `keeps` for the given intervals, each of which is at least 1. */
void gg_optimal_rates_set(struct gg_optimal_rates *rates,
                          const double intervals[static GG_SIZE_CLASS_COUNT]);

/*
 * Plans the intervals of all classes, with p = 1 - exp(-Z/R) between those of the bounds.  The size
 * of a class without observations may be 0; then the plan uses the smallest size of the class.  If
 * the budget is too small for the floor, all classes get the floor; if it exceeds the need of the
 * ceiling, all get the ceiling.  Returns 0, or -EINVAL as gg_optimal_plan() does, and for invalid
 * bounds.
 */
GG_MUST_CHECK int gg_optimal_rates_plan(
	const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT], double budget,
	const struct gg_optimal_bounds *bounds, struct gg_optimal_rates *ret_rates);

/*
 * Plans as above, but instead of a budget the variance is given: that which live bytes have if all
 * classes are sampled at `interval`, which is at least 1.  The plan has as few samples as possible.
 * If the bounds leave no such plan, it has all classes at one of the bounds.
 */
GG_MUST_CHECK int gg_optimal_rates_for_variance(
	const struct gg_optimal_class classes[static GG_SIZE_CLASS_COUNT], double interval,
	const struct gg_optimal_bounds *bounds, struct gg_optimal_rates *ret_rates);

/* Returns the smallest size of a class. */
static inline uint64_t gg_size_class_bytes(unsigned class)
{
	return class < 8 ? class : (uint64_t)(class % 4 + 4) << (class / 4 - 1);
}
