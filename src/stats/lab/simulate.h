/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate - samples programs whose truth is known many times, and counts how often each confidence
 * interval holds it, and how wide it is.
 *
 *   for (size_t i = 0; i < gg_simulate_program_count(); i++) {
 *           struct gg_coverage coverage;
 *           gg_simulate(gg_simulate_program(i), 40000, 0.95, seed, &coverage);
 *           coverage.cells[GG_INTERVAL_METHOD_RULE][GG_BYTES][GG_ALL_GROUPS].covered
 *   }
 *
 * A program is a list of parts: so many allocations of one size under one sampling interval.  Each
 * run draws which of them are samples (poisson with offsets, or per-allocation) and asks every kind of
 * interval for bytes and for allocations.
 *
 * What counts   Bytes: the truth is all bytes, sampled or not.  Allocations: those at least as large
 *               as the smallest sample, because no number of unseen small ones can be excluded;
 *               `covered_all_sizes` says how often the true number of all sizes was held too.
 * Populations   all groups: every run.  Shown only: the runs with a sample, as rows of a list are.
 * Without a sample there is no count, and no width of one; such runs count as covered.
 *
 * Threads       any; pure: the same seed gives the same table.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stats/estimate/tally.h"
#include "stats/lab/interval_methods.h"

struct gg_program_part {
	uint64_t size_bytes;
	uint64_t allocation_count;
	double interval; /* in force while they were allocated */
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

/* Samples expected of a program: the sum of p. */
double gg_simulate_expected_samples(const struct gg_program *program);

/* The probability that every allocation is a sample: no interval covers less often than that. */
double gg_simulate_all_seen(const struct gg_program *program);

struct gg_coverage {
	struct gg_cell cells[GG_INTERVAL_METHOD_COUNT][GG_QUANTITY_COUNT][GG_POPULATION_COUNT];
	double mean_samples;
};

/* Samples the program run_count times.  Streams of one seed are independent. */
void gg_simulate(const struct gg_program *program, uint64_t run_count, double confidence,
                 uint64_t seed, struct gg_coverage *ret_coverage);

/* One run: fills the tally (exposed to every interval of the program). */
struct gg_rng;
void gg_simulate_once(const struct gg_program *program, struct gg_rng *rng,
                      struct gg_tally *ret_tally);
