/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_methods - compares methods of confidence intervals: how often each holds the truth, and how wide
 * it is.
 *
 *   struct gg_interval_method_sums sums = GG_INTERVAL_METHOD_SUMS_INIT;                a group in one run
 *   gg_tally_expose(&sums.tally, interval);
 *   gg_interval_method_add(&sums, &draw, size_bytes);                       each of its samples
 *   gg_interval_method_count(&context, &sums, kind, quantity, truths, cells);
 *   gg_cell_finish(&cells[GG_ALL_GROUPS]);                       sums to shares, after all runs
 *
 * What counts   Bytes: the truth is all bytes, sampled or not.  Allocations: those at least as large
 *               as the smallest sample, because no number of unseen small ones can be excluded;
 *               `covered_all_sizes` says how often the true number of all sizes was held too.
 * Populations   all groups: every run.  Shown only: the runs with a sample, as rows of a list are.
 * Without a sample there is no count, and no width of one; such runs count as covered.
 *
 * Threads       any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stats/estimate/interval.h"
#include "stats/estimate/tally.h"

/* Kinds of intervals.  The last is what reports print. */
enum gg_interval_method {
	GG_INTERVAL_METHOD_NORMAL,
	GG_INTERVAL_METHOD_GAMMA_FULL,        /* gamma with all of (Z/p)^2, m = largest weight */
	GG_INTERVAL_METHOD_GAMMA,             /* gamma with (Z/p)^2 (1-p), m = R */
	GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL, /* failed trials, exact; bytes only, one interval only */
	GG_INTERVAL_METHOD_CAMP_PAULSON,      /* the same, approximated */
	GG_INTERVAL_METHOD_RULE,
	GG_INTERVAL_METHOD_COUNT
};

const char *gg_interval_method_name(enum gg_interval_method kind);

enum gg_population { GG_ALL_GROUPS, GG_SHOWN_ONLY, GG_POPULATION_COUNT };

struct gg_cell {
	uint64_t run_count;       /* in this population; 0: the kind has no such interval */
	double covered;           /* share of them whose interval holds the truth */
	double covered_all_sizes; /* allocations: also those smaller than any sample */
	double too_high, too_low; /* share whose low end is above the truth, high end below it */
	double width;             /* mean of (high - low) / truth, where finite */
};

/* What a run knows of a group: beside its tally, what the kinds need that the tally does not serve. */
struct gg_interval_method_sums {
	struct gg_tally tally;
	double full_variance[GG_QUANTITY_COUNT]; /* sum of w^2, without (1-p) */
	double weight_max[GG_QUANTITY_COUNT];
	uint64_t smallest_bytes; /* of the samples */
};

#define GG_INTERVAL_METHOD_SUMS_INIT         \
	{                                    \
		.smallest_bytes = UINT64_MAX \
	}

void gg_interval_method_add(struct gg_interval_method_sums *sums, const struct gg_draw *draw,
                            uint64_t size_bytes);

struct gg_interval_method_cache;

/* What all runs have in common.  The cache is for one interval and one confidence. */
struct gg_interval_method_context {
	double confidence;
	double interval; /* that all samples are drawn with, by poisson or bernoulli; 0: several */
	struct gg_interval_method_cache
		*cache; /* gg_interval_method_cache_new(); needed if interval > 0 */
};

struct gg_interval_method_cache *gg_interval_method_cache_new(void); /* NULL: no memory */
void gg_interval_method_cache_free(struct gg_interval_method_cache *cache);

/*
 * Counts the interval of a kind, in both populations.  truths[0] is what the interval must hold,
 * truths[1] that of all sizes; cells[GG_POPULATION_COUNT].
 */
void gg_interval_method_count(const struct gg_interval_method_context *context,
                              const struct gg_interval_method_sums *sums,
                              enum gg_interval_method kind, enum gg_quantity quantity,
                              const double *truths, struct gg_cell *cells);

void gg_cell_finish(struct gg_cell *cell);
