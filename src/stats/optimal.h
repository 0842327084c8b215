/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimal - which size classes to sample how often, for the least error at a given cost.
 *
 * Of a_Z allocations of size Z, l_Z are still alive when a profile is taken.  Sampling each with p_Z
 * costs sum a_Z p_Z samples and leaves the live bytes a variance of sum Z^2 l_Z (1-p_Z)/p_Z.  The
 * least variance for a budget of samples is
 *
 *   p_Z = c Z sqrt(l_Z / a_Z), held between a floor and 1,
 *
 * with the one c that uses up the budget (docs/ESTIMATION.md).  The floor keeps every p above 0: a
 * class that is never sampled would be missing from every estimate, whatever the past said of it.
 *
 *   struct gg_optimal_class classes[GG_SIZE_CLASS_COUNT];   counted, indexed by gg_size_class()
 *   double p[GG_SIZE_CLASS_COUNT];
 *   static struct gg_optimal_costs costs;
 *
 *   gg_optimal_plan(classes, GG_SIZE_CLASS_COUNT, budget, floor, p);
 *   gg_optimal_costs_of(p, &costs);                         what the sampler takes
 *
 * Cost      planning is quadratic in the classes: about a millisecond.  Links to libc alone.
 * Threads   any; pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "stats/scheme.h"

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
 * The probabilities of `count` classes (at most GG_SIZE_CLASS_COUNT).  A class not seen yet is taken
 * to live as long as all others do on the whole.  0 < floor <= 1.
 *
 * 0, -EINVAL (floor or count out of range, a number negative or NaN), or -ERANGE: the floor alone
 * costs more than the budget.  ret_probabilities is untouched then.
 */
GG_MUST_CHECK int gg_optimal_plan(const struct gg_optimal_class *classes, size_t count,
                                  double budget, double floor, double *ret_probabilities);

/*
 * What an allocation of each class takes of a Poisson stream with one mark per GG_OPTIMAL_UNIT on
 * average: -ln(1-p) units, in whole numbers, so that the p of a cost is known exactly.
 */
struct gg_optimal_costs {
	int64_t of_class[GG_SIZE_CLASS_COUNT]; /* 1 to GG_OPTIMAL_CERTAIN */
};

#define GG_OPTIMAL_UNIT    0x1p40
#define GG_OPTIMAL_CERTAIN (INT64_C(1) << 62) /* the cost where p is 1: more than any gap */

void gg_optimal_costs_of(const double *probabilities, struct gg_optimal_costs *ret_costs);

/* The p that a cost gives: the one asked for, within 2^-40. */
double gg_optimal_probability(int64_t cost);
