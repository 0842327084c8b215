/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace - holds the allocations of a program, so that it can be sampled many times.
 *
 *   struct gg_trace trace = { 0 };
 *
 *   gg_trace_add(&trace, &(struct gg_trace_part){ .size_bytes = 64, .count = 1000 });
 *   gg_trace_mix(&trace, 32, seed);
 *   gg_trace_run(&trace, &sampler, visit, context);        visits each sample
 *   gg_trace_done(&trace);
 *
 * A part is a run of equal allocations, so a trace of 10^9 allocations is only as long as its
 * parts.  It goes through the sampler of the agent.  Only allocations that are certainly not due
 * are skipped, as many as possible at once.
 *
 * Threads  Any thread; the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/sampler.h"

struct gg_trace_part {
	uint64_t size_bytes;
	uint64_t count;
	uint32_t group; /* from 0 on; for example its call site */
	bool is_live;   /* live at the end; parts that are not are freed at once */
};

struct gg_trace {
	GG_ARRAY(struct gg_trace_part) parts;
	uint32_t group_count;
};

/* Adds a part.  Returns 0 or -ENOMEM.  A part without allocations is left out. */
GG_MUST_CHECK int gg_trace_add(struct gg_trace *trace, const struct gg_trace_part *part);
void gg_trace_done(struct gg_trace *trace);

/*
 * Cuts every part into that many pieces, or into single allocations, and shuffles them.  Returns 0
 * or -ENOMEM.
 */
GG_MUST_CHECK int gg_trace_mix(struct gg_trace *trace, uint64_t pieces, uint64_t seed);

/*
 * Returns the allocations of all parts, or their bytes; for one group, or for all (GG_TRACE_ALL).
 */
enum { GG_TRACE_ALL = -1 };
double gg_trace_sum(const struct gg_trace *trace, enum gg_quantity quantity, bool only_live,
                    int64_t group);

/* Returns the number of samples that a `poisson` sampler of that interval is expected to take. */
double gg_trace_expected_samples(const struct gg_trace *trace, double interval);

/* Visits a sample. */
typedef void gg_trace_visit(const struct gg_trace_part *part, const struct gg_draw *draw,
                            void *context);
void gg_trace_run(const struct gg_trace *trace, struct gg_sampler *sampler, gg_trace_visit *visit,
                  void *context);
