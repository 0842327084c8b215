/* SPDX-License-Identifier: Apache-2.0 */
/* simulate - samples programs of known truth, and counts how often intervals hold it. */
#include "stats/lab/simulate.h"

#include <math.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "stats/sampling/rng.h"

/* Returns p: the probability that an allocation of the part is a sample. */
static double inclusion(const struct gg_program *program, const struct gg_program_part *part)
{
	if (program->scheme == GG_SCHEME_PER_ALLOCATION)
		return 1 / part->sampling_interval;
	return -expm1(-(double)gg_length_bytes(part->size_bytes) / part->sampling_interval);
}

double gg_simulate_expected_samples(const struct gg_program *program)
{
	double sum = 0;

	for (size_t i = 0; i < program->part_count; i++)
		sum += (double)program->parts[i].allocation_count *
		       inclusion(program, &program->parts[i]);
	return sum;
}

/*
 * Draws the offset of the first sample point, given that there is one: the exponential law, cut off
 * at the length.
 */
static uint64_t draw_offset(struct gg_rng *rng, double p, double interval)
{
	return (uint64_t)(-log1p(-p * gg_rng_uniform(rng)) * interval);
}

/*
 * Draws the samples of one part.  The number of allocations before the next sample is a geometric
 * number with probability p each: floor(exponential * R/Z), because log(1-p) = -Z/R.  So a run
 * costs its samples, not its allocations.
 */
static void sample_part(const struct gg_program *program, const struct gg_program_part *part,
                        struct gg_rng *rng, struct gg_interval_method_sums *run)
{
	double length = (double)gg_length_bytes(part->size_bytes), p = inclusion(program, part);
	bool is_by_bytes = program->scheme != GG_SCHEME_PER_ALLOCATION;
	double scale = is_by_bytes ? part->sampling_interval / length
	                           : gg_rng_geometric_scale(part->sampling_interval);
	uint64_t left = part->allocation_count;

	for (;;) {
		struct gg_draw draw = { .sampling_interval = part->sampling_interval,
			                .sample_point_count = 1,
			                .scheme = program->scheme };
		uint64_t gap = gg_rng_geometric(rng, scale);

		/*
		 * The next sample would be beyond the part.  The gap need not continue in the next
		 * part, because a geometric law has no memory.
		 */
		if (gap >= left)
			return;
		left -= gap + 1;
		if (is_by_bytes)
			draw.offset_bytes = draw_offset(rng, p, part->sampling_interval);
		gg_interval_method_add(run, &draw, part->size_bytes);
	}
}

void gg_simulate_once(const struct gg_program *program, struct gg_rng *rng,
                      struct gg_interval_method_sums *ret_run)
{
	*ret_run = (struct gg_interval_method_sums)GG_INTERVAL_METHOD_SUMS_INIT;
	for (size_t i = 0; i < program->part_count; i++) {
		if (program->scheme != GG_SCHEME_PER_ALLOCATION)
			gg_tally_expose(&ret_run->tally, program->parts[i].sampling_interval);
		sample_part(program, &program->parts[i], rng, ret_run);
	}
}

/* Returns the bytes or allocations of the parts with at least that size. */
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
 * True if all parts have one interval of bytes: sample points on allocations have no law of failed
 * trials.
 */
static bool has_one_interval(const struct gg_program *program)
{
	if (program->scheme == GG_SCHEME_PER_ALLOCATION)
		return false;
	for (size_t i = 1; i < program->part_count; i++)
		if (program->parts[i].sampling_interval != program->parts[0].sampling_interval)
			return false;
	return true;
}

/* The data that all runs of one program share. */
struct simulation {
	const struct gg_program *program;
	struct gg_interval_method_context context;
};

static void count_run(const struct simulation *simulation,
                      const struct gg_interval_method_sums *run, struct gg_coverage *coverage)
{
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		enum gg_quantity quantity = (enum gg_quantity)i;
		double all = truth(simulation->program, quantity, 0), truths[] = { all, all };

		/*
		 * No sample tells about smaller allocations, so the truth of counts begins at the
		 * smallest.
		 */
		if (quantity == GG_ALLOCATIONS)
			truths[0] = truth(simulation->program, quantity, run->smallest_bytes);
		for (int kind = 0; kind < GG_INTERVAL_METHOD_COUNT; kind++)
			gg_interval_method_count(&simulation->context, run,
			                         (enum gg_interval_method)kind, quantity, truths,
			                         coverage->cells[kind][quantity]);
	}
}

/* Divides the sums of all cells by their runs. */
static void finish(struct gg_coverage *coverage, uint64_t run_count)
{
	struct gg_cell *cell = &coverage->cells[0][0][0];

	for (size_t i = 0; i < sizeof(coverage->cells) / sizeof(*cell); i++)
		gg_cell_finish(&cell[i]);
	if (run_count > 0)
		coverage->mean_samples /= (double)run_count;
}

void gg_simulate(const struct gg_program *program, uint64_t run_count, double confidence,
                 uint64_t seed, struct gg_coverage *ret_coverage)
{
	struct gg_interval_method_cache *cache = gg_interval_method_cache_new();
	struct simulation simulation = {
		.program = program,
		/* Without memory for the cache, the kinds that need it are left out. */
		.context = { .confidence = confidence,
		             .interval_bytes = cache != NULL && has_one_interval(program)
		                                       ? program->parts[0].sampling_interval
		                                       : 0,
		             .cache = cache },
	};
	struct gg_coverage coverage = { 0 };
	struct gg_rng rng;

	gg_rng_seed(&rng, seed, 0);
	for (uint64_t i = 0; i < run_count; i++) {
		struct gg_interval_method_sums run;

		gg_simulate_once(program, &rng, &run);
		coverage.mean_samples += (double)run.tally.sample_count;
		count_run(&simulation, &run, &coverage);
	}
	finish(&coverage, run_count);
	gg_interval_method_cache_free(cache);
	*ret_coverage = coverage;
}
