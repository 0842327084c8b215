/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate - samples programs of known truth many times, and counts how often each confidence
 * interval holds the truth, and how wide it is.
 *
 *   for (size_t i = 0; i < gg_simulate_program_count(); i++) {
 *           struct gg_coverage coverage;
 *           gg_simulate(gg_simulate_program(i), 40000, 0.95, seed, &coverage);
 *           coverage.cells[GG_INTERVAL_METHOD_RULE][GG_BYTES][GG_ALL_GROUPS].covered
 *   }
 *
 * A program is a list of parts.  A part is a number of allocations of one size under one sampling
 * interval.  Each run draws which of them are samples (poisson with offsets, or per-allocation),
 * and computes every kind of interval for bytes and for allocations.  interval_methods.h defines
 * truth and populations.
 *
 * Threads  Any thread; the functions are pure: the same seed gives the same table.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stats/estimate/tally.h"
#include "stats/lab/interval_methods.h"
#include "stats/sampling/rng.h"

struct gg_program_part {
	uint64_t size_bytes;
	uint64_t allocation_count;
	double sampling_interval; /* in force while they were allocated */
};

struct gg_program {
	const char *name;
	const struct gg_program_part *parts;
	size_t part_count;
	enum gg_scheme scheme; /* poisson or per-allocation */
};

/* The programs of the coverage table. */
size_t gg_simulate_program_count(void);
const struct gg_program *gg_simulate_program(size_t index);

/* Returns the expected samples of a program: the sum of p. */
double gg_simulate_expected_samples(const struct gg_program *program);

struct gg_coverage {
	struct gg_cell cells[GG_INTERVAL_METHOD_COUNT][GG_QUANTITY_COUNT][GG_POPULATION_COUNT];
	double mean_samples;
};

/* Samples the program run_count times.  Streams of one seed are independent. */
void gg_simulate(const struct gg_program *program, uint64_t run_count, double confidence,
                 uint64_t seed, struct gg_coverage *ret_coverage);

/* Makes one run, whose tally is exposed to every interval of the program. */
void gg_simulate_once(const struct gg_program *program, struct gg_rng *rng,
                      struct gg_interval_method_sums *ret_run);
