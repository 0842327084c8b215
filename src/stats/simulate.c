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

static bool has_one_interval(const struct gg_program *program)
{
	for (size_t i = 1; i < program->part_count; i++)
		if (program->parts[i].interval != program->parts[0].interval)
			return false;
	return true;
}

/* False: the kind has no such interval. */
static bool interval_of_kind(const struct gg_program *program, const struct run *run,
			     enum gg_kind kind, enum gg_quantity quantity, bool discovered,
			     double confidence, struct gg_interval *ret_interval)
{
	const struct gg_tally *tally = &run->tally;
	struct gg_estimate estimate = gg_tally_estimate(tally, quantity);
	double R = program->parts[0].interval, rest = gg_sum_value(&tally->rest_bytes);
	double samples = (double)tally->sample_count;
	struct gg_failures failures;

	switch (kind) {
	case GG_KIND_NORMAL:
		*ret_interval = gg_interval_normal(estimate, confidence);
		return true;
	case GG_KIND_GAMMA_FULL:
		estimate.variance = run->full_variance[quantity];
		*ret_interval = gg_interval_gamma(
			estimate, fmax(run->weight_max[quantity], tally->reserve_max[quantity]),
			confidence);
		return true;
	case GG_KIND_GAMMA:
		*ret_interval = gg_interval_gamma(estimate, tally->reserve_max[quantity],
						  confidence);
		return true;
	case GG_KIND_NEGATIVE_BINOMIAL:
	case GG_KIND_CAMP_PAULSON:
		if (quantity != GG_BYTES || !has_one_interval(program))
			return false;
		/* Begins with the program, so that nothing is missing there; ends anywhere. */
		if (kind == GG_KIND_NEGATIVE_BINOMIAL) {
			*ret_interval = gg_interval_failed_trials(
				R, tally->sample_count, rest, confidence, GG_WINDOW_ENDS_BETWEEN);
			return true;
		}
		failures = gg_interval_failures_camp_paulson(R, samples, confidence);
		ret_interval->low = failures.low + rest;
		failures = gg_interval_failures_camp_paulson(R, samples + 1, confidence);
		ret_interval->high = failures.high + rest;
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

static void count_run(const struct gg_program *program, const struct run *run, double confidence,
		      struct gg_coverage *coverage)
{
	bool has_sample = run->tally.sample_count > 0;

	for (int i = 0; i < GG_KIND_COUNT * GG_QUANTITY_COUNT * GG_POPULATION_COUNT; i++) {
		enum gg_population population = (enum gg_population)(i % GG_POPULATION_COUNT);
		enum gg_quantity quantity = (enum gg_quantity)(i / GG_POPULATION_COUNT %
							       GG_QUANTITY_COUNT);
		enum gg_kind kind = (enum gg_kind)(i / (GG_POPULATION_COUNT * GG_QUANTITY_COUNT));
		struct gg_cell *cell = &coverage->cells[kind][quantity][population];
		double all = truth(program, quantity, 0);
		double value = quantity == GG_BYTES ? all
						    : truth(program, quantity, run->smallest_bytes);
		struct gg_interval interval = { 0, INFINITY, GG_METHOD_NO_SAMPLE };

		if (population == GG_SHOWN_ONLY && !has_sample)
			continue;
		if (quantity == GG_ALLOCATIONS && !has_sample &&
		    kind != GG_KIND_NEGATIVE_BINOMIAL && kind != GG_KIND_CAMP_PAULSON)
			count_interval(cell, &interval, all, all);
		else if (interval_of_kind(program, run, kind, quantity, population == GG_SHOWN_ONLY,
					  confidence, &interval))
			count_interval(cell, &interval, value, all);
	}
}

void gg_simulate(const struct gg_program *program, uint64_t run_count, double confidence,
		 uint64_t seed, struct gg_coverage *ret_coverage)
{
	struct gg_coverage coverage = { 0 };
	struct gg_rng rng;
	struct gg_cell *cell = &coverage.cells[0][0][0];

	gg_rng_seed(&rng, seed, 0);
	for (uint64_t i = 0; i < run_count; i++) {
		struct run run;

		sample_program(program, &rng, &run);
		coverage.mean_samples += (double)run.tally.sample_count / (double)run_count;
		count_run(program, &run, confidence, &coverage);
	}
	for (size_t i = 0; i < sizeof(coverage.cells) / sizeof(*cell); i++, cell++) {
		double n = (double)cell->run_count;

		if (cell->run_count == 0)
			continue;
		cell->covered /= n;
		cell->covered_all_sizes /= n;
		cell->too_high /= n;
		cell->too_low /= n;
		cell->width /= n;
	}
	*ret_coverage = coverage;
}
