/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/simulate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "stats/rng.h"
#include "stats/weight.h"

static const char *const kind_names[GG_KIND_COUNT] = {
	[GG_KIND_NORMAL] = "normal",
	[GG_KIND_GAMMA_FULL] = "gamma, full variance",
	[GG_KIND_GAMMA] = "gamma, (1-p), m = R",
	[GG_KIND_NEGATIVE_BINOMIAL] = "negative binomial",
	[GG_KIND_CAMP_PAULSON] = "Camp-Paulson",
	[GG_KIND_RULE] = "rule",
};

const char *gg_kind_name(enum gg_kind kind)
{
	return (unsigned)kind < GG_KIND_COUNT ? kind_names[kind] : NULL;
}

static double inclusion(const struct gg_program_part *part)
{
	return -expm1(-(double)gg_length_bytes(part->size_bytes) / part->interval);
}

double gg_simulate_expected_samples(const struct gg_program *program)
{
	double sum = 0;

	for (size_t i = 0; i < program->part_count; i++)
		sum += (double)program->parts[i].allocation_count * inclusion(&program->parts[i]);
	return sum;
}

double gg_simulate_all_seen(const struct gg_program *program)
{
	double log_probability = 0;

	for (size_t i = 0; i < program->part_count; i++)
		log_probability += (double)program->parts[i].allocation_count *
		                   log(inclusion(&program->parts[i]));
	return exp(log_probability);
}

/* What a run knows beside its tally: for the kinds that the tally does not serve. */
struct run {
	struct gg_tally tally;
	double full_variance[GG_QUANTITY_COUNT]; /* sum of w^2, without (1-p) */
	double weight_max[GG_QUANTITY_COUNT];
	uint64_t smallest_bytes; /* of the samples */
};

/* Where the first mark fell, given that one fell: the exponential law cut off at the length. */
static uint64_t draw_offset(struct gg_rng *rng, double p, double interval)
{
	return (uint64_t)(-log1p(-p * gg_rng_uniform(rng)) * interval);
}

static void add_sample(struct run *run, const struct gg_draw *draw, uint64_t size_bytes)
{
	struct gg_weight weight = gg_weight_of(draw, size_bytes);
	const double weights[] = { [GG_BYTES] = weight.bytes, [GG_ALLOCATIONS] = weight.count };

	gg_tally_add(&run->tally, draw, size_bytes);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		run->full_variance[i] += weights[i] * weights[i];
		run->weight_max[i] = fmax(run->weight_max[i], weights[i]);
	}
	if (size_bytes < run->smallest_bytes)
		run->smallest_bytes = size_bytes;
}

/*
 * The samples of one part.  How many allocations pass until the next sample is a geometric number
 * with probability p each: floor(exponential * R/Z), since log(1-p) = -Z/R.
 */
static void sample_part(const struct gg_program_part *part, struct gg_rng *rng, struct run *run)
{
	double length = (double)gg_length_bytes(part->size_bytes), p = inclusion(part);
	double scale = part->interval / length;
	uint64_t left = part->allocation_count;

	for (;;) {
		struct gg_draw draw = { .interval = part->interval,
			                .mark_count = 1,
			                .scheme = GG_SCHEME_POISSON };
		uint64_t gap = gg_rng_geometric(rng, scale);

		if (gap >= left)
			return;
		left -= gap + 1;
		draw.offset_bytes = draw_offset(rng, p, part->interval);
		add_sample(run, &draw, part->size_bytes);
	}
}

static void sample_program(const struct gg_program *program, struct gg_rng *rng, struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->smallest_bytes = UINT64_MAX;
	for (size_t i = 0; i < program->part_count; i++) {
		gg_tally_expose(&run->tally, program->parts[i].interval);
		sample_part(&program->parts[i], rng, run);
	}
}

void gg_simulate_once(const struct gg_program *program, struct gg_rng *rng,
                      struct gg_tally *ret_tally)
{
	struct run run;

	sample_program(program, rng, &run);
	*ret_tally = run.tally;
}

/* Bytes or allocations of the parts of at least that size. */
static double truth(const struct gg_program *program, enum gg_quantity quantity, uint64_t size_min)
{
	double sum = 0;

	for (size_t i = 0; i < program->part_count; i++) {
		const struct gg_program_part *part = &program->parts[i];

		if (part->size_bytes >= size_min)
			sum += (double)part->allocation_count *
			       (quantity == GG_BYTES ? (double)part->size_bytes : 1);
	}
	return sum;
}

/*
 * The failed-trials ends by sample count: the search for whole failures costs more than all else of
 * a run, and a program's sample counts are few.  Direct-mapped; an entry of 0 samples is empty.
 */
enum { ENDS_COUNT = 1024 };

struct ends {
	uint64_t sample_count;
	double low, high;
};

struct ends_cache {
	struct ends exact[ENDS_COUNT], approximate[ENDS_COUNT];
};

/* The window begins with the program, so that nothing is missing there, and ends anywhere. */
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

static bool has_one_interval(const struct gg_program *program)
{
	for (size_t i = 1; i < program->part_count; i++)
		if (program->parts[i].interval != program->parts[0].interval)
			return false;
	return true;
}

/* What all runs of one program share. */
struct simulation {
	const struct gg_program *program;
	double confidence;
	bool has_one_interval;
	struct ends_cache *ends;
};

/* False: the kind has no such interval. */
static bool interval_of_kind(const struct simulation *simulation, const struct run *run,
                             enum gg_kind kind, enum gg_quantity quantity, bool discovered,
                             struct gg_interval *ret_interval)
{
	const struct gg_tally *tally = &run->tally;
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	double reserve = tally->reserve_max[quantity], confidence = simulation->confidence;
	double rest = gg_sum_value(&tally->rest_bytes);
	bool exact = kind == GG_KIND_NEGATIVE_BINOMIAL;

	switch (kind) {
	case GG_KIND_NORMAL:
		*ret_interval = gg_interval_normal(estimate, confidence);
		return true;
	case GG_KIND_GAMMA_FULL:
		estimate.variance = run->full_variance[quantity];
		reserve = fmax(run->weight_max[quantity], reserve);
		*ret_interval = gg_interval_gamma(estimate, reserve, confidence);
		return true;
	case GG_KIND_GAMMA:
		*ret_interval = gg_interval_gamma(estimate, reserve, confidence);
		return true;
	case GG_KIND_NEGATIVE_BINOMIAL:
	case GG_KIND_CAMP_PAULSON:
		if (quantity != GG_BYTES || !simulation->has_one_interval)
			return false;
		*ret_interval = failed_trials(
			exact ? simulation->ends->exact : simulation->ends->approximate, exact,
			simulation->program->parts[0].interval, tally->sample_count, confidence);
		ret_interval->low += rest;
		ret_interval->high += rest;
		return true;
	case GG_KIND_RULE:
		*ret_interval = gg_interval_of(tally, quantity, confidence, discovered);
		return true;
	case GG_KIND_COUNT:
		break;
	}
	return false;
}

/* Sums of a cell, before they are divided. */
static void count_interval(struct gg_cell *cell, const struct gg_interval *interval, double value,
                           double value_all_sizes)
{
	/* Both are whole numbers of bytes or allocations: rounding must not decide. */
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

/* One kind of interval of one run, in both populations; only the rule asks which it is. */
static void count_kind(const struct simulation *simulation, const struct run *run,
                       enum gg_kind kind, enum gg_quantity quantity, const double *truths,
                       struct gg_cell *cells)
{
	struct gg_interval interval = { 0, INFINITY, GG_METHOD_NO_SAMPLE };
	bool has_sample = run->tally.sample_count > 0;

	if (quantity == GG_ALLOCATIONS && !has_sample) {
		if (kind != GG_KIND_NEGATIVE_BINOMIAL && kind != GG_KIND_CAMP_PAULSON)
			count_interval(&cells[GG_ALL_GROUPS], &interval, truths[1], truths[1]);
		return;
	}
	if (!interval_of_kind(simulation, run, kind, quantity, false, &interval))
		return;
	count_interval(&cells[GG_ALL_GROUPS], &interval, truths[0], truths[1]);
	if (!has_sample)
		return;
	if (kind == GG_KIND_RULE)
		interval_of_kind(simulation, run, kind, quantity, true, &interval);
	count_interval(&cells[GG_SHOWN_ONLY], &interval, truths[0], truths[1]);
}

static void count_run(const struct simulation *simulation, const struct run *run,
                      struct gg_coverage *coverage)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		enum gg_quantity quantity = (enum gg_quantity)i;
		double all = truth(simulation->program, quantity, 0), truths[] = { all, all };

		if (quantity == GG_ALLOCATIONS)
			truths[0] = truth(simulation->program, quantity, run->smallest_bytes);
		for (int kind = 0; kind < GG_KIND_COUNT; kind++)
			count_kind(simulation, run, (enum gg_kind)kind, quantity, truths,
			           coverage->cells[kind][quantity]);
	}
}

/* Sums to shares. */
static void finish(struct gg_coverage *coverage, uint64_t run_count)
{
	struct gg_cell *cell = &coverage->cells[0][0][0];

	for (size_t i = 0; i < sizeof(coverage->cells) / sizeof(*cell); i++, cell++) {
		double n = (double)cell->run_count;

		if (cell->run_count == 0)
			continue;
		cell->covered /= n;
		cell->covered_all_sizes /= n;
		cell->too_high /= n;
		cell->too_low /= n;
		cell->width /= n;
	}
	if (run_count > 0)
		coverage->mean_samples /= (double)run_count;
}

void gg_simulate(const struct gg_program *program, uint64_t run_count, double confidence,
                 uint64_t seed, struct gg_coverage *ret_coverage)
{
	struct ends_cache ends = { 0 };
	struct simulation simulation = { program, confidence, has_one_interval(program), &ends };
	struct gg_coverage coverage = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, seed, 0);
	for (uint64_t i = 0; i < run_count; i++) {
		struct run run;

		sample_program(program, &rng, &run);
		coverage.mean_samples += (double)run.tally.sample_count;
		count_run(&simulation, &run, &coverage);
	}
	finish(&coverage, run_count);
	*ret_coverage = coverage;
}
