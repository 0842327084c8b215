/* SPDX-License-Identifier: Apache-2.0 */
/* interval_methods - computes and counts the intervals that trials compare. */
#include "stats/lab/interval_methods.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "stats/sampling/weight.h"

static const char *const kind_names[GG_INTERVAL_METHOD_COUNT] = {
	[GG_INTERVAL_METHOD_NORMAL] = "normal",
	[GG_INTERVAL_METHOD_GAMMA_FULL] = "gamma, full variance",
	[GG_INTERVAL_METHOD_GAMMA] = "gamma, (1-p), m = R",
	[GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL] = "negative binomial",
	[GG_INTERVAL_METHOD_CAMP_PAULSON] = "Camp-Paulson",
	[GG_INTERVAL_METHOD_RULE] = "rule",
};

const char *gg_interval_method_name(enum gg_interval_method kind)
{
	return (unsigned)kind < GG_INTERVAL_METHOD_COUNT ? kind_names[kind] : NULL;
}

void gg_interval_method_add(struct gg_interval_method_sums *sums, const struct gg_draw *draw,
                            uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	const double weights[] = { [GG_BYTES] = weight.bytes, [GG_ALLOCATIONS] = weight.count };

	gg_tally_add(&sums->tally, draw, size_bytes);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		sums->full_variance[i] += weights[i] * weights[i];
		sums->weight_max[i] = fmax(sums->weight_max[i], weights[i]);
	}
	if (size_bytes < sums->smallest_bytes)
		sums->smallest_bytes = size_bytes;
}

/*
 * A cache of the failed-trials ends by sample count: the search for whole failures costs more than
 * the rest of a run, and a program has few different sample counts.  It is direct-mapped; an entry
 * of 0 samples is empty.
 */
enum { ENDS_COUNT = 1024 };

struct ends {
	uint64_t sample_count;
	double low, high;
};

struct gg_interval_method_cache {
	struct ends exact[ENDS_COUNT], approximate[ENDS_COUNT];
};

/*
 * Computes the failed-trials interval.  The window begins with the program, so nothing is missing
 * before the first sample; it ends anywhere, so the upper end assumes one sample more.
 */
static struct gg_interval failed_trials(struct ends *cache, bool exact, double interval,
                                        uint64_t sample_count, double confidence)
{
	struct ends *entry = &cache[sample_count % ENDS_COUNT];
	double s = (double)sample_count;

	if (sample_count == 0 || entry->sample_count != sample_count) {
		struct gg_failures (*of)(double, double,
		                         double) = exact ? gg_interval_failures
		                                         : gg_interval_failures_camp_paulson;

		*entry = (struct ends){ sample_count, of(interval, s, confidence).low,
			                of(interval, s + 1, confidence).high };
	}
	return (struct gg_interval){ entry->low, entry->high, GG_METHOD_NEGATIVE_BINOMIAL };
}

struct gg_interval_method_cache *gg_interval_method_cache_new(void)
{
	return calloc(1, sizeof(struct gg_interval_method_cache));
}

void gg_interval_method_cache_free(struct gg_interval_method_cache *cache)
{
	free(cache);
}

/* Computes the interval of a kind.  Returns false if the kind has no such interval. */
static bool interval_of_kind(const struct gg_interval_method_context *context,
                             const struct gg_interval_method_sums *sums,
                             enum gg_interval_method kind, enum gg_quantity quantity,
                             bool discovered, struct gg_interval *ret_interval)
{
	const struct gg_tally *tally = &sums->tally;
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	double reserve = tally->reserve_max[quantity], confidence = context->confidence;
	double rest = gg_sum_value(&tally->rest_bytes);
	bool exact = kind == GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL;

	switch (kind) {
	case GG_INTERVAL_METHOD_NORMAL:
		*ret_interval = gg_interval_normal(estimate, confidence);
		return true;
	case GG_INTERVAL_METHOD_GAMMA_FULL:
		estimate.variance = sums->full_variance[quantity];
		reserve = fmax(sums->weight_max[quantity], reserve);
		*ret_interval = gg_interval_gamma(estimate, reserve, confidence);
		return true;
	case GG_INTERVAL_METHOD_GAMMA:
		*ret_interval = gg_interval_gamma(estimate, reserve, confidence);
		return true;
	case GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL:
	case GG_INTERVAL_METHOD_CAMP_PAULSON:
		if (quantity != GG_BYTES || context->interval_bytes == 0)
			return false;
		*ret_interval = failed_trials(
			exact ? context->cache->exact : context->cache->approximate, exact,
			context->interval_bytes, tally->sample_count, confidence);
		ret_interval->low += rest;
		ret_interval->high += rest;
		return true;
	case GG_INTERVAL_METHOD_RULE:
		*ret_interval = gg_interval_of(tally, quantity, confidence, discovered);
		return true;
	case GG_INTERVAL_METHOD_COUNT:
		break;
	}
	return false;
}

/* Adds one run to the sums of a cell; gg_cell_finish() divides them. */
static void count_interval(struct gg_cell *cell, const struct gg_interval *interval, double value,
                           double value_all_sizes)
{
	/* Both numbers are whole bytes or allocations, so rounding must not decide. */
	double slack = 1e-9 * value_all_sizes;

	cell->run_count++;
	cell->too_high += interval->low > value + slack;
	cell->too_low += interval->high < value - slack;
	cell->covered += interval->low <= value + slack && interval->high >= value - slack;
	cell->covered_all_sizes += interval->low <= value_all_sizes + slack &&
	                           interval->high >= value_all_sizes - slack;
	if (isfinite(interval->high))
		cell->width += (interval->high - interval->low) / value_all_sizes;
}

/*
 * Counts one kind of interval of one run, in both populations.  Only the rule depends on the
 * population.
 */
void gg_interval_method_count(const struct gg_interval_method_context *context,
                              const struct gg_interval_method_sums *sums,
                              enum gg_interval_method kind, enum gg_quantity quantity,
                              const double *truths, struct gg_cell *cells)
{
	struct gg_interval interval = { 0, INFINITY, GG_METHOD_NO_SAMPLE };
	bool has_sample = sums->tally.sample_count > 0;

	/*
	 * Without a sample no kind bounds the number of allocations: the interval is [0, INFINITY).
	 */
	if (quantity == GG_ALLOCATIONS && !has_sample) {
		if (kind != GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL &&
		    kind != GG_INTERVAL_METHOD_CAMP_PAULSON)
			count_interval(&cells[GG_ALL_GROUPS], &interval, truths[1], truths[1]);
		return;
	}
	if (!interval_of_kind(context, sums, kind, quantity, false, &interval))
		return;
	count_interval(&cells[GG_ALL_GROUPS], &interval, truths[0], truths[1]);
	if (!has_sample)
		return;
	if (kind == GG_INTERVAL_METHOD_RULE)
		interval_of_kind(context, sums, kind, quantity, true, &interval);
	count_interval(&cells[GG_SHOWN_ONLY], &interval, truths[0], truths[1]);
}

void gg_cell_finish(struct gg_cell *cell)
{
	double n = (double)cell->run_count;

	if (cell->run_count == 0)
		return;
	cell->covered /= n;
	cell->covered_all_sizes /= n;
	cell->too_high /= n;
	cell->too_low /= n;
	cell->width /= n;
}
