/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial - samples one trace many times, and measures bias, variance, and coverage of a scheme.
 *
 *   struct gg_trial_plan plan = { .name = "poisson",
 *                                 .options = { .sampling_interval = 512 * 1024 } };
 *   struct gg_trial_result result;
 *
 *   gg_trial_run(&trace, &plan, 200, 0.95, seed, &result);
 *   result.figures[GG_TRIAL_LIVE_BYTES].variance
 *
 * The figures describe the whole trace.  The coverage describes its groups, each of which counts
 * once a run.
 *
 * Threads  Any thread; the functions are pure: the same seed gives the same result.
 */
#pragma once

#include "stats/lab/interval_methods.h"
#include "stats/lab/trace.h"
#include "stats/sampling/rate_learning.h"

enum gg_trial_quantity {
	GG_TRIAL_LIVE_BYTES,
	GG_TRIAL_ALLOCATED_BYTES,
	GG_TRIAL_LIVE_COUNT,
	GG_TRIAL_ALLOCATED_COUNT,
	GG_TRIAL_QUANTITY_COUNT
};

const char *gg_trial_quantity_name(enum gg_trial_quantity quantity);

struct gg_trial_plan {
	const char *name;
	struct gg_sampler_options options; /* without the seed, which comes from the trial */
	bool learns;         /* for `optimal`: plans from its own samples, as the agent does */
	enum gg_focus focus; /* the focus of the learned plans */
};

struct gg_trial_figure {
	double truth;
	double mean;           /* of the estimates */
	double mean_error;     /* standard error of the mean */
	double variance;       /* of the estimates */
	double variance_error; /* standard error of the variance, by the fourth moment */
	double formula; /* the variance by the scheme's formula; NAN: the scheme has no formula */
};

struct gg_trial_result {
	double mean_samples;
	struct gg_trial_figure figures[GG_TRIAL_QUANTITY_COUNT];
	struct gg_cell cells[GG_INTERVAL_METHOD_COUNT][GG_TRIAL_QUANTITY_COUNT]
			    [GG_POPULATION_COUNT];
};

/* Runs the plan run_count times, run_count >= 2.  Returns 0 or -ENOMEM. */
GG_MUST_CHECK int gg_trial_run(const struct gg_trace *trace, const struct gg_trial_plan *plan,
                               uint64_t run_count, double confidence, uint64_t seed,
                               struct gg_trial_result *ret_result);

/*
 * Returns the variance of a scheme's formula for a trace; NAN for learned plans, which have no
 * formula.
 */
double gg_trial_formula(const struct gg_trace *trace, const struct gg_trial_plan *plan,
                        enum gg_trial_quantity quantity);

/* Returns the true classes of a trace, from which the best plan is made. */
void gg_trial_classes(const struct gg_trace *trace,
                      struct gg_optimal_class ret_classes[static GG_SIZE_CLASS_COUNT]);
