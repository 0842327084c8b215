/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_methods - compares methods of confidence intervals: how often each holds the truth, and
 * how wide it is.
 *
 *   struct gg_interval_method_sums sums = GG_INTERVAL_METHOD_SUMS_INIT;      a group in one run
 *   gg_tally_expose(&sums.tally, interval);
 *   gg_interval_method_add(&sums, &draw, size_bytes);                        each of its samples
 *   gg_interval_method_count(&context, &sums, kind, quantity, truths, cells);
 *   gg_cell_finish(&cells[GG_ALL_GROUPS]);                        after all runs: sums to shares
 *
 * Truth        For bytes, the truth is all bytes, sampled or not.  For allocations, it counts those
 *              at least as large as the smallest sample, because no number of unseen small ones can
 *              be excluded; `covered_all_sizes` is the share of intervals that also hold the true
 *              number of all sizes.
 * Populations  All groups: every run.  Shown only: the runs with a sample, as the rows of a list.
 *              A run without a sample has no count and no width; it counts as covered.
 * Threads      Any thread; the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/tally.h"

/* Kinds of intervals.  Reports print the last one. */
enum gg_interval_method {
	GG_INTERVAL_METHOD_NORMAL,
	GG_INTERVAL_METHOD_GAMMA_FULL,        /* gamma with the whole (Z/p)^2, m = largest weight */
	GG_INTERVAL_METHOD_GAMMA,             /* gamma with (Z/p)^2 (1-p), m = R */
	GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL, /* failed trials, exact; only bytes, one interval */
	GG_INTERVAL_METHOD_CAMP_PAULSON,      /* failed trials, approximated */
	GG_INTERVAL_METHOD_RULE,
	GG_INTERVAL_METHOD_COUNT
};

const char *gg_interval_method_name(enum gg_interval_method kind);

enum gg_population { GG_ALL_GROUPS, GG_SHOWN_ONLY, GG_POPULATION_COUNT };

struct gg_cell {
	uint64_t run_count;       /* runs in this population; 0: the kind has no such interval */
	double covered;           /* share of runs whose interval holds the truth */
	double covered_all_sizes; /* for allocations: with those smaller than any sample */
	/* Share of runs whose low end is above the truth; whose high end is below it. */
	double too_high, too_low;
	double width; /* mean of the finite (high - low) / truth */
};

/* The sums of a group in one run: its tally, and the sums that some kinds need beside it. */
struct gg_interval_method_sums {
	struct gg_tally tally;
	double full_variance[GG_QUANTITY_COUNT]; /* sum of w^2, without (1-p) */
	double weight_max[GG_QUANTITY_COUNT];
	uint64_t smallest_bytes; /* size of the smallest sample */
};

#define GG_INTERVAL_METHOD_SUMS_INIT         \
	{                                    \
		.smallest_bytes = UINT64_MAX \
	}

void gg_interval_method_add(struct gg_interval_method_sums *sums, const struct gg_draw *draw,
                            uint64_t size_bytes);

struct gg_interval_method_cache;

/* The data that all runs share.  The cache is for one interval and one confidence. */
struct gg_interval_method_context {
	double confidence;
	/* The sampling interval of all samples, by poisson or bernoulli; 0: several intervals. */
	double interval_bytes;
	/* From gg_interval_method_cache_new(); needed if interval_bytes > 0. */
	struct gg_interval_method_cache *cache;
};

struct gg_interval_method_cache *gg_interval_method_cache_new(void); /* NULL: there is no memory */
void gg_interval_method_cache_free(struct gg_interval_method_cache *cache);

/*
 * Counts the interval of a kind, in both populations.  The interval should hold truths[0];
 * truths[1] is the truth of all sizes.  `cells` has GG_POPULATION_COUNT elements.
 */
void gg_interval_method_count(const struct gg_interval_method_context *context,
                              const struct gg_interval_method_sums *sums,
                              enum gg_interval_method kind, enum gg_quantity quantity,
                              const double *truths, struct gg_cell *cells);

void gg_cell_finish(struct gg_cell *cell);
